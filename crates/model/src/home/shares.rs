//! A core's share of a slice's table: the entries of the table that one core's requests may use at once.
//!
//! ```text
//!   core A's requests -> [used: 2] <- the third waits here, in order, and not in the slice's queue
//!   core B's requests -> [used: 1]
//! ```
//!
//! A request uses its core's share until the core has its answer. A victim of L2 uses it while a changed line leaves the
//! LLC for it. Other victims of L2 and the home agent's own writes have no share. Source: none of Intel's documents
//! names a share. It follows from the lines that a thread of silicon has under way: docs/decisions/entries-per-core.md.

use std::collections::VecDeque;

use crate::cache::SliceId;
use crate::request::{CoreId, RequestKey};

/// One core's share of one slice's table.
#[derive(Clone, Debug, Default)]
struct Share {
    /// requests that have an entry, or are in the slice's queue for one
    used: u32,
    /// requests that come after them
    waiting: VecDeque<RequestKey>,
}

/// The shares of all cores in all slices' tables.
#[derive(Clone)]
pub struct Shares {
    /// by slice, then by core
    shares: Box<[Share]>,
    cores: usize,
    /// entries of a table that one core may use
    most: u32,
}

impl Shares {
    pub fn new(most: u32, slices: usize, cores: usize) -> Shares {
        Shares { shares: vec![Share::default(); slices * cores].into(), cores, most }
    }

    /// Whether a request may use an entry now. If not, it waits until its core's share has one.
    #[inline]
    pub fn take(&mut self, core: CoreId, slice: SliceId, key: RequestKey) -> bool {
        let most = self.most;
        let share = self.of(core, slice);
        let allowed = share.used < most;
        if allowed {
            share.used += 1
        } else {
            share.waiting.push_back(key)
        }
        allowed
    }

    /// A request of the core has its answer. Returns the request that may use an entry in its place.
    #[inline]
    pub fn give_back(&mut self, core: CoreId, slice: SliceId) -> Option<RequestKey> {
        let share = self.of(core, slice);
        let next = share.waiting.pop_front();
        if next.is_none() {
            share.used -= 1;
        }
        next
    }

    #[inline]
    fn of(&mut self, core: CoreId, slice: SliceId) -> &mut Share {
        &mut self.shares[usize::from(slice.0) * self.cores + usize::from(core.0)]
    }
}
