//! Replacement: which line of a set leaves for a new one.
//!
//! A policy is a file: what it remembers in a set, what a use changes, whom it names. The set is a row of
//! [`Entry`]; LRU remembers in the order of the row, SRRIP in the entries, tree-PLRU in a word beside the row.
//! Not modelled: policies that learn from misses of sampled sets (DIP, DRRIP) or from signatures (SHiP).

mod lru;
mod srrip;
mod tree_plru;

use serde::{Deserialize, Serialize};

use super::entry::Entry;

/// A replacement policy, as the host file names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Replacement {
    /// the line unused longest
    Lru,
    /// a binary tree of "the other half is older"
    TreePlru,
    /// the line whose next use is predicted to be farthest
    Srrip,
}

impl Replacement {
    pub const ALL: [Replacement; 3] = [Replacement::Lru, Replacement::TreePlru, Replacement::Srrip];

    /// Words beside each set that the policy needs.
    pub(super) fn words(self) -> usize {
        usize::from(self == Replacement::TreePlru)
    }

    /// The line in `way` was used: where it is now.
    #[inline]
    pub(super) fn used(self, row: &mut [Entry], word: Option<&mut u64>, way: usize) -> usize {
        match self {
            Replacement::Lru => lru::used(row, way),
            Replacement::TreePlru => {
                tree_plru::used(word.expect("a tree for each set"), row.len(), way);
                way
            }
            Replacement::Srrip => {
                srrip::used(row, way);
                way
            }
        }
    }

    /// The way that a new line takes: an empty one, or that of the line which leaves.
    #[inline]
    pub(super) fn victim(self, row: &mut [Entry], word: Option<&u64>) -> usize {
        // LRU keeps its empty ways behind the others, where its victim is.
        if self == Replacement::Lru {
            return lru::victim(row);
        }
        if let Some(empty) = row.iter().position(|entry| entry.is_empty()) {
            return empty;
        }
        match self {
            Replacement::Lru | Replacement::TreePlru => {
                tree_plru::victim(*word.expect("a tree for each set"), row.len())
            }
            Replacement::Srrip => srrip::victim(row),
        }
    }

    /// A new line has taken `way`: where it is now.
    #[inline]
    pub(super) fn filled(self, row: &mut [Entry], word: Option<&mut u64>, way: usize) -> usize {
        if self == Replacement::Srrip {
            srrip::filled(row, way);
            return way;
        }
        self.used(row, word, way)
    }

    /// The line in `way` has left.
    pub(super) fn emptied(self, row: &mut [Entry], way: usize) {
        match self {
            Replacement::Lru => lru::emptied(row, way),
            Replacement::TreePlru | Replacement::Srrip => {}
        }
    }
}
