//! Page sizes that a measurement can ask for.

use crate::error::{Error, Result};
use cxlab_kernel::Bytes;
use serde::Serialize;
use std::fmt;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, clap::ValueEnum)]
pub enum PageSize {
    /// Base pages: random accesses pay for translation too.
    #[value(name = "4KiB")]
    #[serde(rename = "4KiB")]
    Base,
    /// Transparent huge pages: few TLB misses up to some GiB.
    #[value(name = "2MiB")]
    #[serde(rename = "2MiB")]
    Huge,
}

impl PageSize {
    #[must_use]
    pub const fn bytes(self) -> Bytes {
        match self {
            PageSize::Base => Bytes::kib(4),
            PageSize::Huge => Bytes::mib(2),
        }
    }
}

impl fmt::Display for PageSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            PageSize::Base => "4KiB",
            PageSize::Huge => "2MiB",
        })
    }
}

/// Bytes of `address..address + length` in 2 MiB pages, from the text of /proc/self/smaps.
#[must_use]
pub fn huge_bytes(smaps: &str, address: usize, length: usize) -> Bytes {
    let mut inside = false;
    let mut kib = 0;
    for line in smaps.lines() {
        let first = line.split_whitespace().next().unwrap_or("");
        if let Some((from, to)) = range(first) {
            inside = from < address + length && to > address;
        } else if inside && first == "AnonHugePages:" {
            kib += line.split_whitespace().nth(1).and_then(|n| n.parse::<u64>().ok()).unwrap_or(0);
        }
    }
    Bytes::kib(kib)
}

fn range(word: &str) -> Option<(usize, usize)> {
    let (from, to) = word.split_once('-')?;
    Some((usize::from_str_radix(from, 16).ok()?, usize::from_str_radix(to, 16).ok()?))
}

/// MEM025 unless nearly all of the range came as 2 MiB pages.
pub fn require_huge(address: usize, length: usize) -> Result<()> {
    let path = "/proc/self/smaps";
    let smaps = std::fs::read_to_string(path).map_err(Error::io("read", path))?;
    let (got, asked) = (huge_bytes(&smaps, address, length), Bytes::new(length as u64));
    // One page in twenty may be missing: khugepaged and fragmentation leave holes that move no median.
    if got.get() * 20 >= asked.get() * 19 {
        return Ok(());
    }
    let setting = std::fs::read_to_string("/sys/kernel/mm/transparent_hugepage/enabled").unwrap_or_default();
    Err(Error::NoHugePages { got, asked, setting: setting.trim().to_string() })
}
