//! CXL regions. Init asks Linux's own driver for a region over each window, and reads back what it committed.
//!
//! ```text
//!   root decoder (window) -- create_ram_region ---> region: ways, granularity, size
//!                        '-- create_pmem_region --> region: the same, and a UUID
//!   memdev (serial) --> endpoint --> a free decoder: mode ram or pmem, dpa_size --> target of the region, by position
//!   ram region:  commit, bind --> dax_cxl --> daxX.Y: kmem makes it a NUMA node, device_dax leaves it to a program
//!   pmem region: commit, bind --> cxl_pmem --> region of libnvdimm --> namespaces (namespace.rs)
//! ```
//!
//! The drivers are those of the kernel's package. `cxl create-region` of Debian 12 (76) makes no volatile regions, so init
//! writes what it would. Source: Linux, Documentation/ABI/testing/sysfs-bus-cxl and sysfs-bus-dax.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::error::{Doing, Error, Result};
use crate::namespace::{self, Namespace};
use crate::sysfs::{below, entries, name, number, parse, poll, read, wait_for, write};
use crate::tree;

const DEVICES: &str = "/sys/bus/cxl/devices";
const DAX_DEVICES: &str = "/sys/bus/dax/devices";

/// Whether Linux or an application manages the memory of a region.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Managed {
    /// Linux: a NUMA node without processors
    Kernel,
    /// a program: /dev/daxX.Y
    Application,
}

/// A partition of the devices, and what becomes of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Partition {
    Volatile(Managed),
    /// with the namespace to be made, unless the devices' labels have one
    Persistent(Option<Namespace>),
}

/// A region to be made.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// fixed memory window, which is root decoder `decoder0.<window>`
    window: u32,
    /// serial numbers of the devices, by position in the region
    serials: Vec<u64>,
    /// bytes in a row on one device
    granularity: u64,
    /// of all devices together `[bytes]`
    size: u64,
    partition: Partition,
}

impl Plan {
    /// As sysfs calls it.
    fn mode(&self) -> &'static str {
        match self.partition {
            Partition::Volatile(_) => "ram",
            Partition::Persistent(_) => "pmem",
        }
    }

    /// Identifier of a region. It is the same in each run, so that the region keeps its name. Its last digits are the
    /// window's number.
    fn uuid(&self) -> String {
        format!("c8c51ab0-0000-4000-8000-{:012x}", self.window)
    }
}

/// A region that Linux committed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Region {
    window: u32,
    /// ram or pmem
    mode: &'static str,
    /// first byte `[host physical address]`
    base: u64,
    /// `[bytes]`
    size: u64,
    granularity: u64,
    /// serial numbers of the devices, by position
    serials: Vec<u64>,
    /// Linux's number of the NUMA node; none for a region that no kernel memory is in
    node: Option<u32>,
    /// the device's name: below /dev unless Linux manages the region; none for a pmem region without namespace
    device: Option<String>,
}

/// Make all of them.
pub fn make_regions(plans: &[Plan]) -> Result<Vec<Region>> {
    if plans.is_empty() {
        return Ok(Vec::new());
    }
    if plans.iter().any(|plan| matches!(plan.partition, Partition::Persistent(_))) {
        tree::load_modules("/modules/pmem")?;
    }
    tree::load_modules("/modules/cxl")?;
    let by_program = plans.iter().any(|plan| plan.partition == Partition::Volatile(Managed::Application));
    if !by_program {
        tree::load_modules("/modules/kmem")?;
    }
    let regions = plans.iter().map(make).collect::<Result<Vec<_>>>()?;
    if by_program {
        // For `daxctl reconfigure-device --mode=system-ram`.
        tree::load_modules("/modules/kmem")?;
    }
    Ok(regions)
}

fn make(plan: &Plan) -> Result<Region> {
    let root = Path::new(DEVICES).join(format!("decoder0.{}", plan.window));
    wait_for("root decoder", &root)?;
    let create = root.join(format!("create_{}_region", plan.mode()));
    let region_name = read(&create)?;
    write(&create, &region_name)?;
    let region = Path::new(DEVICES).join(&region_name);
    if let Partition::Persistent(_) = plan.partition {
        // Linux takes a UUID with a line's end only.
        write(&region.join("uuid"), &format!("{}\n", plan.uuid()))?;
    }
    write(&region.join("interleave_ways"), &plan.serials.len().to_string())?;
    write(&region.join("interleave_granularity"), &plan.granularity.to_string())?;
    write(&region.join("size"), &plan.size.to_string())?;
    let share = plan.size / plan.serials.len() as u64;
    for (position, &serial) in plan.serials.iter().enumerate() {
        let decoder = endpoint_decoder(serial)?;
        write(&decoder.join("mode"), plan.mode())?;
        write(&decoder.join("dpa_size"), &share.to_string())?;
        write(&region.join(format!("target{position}")), &name(&decoder))?;
    }
    write(&region.join("commit"), "1")?;
    write(Path::new("/sys/bus/cxl/drivers/cxl_region/bind"), &region_name)?;
    committed(plan, &region)
}

/// Reads the region that Linux committed.
fn committed(plan: &Plan, region: &Path) -> Result<Region> {
    let base = number(&region.join("resource"))?;
    let (node, device) = match plan.partition {
        Partition::Volatile(managed) => volatile(managed, region)?,
        Partition::Persistent(wanted) => (None, namespace::ensure(base, wanted)?),
    };
    if let (None, Some(device)) = (node, &device) {
        open_to_all(device)?;
    }
    let ways = number(&region.join("interleave_ways"))?;
    let serials = (0..ways).map(|position| {
        let decoder = read(&region.join(format!("target{position}")))?;
        serial_of(&decoder)
    });
    Ok(Region {
        window: plan.window,
        mode: plan.mode(),
        base,
        size: number(&region.join("size"))?,
        granularity: number(&region.join("interleave_granularity"))?,
        serials: serials.collect::<Result<_>>()?,
        node,
        device,
    })
}

/// The NUMA node of a ram region, if Linux manages it, and its dax device.
fn volatile(managed: Managed, region: &Path) -> Result<(Option<u32>, Option<String>)> {
    let dax = poll(|| below(region, DAX_DEVICES, "dax"))?
        .ok_or_else(|| Error::Cxl { what: format!("{} was committed, but no dax device appeared", name(region)) })?;
    match managed {
        Managed::Kernel => {
            let node = number(&dax.join("target_node"))?;
            wait_for("NUMA node", &PathBuf::from(format!("/sys/devices/system/node/node{node}")))?;
            Ok((Some(node as u32), Some(name(&dax))))
        }
        Managed::Application => {
            write(Path::new("/sys/bus/dax/drivers/device_dax/new_id"), &name(&dax))?;
            Ok((None, Some(name(&dax))))
        }
    }
}

/// As a rule of udev would: the program runs as the user who called, and the machine is theirs.
fn open_to_all(device: &str) -> Result<()> {
    let device = Path::new("/dev").join(device);
    wait_for("device", &device)?;
    fs::set_permissions(&device, fs::Permissions::from_mode(0o666))
        .doing(|| format!("opening {} to all", device.display()))
}

/// The memory device that an endpoint belongs to has this serial number.
fn serial(endpoint: &Path) -> io::Result<u64> {
    let text = fs::read_to_string(endpoint.join("uport/serial"))?;
    parse(text.trim()).ok_or_else(|| io::Error::other(format!("`{text}` is no serial number")))
}

/// The first free decoder of the endpoint whose device has this serial number.
fn endpoint_decoder(wanted: u64) -> Result<PathBuf> {
    poll(|| {
        // An endpoint that is being made has no device yet.
        let endpoint = entries(DEVICES, "endpoint")?.into_iter().find(|e| serial(e).is_ok_and(|s| s == wanted));
        Ok(endpoint.and_then(|endpoint| {
            let own = name(&endpoint).replace("endpoint", "decoder") + ".";
            let decoders = (0..).map(|nth| Path::new(DEVICES).join(format!("{own}{nth}")));
            let size = |decoder: &Path| fs::read_to_string(decoder.join("dpa_size"));
            let free = |text: String| parse(text.trim()) == Some(0);
            decoders.take_while(|decoder| decoder.exists()).find(|decoder| size(decoder).is_ok_and(free))
        }))
    })?
    .ok_or_else(|| Error::Cxl {
        what: format!("no CXL memory device with serial number {wanted:#x} has a free decoder"),
    })
}

fn serial_of(decoder: &str) -> Result<u64> {
    let number = decoder.trim_start_matches("decoder").split('.').next().unwrap_or_default();
    serial(&Path::new(DEVICES).join(format!("endpoint{number}")))
        .doing(|| format!("the serial number behind {decoder}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_is_read_as_the_host_writes_it() {
        let plan = |partition: &str| -> Plan {
            let line = r#"{"window":0,"serials":[1,2],"granularity":256,"size":536870912,"partition":PARTITION}"#;
            serde_json::from_str(&line.replace("PARTITION", partition)).unwrap()
        };
        let volatile = plan(r#"{"volatile":"application"}"#);
        assert_eq!((volatile.serials, volatile.partition), (vec![1, 2], Partition::Volatile(Managed::Application)));
        assert_eq!(plan(r#"{"persistent":null}"#).partition, Partition::Persistent(None));
        let persistent = plan(r#"{"persistent":"fsdax"}"#);
        assert_eq!(persistent.partition, Partition::Persistent(Some(Namespace::Fsdax)));
        // RFC 9562: 8-4-4-4-12 digits.
        assert_eq!(persistent.uuid().split('-').map(str::len).collect::<Vec<_>>(), [8, 4, 4, 4, 12]);
    }
}
