//! Cost-benefit collection: space gained times age, divided by the cost of reading and writing the block's units.
//!
//! Source: Rosenblum and Ousterhout, SOSP 1991, 3.6: (1 - u) x age / (1 + u).

use super::Candidate;

pub fn choose(candidates: impl Iterator<Item = Candidate>, block_units: u32) -> Option<Candidate> {
    let score = |candidate: &Candidate| {
        let share = f64::from(candidate.valid) / f64::from(block_units);
        (1.0 - share) * candidate.age as f64 / (1.0 + share)
    };
    candidates.reduce(|best, next| if score(&next) > score(&best) { next } else { best })
}
