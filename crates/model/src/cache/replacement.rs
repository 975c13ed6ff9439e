//! Replacement policies choose which line of a set leaves for a new one.
//!
//! ```text
//!   hit:  Tags -- row, way, Reference --> used            miss:  Tags -- row --> victim, then -- Reference --> filled
//! ```
//!
//! A policy is a file: what it remembers, what a use changes, whom it names. The set is a row of [`Entry`]. LRU keeps
//! its state in the order of the row, SRRIP and QLRU in the entries. Tree-PLRU has a word for each set, SHiP a
//! signature for each line. Not modelled: policies that learn from misses of sampled sets (DIP, DRRIP).

mod lru;
mod qlru;
mod ship;
mod srrip;
mod tree_plru;

use schemars::JsonSchema;

use serde::{Deserialize, Serialize};

use super::entry::Entry;
use super::reference::Reference;
use ship::Ship;

/// A replacement policy, as the host file names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Replacement {
    /// the line unused longest
    Lru,
    /// a binary tree of "the other half is older"
    TreePlru,
    /// the line whose next use is predicted to be farthest
    Srrip,
    /// two-bit ages, as nanoBench finds them in Intel's L2 and L3
    Qlru,
    /// SRRIP that inserts by whether lines of the same instruction were used again
    Ship,
}

impl Replacement {
    pub const ALL: [Replacement; 5] =
        [Replacement::Lru, Replacement::TreePlru, Replacement::Srrip, Replacement::Qlru, Replacement::Ship];

    /// The policy of a cache that holds nothing.
    pub(super) fn policy(self, sets: usize, ways: usize) -> Policy {
        match self {
            Replacement::Lru => Policy::Lru,
            Replacement::TreePlru => Policy::TreePlru(vec![0; sets].into()),
            Replacement::Srrip => Policy::Srrip,
            Replacement::Qlru => Policy::Qlru,
            Replacement::Ship => Policy::Ship(Ship::new(sets, ways).into()),
        }
    }
}

/// A policy, and what it remembers beside the entries.
#[derive(Clone, Debug)]
pub(super) enum Policy {
    Lru,
    /// a tree for each set
    TreePlru(Box<[u64]>),
    Srrip,
    Qlru,
    Ship(Box<Ship>),
}

impl Policy {
    /// The line in `way` of `set` was used: where it is now.
    #[inline]
    pub(super) fn used(&mut self, set: usize, row: &mut [Entry], way: usize, by: Reference) -> usize {
        match self {
            Policy::Lru => return lru::used(row, way),
            Policy::TreePlru(trees) => tree_plru::used(&mut trees[set], row.len(), way),
            Policy::Srrip => srrip::used(row, way),
            Policy::Qlru => qlru::used(row, way),
            Policy::Ship(ship) => ship.used(set, row, way, by),
        }
        way
    }

    /// The way that a new line takes: an empty one, or that of the line which leaves.
    #[inline]
    pub(super) fn victim(&mut self, set: usize, row: &mut [Entry]) -> usize {
        // LRU keeps its empty ways behind the others, where its victim is.
        match self {
            Policy::Lru => return lru::victim(row),
            Policy::Qlru => return qlru::victim(row),
            Policy::TreePlru(_) | Policy::Srrip | Policy::Ship(_) => {}
        }
        if let Some(empty) = row.iter().position(|entry| entry.is_empty()) {
            return empty;
        }
        match self {
            Policy::Lru | Policy::Qlru => unreachable!("both have found their empty ways"),
            Policy::TreePlru(trees) => tree_plru::victim(trees[set], row.len()),
            Policy::Srrip => srrip::victim(row),
            Policy::Ship(ship) => ship.victim(set, row),
        }
    }

    /// A new line has taken `way`: where it is now.
    #[inline]
    pub(super) fn filled(&mut self, set: usize, row: &mut [Entry], way: usize, by: Reference) -> usize {
        match self {
            Policy::Lru | Policy::TreePlru(_) => return self.used(set, row, way, by),
            Policy::Srrip => srrip::filled(row, way),
            Policy::Qlru => qlru::filled(row, way),
            Policy::Ship(ship) => ship.filled(set, row, way, by),
        }
        way
    }

    /// The line in `way` has left.
    pub(super) fn emptied(&self, row: &mut [Entry], way: usize) {
        match self {
            Policy::Lru => lru::emptied(row, way),
            Policy::TreePlru(_) | Policy::Srrip | Policy::Qlru | Policy::Ship(_) => {}
        }
    }
}
