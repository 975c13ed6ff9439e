//! Replacement in a device cache: it chooses the line of a set that leaves. A policy is a file of `policy/`.
//!
//! ```text
//!   hit:  Directory -- set, way --> used            miss:  Directory -- set, page --> way that the page takes
//! ```
//!
//! A policy keeps its state in words beside its set. The words are 0 before the set's first line.

mod cflru;
mod clock;
mod fifo;
mod lfru;
mod lru;
mod names;
mod s3_fifo;
mod two_q;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::line::Line;

/// A replacement policy, as the device file names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum CachePolicy {
    /// the line unused longest
    #[serde(rename = "lru")]
    Lru,
    /// the line that came first
    #[serde(rename = "fifo")]
    Fifo,
    /// a queue for lines used once, and LRU for those used again (Johnson and Shasha, VLDB 1994)
    #[serde(rename = "2q")]
    TwoQ,
    /// the first line from the hand on that was not used since the hand passed it (Corbató, 1968)
    #[serde(rename = "clock")]
    Clock,
    /// a small queue, a main queue and a queue of names (Yang et al., SOSP 2023)
    #[serde(rename = "s3-fifo")]
    S3Fifo,
    /// LRU for lines that were used again, the least used of the others (Bilal and Kang, IEEE Access 2017)
    #[serde(rename = "lfru")]
    Lfru,
    /// the unchanged line unused longest, among those unused long (Park et al., CASES 2006)
    #[serde(rename = "cflru")]
    Cflru,
}

/// A set as a policy sees it.
pub struct Set<'a> {
    pub lines: &'a [Line],
    pub words: &'a mut [u32],
}

impl Set<'_> {
    pub fn ways(&self) -> usize {
        self.lines.len()
    }

    /// The first empty way.
    pub fn empty(&self) -> Option<usize> {
        self.lines.iter().position(|line| line.page().is_none())
    }
}

impl CachePolicy {
    pub const ALL: [CachePolicy; 7] = [
        CachePolicy::Lru,
        CachePolicy::Fifo,
        CachePolicy::TwoQ,
        CachePolicy::Clock,
        CachePolicy::S3Fifo,
        CachePolicy::Lfru,
        CachePolicy::Cflru,
    ];

    /// Number of words that the policy needs for a set.
    pub(super) fn words(self, ways: usize) -> usize {
        match self {
            CachePolicy::Lru => lru::words(ways),
            CachePolicy::Fifo => fifo::words(ways),
            CachePolicy::TwoQ => two_q::words(ways),
            CachePolicy::Clock => clock::words(ways),
            CachePolicy::S3Fifo => s3_fifo::words(ways),
            CachePolicy::Lfru => lfru::words(ways),
            CachePolicy::Cflru => cflru::words(ways),
        }
    }

    /// Notes a use of the line in `way`.
    pub(super) fn used(self, set: &mut Set<'_>, way: usize) {
        match self {
            CachePolicy::Lru => lru::used(set, way),
            CachePolicy::Fifo => {}
            CachePolicy::TwoQ => two_q::used(set, way),
            CachePolicy::Clock => clock::used(set, way),
            CachePolicy::S3Fifo => s3_fifo::used(set, way),
            CachePolicy::Lfru => lfru::used(set, way),
            CachePolicy::Cflru => cflru::used(set, way),
        }
    }

    /// Chooses the way for a new page: an empty way, or the way of the line that leaves.
    pub(super) fn admit(self, set: &mut Set<'_>, page: u32) -> usize {
        match self {
            CachePolicy::Lru => lru::admit(set),
            CachePolicy::Fifo => fifo::admit(set),
            CachePolicy::TwoQ => two_q::admit(set, page),
            CachePolicy::Clock => clock::admit(set),
            CachePolicy::S3Fifo => s3_fifo::admit(set, page),
            CachePolicy::Lfru => lfru::admit(set),
            CachePolicy::Cflru => cflru::admit(set),
        }
    }
}

/// The way with the least `key` among those for which `of` holds. Among equals it is the first.
fn least(ways: usize, of: impl Fn(usize) -> bool, key: impl Fn(usize) -> (u32, u32)) -> Option<usize> {
    (0..ways).filter(|way| of(*way)).min_by_key(|way| key(*way))
}
