//! Garbage collection: it chooses the block that is erased next. A policy is a file of `collector/`.

mod cost_benefit;
mod greedy;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::geometry::BlockId;

/// The rule that chooses the next block to erase.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Collector {
    /// the block with the fewest valid units
    Greedy,
    /// the block with the best ratio of space gained, by age, to units copied (Rosenblum and Ousterhout, SOSP 1991)
    CostBenefit,
}

/// A block that may be erased.
#[derive(Clone, Copy, Debug)]
pub struct Candidate {
    pub block: BlockId,
    /// units that have to be copied
    pub valid: u32,
    /// number of units that hosts and collection have written to the die since the last write to the block
    pub age: u64,
}

impl Collector {
    /// Chooses the block to erase next. Among equal blocks it is the first.
    pub fn choose(self, candidates: impl Iterator<Item = Candidate>, block_units: u32) -> Option<Candidate> {
        match self {
            Collector::Greedy => greedy::choose(candidates),
            Collector::CostBenefit => cost_benefit::choose(candidates, block_units),
        }
    }
}
