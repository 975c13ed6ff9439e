//! Greedy collection: the block with the fewest valid units is copied and erased.

use super::Candidate;

pub fn choose(candidates: impl Iterator<Item = Candidate>) -> Option<Candidate> {
    candidates.min_by_key(|candidate| candidate.valid)
}
