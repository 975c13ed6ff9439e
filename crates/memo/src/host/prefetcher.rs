//! Hardware prefetchers, from the model-specific register that controls them, where the msr driver lets us read it.
//!
//! Source: Intel SDM vol. 4, MSR_MISC_FEATURE_CONTROL (1A4H) bits 0-3; AMD PPR for family 19h and later, Prefetch Control
//! (MSRC000_0108) bits 0-3 and 5. In both a set bit disables.

use super::processor::Processor;
use super::tree::Tree;
use serde::Serialize;
use std::os::unix::fs::FileExt;

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Prefetcher {
    pub name: &'static str,
    pub enabled: bool,
}

const INTEL: (u64, &[(u32, &str)]) =
    (0x1a4, &[(0, "L2 stream"), (1, "L2 adjacent line"), (2, "L1 next line"), (3, "L1 stride")]);
const AMD: (u64, &[(u32, &str)]) =
    (0xc000_0108, &[(0, "L1 stream"), (1, "L1 stride"), (2, "L1 region"), (3, "L2 stream"), (5, "L2 up/down")]);

fn register(vendor: &str) -> Option<(u64, &'static [(u32, &'static str)])> {
    match vendor {
        "GenuineIntel" => Some(INTEL),
        "AuthenticAMD" => Some(AMD),
        _ => None,
    }
}

/// The prefetchers that `value` of a vendor's register enables and disables.
#[must_use]
pub fn decode(vendor: &str, value: u64) -> Option<Vec<Prefetcher>> {
    let (_, bits) = register(vendor)?;
    Some(bits.iter().map(|&(bit, name)| Prefetcher { name, enabled: value >> bit & 1 == 0 }).collect())
}

/// Reads the prefetchers of CPU 0.
pub fn read(tree: &Tree, processor: &Processor) -> Option<Vec<Prefetcher>> {
    let vendor = processor.vendor.as_deref()?;
    let (address, _) = register(vendor)?;
    let file = std::fs::File::open(tree.path("dev/cpu/0/msr")).ok()?;
    let mut value = [0; 8];
    file.read_exact_at(&mut value, address).ok()?;
    decode(vendor, u64::from_le_bytes(value))
}
