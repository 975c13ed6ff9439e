//! The table of requests: an entry for each line that the home agents of a node have on its way to or from memory.
//!
//! ```text
//!   LLC miss, write-back -> [entry | waits for one] -> memory ... back -> the entry goes to the first that waits
//! ```
//!
//! Prefetches are refused while no entry is free. Not modelled: a table for each slice; those of a node are one.

use cxlab_kernel::{Credits, Grant, Time};

use super::{Home, HomeSpec, Queue};
use crate::request::{NodeId, RequestKey};

/// The table of one node.
pub struct Table {
    entries: Credits<RequestKey>,
    /// how many
    total: u32,
}

impl Table {
    /// The entries of so many slices.
    pub fn new(spec: &HomeSpec, slices: usize) -> Table {
        let total = slices as u32 * *spec.requests;
        Table { entries: Credits::new(total), total }
    }

    /// Whether a prefetch finds no entry.
    #[inline]
    pub fn refuses_prefetches(&self) -> bool {
        self.entries.held() == self.total
    }

    /// Entries in use, and requests that wait for one.
    #[must_use]
    pub fn occupied(&self) -> (u32, usize) {
        (self.entries.held(), self.entries.waiting())
    }

    /// Requests that found no entry, since the beginning.
    #[must_use]
    pub fn full_events(&self) -> u64 {
        self.entries.full_events()
    }
}

impl Home {
    /// Take an entry of the table of requests, or wait for one.
    pub(super) fn enter_table<Q: Queue>(&mut self, now: Time, key: RequestKey, queue: &mut Q) {
        let node = usize::from(self.requests[key].node.0);
        if self.nodes[node].table.entries.take(key) == Grant::Now {
            self.entered(now, key, queue);
        }
    }

    /// A request of `node` is done: the next one has its entry.
    pub(super) fn give_back_entry<Q: Queue>(&mut self, now: Time, node: NodeId, queue: &mut Q) {
        if let Some(next) = self.nodes[usize::from(node.0)].table.entries.give_back() {
            self.entered(now, next, queue);
        }
    }

    /// What a home agent wrote is in its memory.
    pub(super) fn written<Q: Queue>(&mut self, now: Time, key: RequestKey, queue: &mut Q) {
        let request = self.requests.remove(key);
        self.give_back_entry(now, request.node, queue);
    }
}
