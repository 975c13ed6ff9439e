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

use cxlab_kernel::{Credits, Grant};

use crate::cache::SliceId;
use crate::request::{CoreId, RequestKey};

/// The shares of all cores in all slices' tables.
#[derive(Clone)]
pub struct Shares {
    /// by slice, then by core: held by requests that have an entry, or are in the slice's queue for one
    shares: Box<[Credits<RequestKey>]>,
    cores: usize,
}

impl Shares {
    /// `most` entries of a table are one core's share.
    pub fn new(most: u32, slices: usize, cores: usize) -> Shares {
        Shares { shares: (0..slices * cores).map(|_| Credits::new(most)).collect(), cores }
    }

    /// Whether a request may use an entry now. If not, it waits until its core's share has one.
    #[inline]
    pub fn take(&mut self, core: CoreId, slice: SliceId, key: RequestKey) -> bool {
        self.of(core, slice).take(key) == Grant::Now
    }

    /// A request of the core has its answer. Returns the request that may use an entry in its place.
    #[inline]
    pub fn give_back(&mut self, core: CoreId, slice: SliceId) -> Option<RequestKey> {
        self.of(core, slice).give_back()
    }

    #[inline]
    fn of(&mut self, core: CoreId, slice: SliceId) -> &mut Credits<RequestKey> {
        &mut self.shares[usize::from(slice.0) * self.cores + usize::from(core.0)]
    }
}
