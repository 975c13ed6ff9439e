//! Misses under way: which lines are awaited, by whom, and the fill buffers that bound their number.

use cxlab_kernel::{Credits, Grant};
use rustc_hash::FxHashMap;

use super::RequestKey;
use super::window::Waiters;
use crate::addr::Hpa;

/// An awaited line.
#[derive(Clone, Copy, Debug, Default)]
struct Awaited {
    waiters: Waiters,
    /// a store waits: the line will be changed as it comes
    store: bool,
}

/// The lines that a core awaits.
#[derive(Debug)]
pub struct Misses {
    awaited: FxHashMap<Hpa, Awaited>,
    buffers: Credits<RequestKey>,
}

impl Misses {
    pub fn new(fill_buffers: u32) -> Misses {
        Misses { awaited: FxHashMap::default(), buffers: Credits::new(fill_buffers) }
    }

    /// Who waits for the line, to add oneself; `None` if it is not awaited.
    #[inline]
    pub fn join(&mut self, line: Hpa, store: bool) -> Option<&mut Waiters> {
        let awaited = self.awaited.get_mut(&line)?;
        awaited.store |= store;
        Some(&mut awaited.waiters)
    }

    /// Await a new line, with its first waiter.
    pub fn await_line(&mut self, line: Hpa, store: bool, waiters: Waiters) {
        let before = self.awaited.insert(line, Awaited { waiters, store });
        assert!(before.is_none(), "{line:?} was awaited already");
    }

    /// Take a fill buffer for the request, or let it wait for one.
    pub fn take_buffer(&mut self, key: RequestKey) -> Grant {
        self.buffers.take(key)
    }

    /// A request has returned its buffer: the one that has it now, if one waited.
    pub fn free_buffer(&mut self) -> Option<RequestKey> {
        self.buffers.give_back()
    }

    /// The line is here: who waited, and whether a store did.
    pub fn returned(&mut self, line: Hpa) -> (Waiters, bool) {
        let awaited = self.awaited.remove(&line).expect("only awaited lines come");
        (awaited.waiters, awaited.store)
    }

    pub fn held(&self) -> u32 {
        self.buffers.held()
    }

    pub fn waits(&self) -> u64 {
        self.buffers.full_events()
    }
}
