//! CXL regions: Linux's own driver is asked for a region over each window, and what it committed is read back.
//!
//! ```text
//!   root decoder (window) -- create_ram_region --> region: ways, granularity, size
//!   memdev (serial) --> endpoint --> its decoder: mode ram, dpa_size --> target of the region, by position
//!   region: commit, bind --> dax_cxl --> daxX.Y: kmem makes it a NUMA node, device_dax leaves it to a program
//! ```
//!
//! The drivers are those of the kernel's package. `cxl create-region` of Debian 12 (76) makes no volatile regions, so init
//! writes what it would. Source: Linux, Documentation/ABI/testing/sysfs-bus-cxl and sysfs-bus-dax.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::error::{Doing, Error, Result};
use crate::tree;

const DEVICES: &str = "/sys/bus/cxl/devices";
const DAX_DEVICES: &str = "/sys/bus/dax/devices";
/// Drivers probe in threads of their own: how long to wait for what they make.
const ATTEMPTS: u32 = 10_000;
const PAUSE: Duration = Duration::from_millis(1);

/// Who manages the memory of a region.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Managed {
    /// Linux: a NUMA node without processors
    Kernel,
    /// a program: /dev/daxX.Y
    Application,
}

/// A region to be made.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// fixed memory window, which is root decoder decoder0.<window>
    window: u32,
    /// serial numbers of the devices, by position in the region
    serials: Vec<u64>,
    /// bytes in a row on one device
    granularity: u64,
    /// of all devices together [bytes]
    size: u64,
    managed: Managed,
}

/// A region that Linux committed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Region {
    window: u32,
    /// first byte [host physical address]
    base: u64,
    /// [bytes]
    size: u64,
    granularity: u64,
    /// serial numbers of the devices, by position
    serials: Vec<u64>,
    /// Linux's number of the NUMA node; none for a region that a program manages
    node: Option<u32>,
    /// the device's name below /dev, which is there where a program manages it
    dax: String,
}

/// Make all of them.
pub fn make_regions(plans: &[Plan]) -> Result<Vec<Region>> {
    if plans.is_empty() {
        return Ok(Vec::new());
    }
    tree::load_modules("/modules/cxl")?;
    let by_kernel = plans.iter().all(|plan| plan.managed == Managed::Kernel);
    if by_kernel {
        tree::load_modules("/modules/kmem")?;
    }
    let regions = plans.iter().map(make).collect::<Result<Vec<_>>>()?;
    if !by_kernel {
        // For `daxctl reconfigure-device --mode=system-ram`.
        tree::load_modules("/modules/kmem")?;
    }
    Ok(regions)
}

fn make(plan: &Plan) -> Result<Region> {
    let root = Path::new(DEVICES).join(format!("decoder0.{}", plan.window));
    wait_for("root decoder", &root)?;
    let name = read(&root.join("create_ram_region"))?;
    write(&root.join("create_ram_region"), &name)?;
    let region = Path::new(DEVICES).join(&name);
    write(&region.join("interleave_ways"), &plan.serials.len().to_string())?;
    write(&region.join("interleave_granularity"), &plan.granularity.to_string())?;
    write(&region.join("size"), &plan.size.to_string())?;
    let share = plan.size / plan.serials.len() as u64;
    for (position, &serial) in plan.serials.iter().enumerate() {
        let decoder = endpoint_decoder(serial)?;
        write(&decoder.join("mode"), "ram")?;
        write(&decoder.join("dpa_size"), &share.to_string())?;
        let decoder = decoder.file_name().expect("a decoder has a name").to_string_lossy().into_owned();
        write(&region.join(format!("target{position}")), &decoder)?;
    }
    write(&region.join("commit"), "1")?;
    write(Path::new("/sys/bus/cxl/drivers/cxl_region/bind"), &name)?;
    committed(plan, &name, &region)
}

/// What Linux made of it.
fn committed(plan: &Plan, name: &str, region: &Path) -> Result<Region> {
    let dax = dax_device(name)?;
    let node = match plan.managed {
        Managed::Kernel => {
            let node = number(&dax.join("target_node"))?;
            wait_for("NUMA node", &PathBuf::from(format!("/sys/devices/system/node/node{node}")))?;
            Some(node as u32)
        }
        Managed::Application => {
            let name = dax.file_name().expect("a device has a name").to_string_lossy().into_owned();
            write(Path::new("/sys/bus/dax/drivers/device_dax/new_id"), &name)?;
            let device = Path::new("/dev").join(name);
            wait_for("dax device", &device)?;
            // As a rule of udev would: the program runs as the user who called, and the machine is theirs.
            fs::set_permissions(&device, fs::Permissions::from_mode(0o666))
                .doing(|| format!("opening {} to all", device.display()))?;
            None
        }
    };
    let ways = number(&region.join("interleave_ways"))?;
    let serials = (0..ways).map(|position| {
        let decoder = read(&region.join(format!("target{position}")))?;
        serial_of(&decoder)
    });
    Ok(Region {
        window: plan.window,
        base: number(&region.join("resource"))?,
        size: number(&region.join("size"))?,
        granularity: number(&region.join("interleave_granularity"))?,
        serials: serials.collect::<Result<_>>()?,
        node,
        dax: dax.file_name().expect("a device has a name").to_string_lossy().into_owned(),
    })
}

/// Entries of the CXL bus whose names begin with `kind`.
fn entries(folder: &str, kind: &str) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_name().to_string_lossy().starts_with(kind) {
            found.push(entry.path());
        }
    }
    Ok(found)
}

/// The memory device that an endpoint belongs to has this serial number.
fn serial(endpoint: &Path) -> io::Result<u64> {
    let text = fs::read_to_string(endpoint.join("uport/serial"))?;
    parse(text.trim()).ok_or_else(|| io::Error::other(format!("`{text}` is no serial number")))
}

/// The first decoder of the endpoint whose device has this serial number.
fn endpoint_decoder(wanted: u64) -> Result<PathBuf> {
    poll(|| {
        // An endpoint that is being made has no device yet.
        let endpoint = entries(DEVICES, "endpoint")?.into_iter().find(|e| serial(e).is_ok_and(|s| s == wanted));
        Ok(endpoint.and_then(|endpoint| {
            let name = endpoint.file_name()?.to_string_lossy().replace("endpoint", "decoder") + ".0";
            let decoder = Path::new(DEVICES).join(name);
            decoder.join("dpa_size").exists().then_some(decoder)
        }))
    })?
    .ok_or_else(|| Error::Cxl { what: format!("no CXL memory device with serial number {wanted:#x} appeared") })
}

fn serial_of(decoder: &str) -> Result<u64> {
    let number = decoder.trim_start_matches("decoder").split('.').next().unwrap_or_default();
    serial(&Path::new(DEVICES).join(format!("endpoint{number}")))
        .doing(|| format!("the serial number behind {decoder}"))
}

/// The dax device of a region: its folder lies below the region's.
fn dax_device(region: &str) -> Result<PathBuf> {
    let inside = format!("/{region}/");
    poll(|| {
        let all = match entries(DAX_DEVICES, "dax") {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            all => all?,
        };
        Ok(all.into_iter().find(|dax| fs::canonicalize(dax).is_ok_and(|p| p.to_string_lossy().contains(&inside))))
    })?
    .ok_or_else(|| Error::Cxl { what: format!("{region} was committed, but no dax device appeared") })
}

fn wait_for(what: &str, path: &Path) -> Result<()> {
    poll(|| Ok(path.exists().then_some(())))?
        .ok_or_else(|| Error::Cxl { what: format!("the {what} {} did not appear", path.display()) })
}

fn poll<T>(mut look: impl FnMut() -> io::Result<Option<T>>) -> Result<Option<T>> {
    for _ in 0..ATTEMPTS {
        if let Some(found) = look().doing(|| format!("listing {DEVICES}"))? {
            return Ok(Some(found));
        }
        sleep(PAUSE);
    }
    Ok(None)
}

fn read(path: &Path) -> Result<String> {
    let text = fs::read_to_string(path).doing(|| format!("reading {}", path.display()))?;
    Ok(text.trim_end().to_owned())
}

fn write(path: &Path, text: &str) -> Result<()> {
    fs::write(path, text).doing(|| format!("writing {text} to {}", path.display()))
}

fn number(path: &Path) -> Result<u64> {
    let text = read(path)?;
    parse(&text).ok_or_else(|| Error::Cxl { what: format!("{} is `{text}`, no number", path.display()) })
}

/// sysfs writes addresses and sizes in hexadecimal, counts in decimal.
fn parse(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_as_sysfs_writes_them() {
        assert_eq!(parse("0x110000000"), Some(0x1_1000_0000));
        assert_eq!(parse("256"), Some(256));
        assert_eq!(parse("ram"), None);
    }

    #[test]
    fn a_plan_is_read_as_the_host_writes_it() {
        let line = r#"{"window":0,"serials":[1,2],"granularity":256,"size":536870912,"managed":"application"}"#;
        let plan: Plan = serde_json::from_str(line).unwrap();
        assert_eq!((plan.serials, plan.managed), (vec![1, 2], Managed::Application));
    }
}
