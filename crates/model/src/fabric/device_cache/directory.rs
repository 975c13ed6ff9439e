//! The directory of a device cache: the pages of the flash that the cache holds, and their places.
//!
//! ```text
//!   page --index--> set [ way | way | ... ] --> place in the cache's DRAM
//! ```

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::line::Line;
use super::policy::{CachePolicy, Set};

/// The rule that gives a page its set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Index {
    /// by the low part of the page's number: neighbours are in different sets
    Modulo,
    /// by a product that all bits of the number go into
    Hashed,
}

/// Contents of a cache when a run begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Start {
    /// nothing
    Empty,
    /// the first pages that are asked for: a page that finds a never-used way counts as there since before the run
    Warm,
}

/// Result of looking for a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// place in the cache, and whether this is the first use of a prefetched page
    Hit {
        place: u64,
        ahead: bool,
    },
    Miss,
}

/// A page that has come, with the page that left for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inserted {
    pub place: u64,
    /// the page that has left, if the flash has to learn of it
    pub changed: Option<u32>,
    /// whether any page has left
    pub evicted: bool,
}

/// Sets of lines.
#[derive(Clone, Debug)]
pub struct Directory {
    policy: CachePolicy,
    index: Index,
    start: Start,
    sets: u64,
    ways: usize,
    /// number of words that the policy has for each set
    words_each: usize,
    lines: Vec<Line>,
    words: Vec<u32>,
}

impl Directory {
    /// A directory of `lines` lines in sets of `ways`.
    #[must_use]
    pub fn new(lines: u64, ways: usize, policy: CachePolicy, index: Index, start: Start) -> Directory {
        let (sets, words_each) = (lines / ways as u64, policy.words(ways));
        let (lines, words) = (vec![Line::default(); sets as usize * ways], vec![0; sets as usize * words_each]);
        Directory { policy, index, start, sets, ways, words_each, lines, words }
    }

    fn set(&self, page: u32) -> usize {
        let set = match self.index {
            Index::Modulo => u64::from(page) % self.sets,
            Index::Hashed => {
                // Knuth vol. 3, 6.4: the upper bits of a product depend on all bits of its factors. Then comes Lemire's
                // range.
                let mixed = u64::from(page).wrapping_mul(0x9e37_79b9_7f4a_7c15);
                let mixed = (mixed ^ mixed >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93);
                ((u128::from(mixed) * u128::from(self.sets)) >> 64) as u64
            }
        };
        set as usize
    }

    /// Uses the page. Returns where it is, if it is there.
    pub fn touch(&mut self, page: u32, changes: bool) -> Found {
        let first = self.set(page) * self.ways;
        let lines = &self.lines[first..first + self.ways];
        if let Some(way) = lines.iter().position(|line| line.page() == Some(page)) {
            let ahead = lines[way].is_ahead();
            self.lines[first + way].touch(changes);
            self.use_way(first / self.ways, way);
            return Found::Hit { place: (first + way) as u64, ahead };
        }
        if self.start == Start::Warm && lines.iter().any(|line| line.page().is_none()) {
            let Inserted { place, .. } = self.insert(page, changes, false);
            return Found::Hit { place, ahead: false };
        }
        Found::Miss
    }

    /// Place of the page, if it is there. The directory does not count this as a use.
    #[must_use]
    pub fn place(&self, page: u32) -> Option<u64> {
        let first = self.set(page) * self.ways;
        let way = self.lines[first..first + self.ways].iter().position(|line| line.page() == Some(page))?;
        Some((first + way) as u64)
    }

    /// Inserts a page. Another page may have to leave.
    pub fn insert(&mut self, page: u32, changed: bool, ahead: bool) -> Inserted {
        let set = self.set(page);
        let first = set * self.ways;
        let (policy, mut view) = self.view(set);
        let way = policy.admit(&mut view, page);
        let left = std::mem::replace(&mut self.lines[first + way], Line::new(page, changed, ahead));
        Inserted {
            place: (first + way) as u64,
            changed: left.page().filter(|_| left.is_changed()),
            evicted: left.page().is_some(),
        }
    }

    fn use_way(&mut self, set: usize, way: usize) {
        let (policy, mut view) = self.view(set);
        policy.used(&mut view, way);
    }

    fn view(&mut self, set: usize) -> (CachePolicy, Set<'_>) {
        let (first, word) = (set * self.ways, set * self.words_each);
        let lines = &self.lines[first..first + self.ways];
        (self.policy, Set { lines, words: &mut self.words[word..word + self.words_each] })
    }
}
