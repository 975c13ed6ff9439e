//! Namespaces of pmem regions: what the devices' labels have is taken, or one namespace over the whole region is made.
//!
//! ```text
//!   region of libnvdimm (by its base) -- namespace_seed --> namespaceX.Y: uuid, size --> its label goes to the devices
//!     dax_seed --> daxX.Y: uuid, align, mode, namespace --> dax_pmem --> /dev/daxX.Y
//!     pfn_seed --> pfnX.Y: the same ---------------------> nd_pmem ---> /dev/pmemX
//! ```
//!
//! `ndctl create-namespace` writes the same files. Source: Linux, Documentation/ABI/testing/sysfs-bus-nvdimm,
//! Documentation/driver-api/nvdimm/nvdimm.rst.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::error::{Error, Result};
use crate::sysfs::{below, entries, name, number, parse, poll, read, write};

const DEVICES: &str = "/sys/bus/nd/devices";
/// Mappings of 2 MiB, which is what `ndctl` aligns a namespace to.
const ALIGNMENT: &str = "2097152";
/// Place of Linux's description of the device's pages: the device itself, as `ndctl` decides.
const PAGES_DESCRIBED_IN: &str = "pmem";

/// Interface by which programs reach a namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Namespace {
    /// /dev/daxX.Y, which a program maps
    Devdax,
    /// /dev/pmemX, a disk whose file systems can map files without a page cache
    Fsdax,
}

impl Namespace {
    /// Name of the seed in sysfs.
    fn seed(self) -> &'static str {
        match self {
            Namespace::Devdax => "dax_seed",
            Namespace::Fsdax => "pfn_seed",
        }
    }

    fn driver(self) -> &'static str {
        match self {
            Namespace::Devdax => "dax_pmem",
            Namespace::Fsdax => "nd_pmem",
        }
    }
}

/// The device of the region at `base`, by its name below /dev. If the labels have no namespace, `wanted` is made.
/// None: there is none, and none is wanted.
pub fn ensure(base: u64, wanted: Option<Namespace>) -> Result<Option<String>> {
    let region = region_at(base)?;
    let has_labels = namespaces(&region)?.into_iter().any(|size| size > 0);
    if !has_labels {
        let Some(kind) = wanted else { return Ok(None) };
        make(&region, kind)?;
    }
    let found = poll(|| device_of(&region))?;
    found.map(Some).ok_or_else(|| Error::Cxl { what: format!("a namespace of {} has no device", name(&region)) })
}

/// The region of libnvdimm that begins at this host physical address; its namespaces have been looked for.
fn region_at(base: u64) -> Result<PathBuf> {
    let at =
        |region: &Path| fs::read_to_string(region.join("resource")).is_ok_and(|text| parse(text.trim()) == Some(base));
    let looked_for = |region: &Path| region.join("driver").exists();
    poll(|| Ok(entries(DEVICES, "region")?.into_iter().find(|region| at(region) && looked_for(region))))?
        .ok_or_else(|| Error::Cxl { what: format!("libnvdimm has no region at {base:#x}") })
}

/// Sizes of the namespaces of a region; one without a label has size 0 `[bytes]`.
fn namespaces(region: &Path) -> Result<Vec<u64>> {
    let number_of = name(region).trim_start_matches("region").to_owned();
    let all = poll(|| Ok(Some(entries(DEVICES, &format!("namespace{number_of}."))?).filter(|all| !all.is_empty())))?;
    all.unwrap_or_default().iter().map(|namespace| number(&namespace.join("size"))).collect()
}

fn make(region: &Path, kind: Namespace) -> Result<()> {
    let number_of = name(region).trim_start_matches("region").to_owned();
    let uuid = |of: u32| format!("c8c51ab0-0000-4000-900{of}-{:012x}", parse(&number_of).unwrap_or_default());
    let namespace = read(&region.join("namespace_seed"))?;
    let folder = Path::new(DEVICES).join(&namespace);
    write(&folder.join("uuid"), &uuid(0))?;
    write(&folder.join("size"), &read(&region.join("available_size"))?)?;
    let seed = read(&region.join(kind.seed()))?;
    let folder = Path::new(DEVICES).join(&seed);
    write(&folder.join("uuid"), &uuid(1))?;
    write(&folder.join("align"), ALIGNMENT)?;
    write(&folder.join("mode"), PAGES_DESCRIBED_IN)?;
    write(&folder.join("namespace"), &namespace)?;
    write(&Path::new("/sys/bus/nd/drivers").join(kind.driver()).join("bind"), &seed)
}

/// The dax device or the disk that a driver has made of a namespace of this region.
fn device_of(region: &Path) -> std::io::Result<Option<String>> {
    for (folder, kind) in [("/sys/bus/dax/devices", "dax"), ("/sys/class/block", "pmem")] {
        if let Some(found) = below(region, folder, kind)? {
            return Ok(Some(name(&found)));
        }
    }
    Ok(None)
}
