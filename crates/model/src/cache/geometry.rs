//! Geometry: capacity, ways, latency; what a cache's tags are built from.

use cxlab_kernel::{Bytes, Time};
use serde::{Deserialize, Serialize};

use super::Tags;
use crate::addr::LINE_BYTES;
use crate::config::{Cycles, Sourced};

/// A cache that belongs to one core.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CacheSpec {
    pub capacity: Sourced<Bytes>,
    pub ways: Sourced<u32>,
    /// load to use, from the address to the data [core cycles]
    pub latency: Sourced<Cycles>,
}

/// The last-level cache: slices that all cores share.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LlcSpec {
    pub slices: Sourced<u32>,
    /// capacity of one slice [B]
    pub slice_capacity: Sourced<Bytes>,
    pub ways: Sourced<u32>,
    /// load to use of a hit, from the address to the data
    pub latency: Sourced<Time>,
}

fn sets(capacity: Bytes, ways: u32, what: &str) -> Result<usize, String> {
    let lines = capacity.get() / LINE_BYTES;
    let ways_ok = ways > 0 && ways <= Tags::MOST_WAYS;
    if !ways_ok || lines == 0 || !lines.is_multiple_of(u64::from(ways)) || !capacity.get().is_multiple_of(LINE_BYTES) {
        let most = Tags::MOST_WAYS;
        return Err(format!(
            "{what}: {capacity} in {ways} ways is no whole number of sets; valid: 1 to {most} ways of 64 B lines"
        ));
    }
    Ok((lines / u64::from(ways)) as usize)
}

impl CacheSpec {
    /// Empty tags of this geometry; the error names the cache.
    pub fn tags(&self, what: &str) -> Result<Tags, String> {
        Ok(Tags::new(sets(*self.capacity, *self.ways, what)?, *self.ways))
    }
}

impl LlcSpec {
    /// Empty tags of all slices: sets of slice 0, then of slice 1, and so on.
    pub fn tags(&self) -> Result<Tags, String> {
        if *self.slices == 0 {
            return Err("llc: 0 slices; valid: 1 or more".into());
        }
        let sets = sets(*self.slice_capacity, *self.ways, "llc")?;
        Ok(Tags::new(sets * *self.slices as usize, *self.ways))
    }

    #[must_use]
    pub fn capacity(&self) -> Bytes {
        Bytes::new(self.slice_capacity.get() * u64::from(*self.slices))
    }
}
