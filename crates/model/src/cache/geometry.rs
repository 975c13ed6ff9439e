//! Geometry of a cache: capacity, ways, latency and policy. A cache's tags are built from it.

use cxlab_kernel::{Bytes, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Replacement, Tags};
use crate::addr::LINE_BYTES;
use crate::fact::{Cycles, Sourced};

/// A cache that belongs to one core.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CacheSpec {
    pub capacity: Sourced<Bytes>,
    pub ways: Sourced<u32>,
    pub replacement: Sourced<Replacement>,
    /// load to use, from the address to the data `[core cycles]`
    pub latency: Sourced<Cycles>,
}

/// The last-level cache: slices that all cores share.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LlcSpec {
    pub slices: Sourced<u32>,
    /// capacity of one slice `[B]`
    pub slice_capacity: Sourced<Bytes>,
    pub ways: Sourced<u32>,
    pub replacement: Sourced<Replacement>,
    /// load to use of a hit, from the address to the data: the mean over the slices of the core's own cluster
    pub latency: Sourced<Time>,
}

/// Sets of a cache that is indexed with the low bits of a line's number.
fn sets(capacity: Bytes, ways: u32, what: &str) -> Result<u64, String> {
    let most = Tags::MOST_WAYS;
    let row = u64::from(ways) * LINE_BYTES;
    let sets = capacity.get().checked_div(row).filter(|sets| sets * row == capacity.get() && sets.is_power_of_two());
    sets.filter(|_| ways <= most).ok_or_else(|| {
        format!("{what}: {capacity} in {ways} ways is no power of two of sets; valid: 1 to {most} ways of 64 B lines")
    })
}

impl CacheSpec {
    pub(super) fn sets(&self, what: &str) -> Result<u64, String> {
        sets(*self.capacity, *self.ways, what)
    }

    /// Empty tags of this geometry; the error names the cache.
    pub fn tags(&self, what: &str) -> Result<Tags, String> {
        Ok(Tags::new(self.sets(what)? as usize, *self.ways, *self.replacement))
    }
}

impl LlcSpec {
    /// Sets of one slice.
    pub(super) fn sets(&self) -> Result<u64, String> {
        sets(*self.slice_capacity, *self.ways, "llc")
    }

    /// Checks that the slices can be built.
    pub fn check(&self) -> Result<(), String> {
        if !(1..=1024).contains(&*self.slices) {
            return Err(format!("llc: {} slices; valid: 1 to 1024", *self.slices));
        }
        self.sets().map(drop)
    }

    #[must_use]
    pub fn capacity(&self) -> Bytes {
        Bytes::new(self.slice_capacity.get() * u64::from(*self.slices))
    }
}
