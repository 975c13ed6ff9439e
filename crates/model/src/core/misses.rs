//! Misses under way: which lines are awaited, by whom, and the fill buffers that bound their number.

use cxlab_kernel::{Credits, Grant};
use rustc_hash::FxHashMap;

use super::RequestKey;
use super::window::Waiters;
use crate::addr::Hpa;
use crate::request::Level;

/// An awaited line.
#[derive(Clone, Copy, Debug, Default)]
struct Awaited {
    waiters: Waiters,
    /// a store waits: the line will be changed as it comes
    store: bool,
    slot: Slot,
}

/// What a line under way occupies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Slot {
    /// a fill buffer, or a place in the queue for one
    #[default]
    Buffer,
    /// a place of the prefetchers
    Prefetch(Level),
}

/// A request that waits for a fill buffer.
#[derive(Clone, Copy, Debug)]
pub struct Waiting {
    pub key: RequestKey,
    /// what the core awaits of it; `None` of what is posted
    pub awaited: Option<Hpa>,
}

/// The lines that a core awaits.
#[derive(Debug)]
pub struct Misses {
    awaited: FxHashMap<Hpa, Awaited>,
    buffers: Credits<Waiting>,
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
    pub fn await_line(&mut self, line: Hpa, store: bool, waiters: Waiters, slot: Slot) {
        let before = self.awaited.insert(line, Awaited { waiters, store, slot });
        assert!(before.is_none(), "{line:?} was awaited already");
    }

    /// Whether the line is on its way or asked for.
    #[inline]
    pub fn awaits(&self, line: Hpa) -> bool {
        self.awaited.contains_key(&line)
    }

    /// Take a fill buffer for the request, or let it wait for one.
    pub fn take_buffer(&mut self, key: RequestKey, awaited: Option<Hpa>) -> Grant {
        self.buffers.take(Waiting { key, awaited })
    }

    /// A request has returned its buffer: the one that has it now, if one waited.
    pub fn free_buffer(&mut self) -> Option<RequestKey> {
        self.buffers.give_back().map(|next| next.key)
    }

    /// The request that is next for a fill buffer.
    pub fn first_waiting(&self) -> Option<Waiting> {
        self.buffers.first_waiter()
    }

    /// The request that is next, for this line, leaves in a place of the prefetchers.
    pub fn leave_as_prefetch(&mut self, line: Hpa, level: Level) {
        self.buffers.dismiss();
        self.awaited.get_mut(&line).expect("its line is awaited").slot = Slot::Prefetch(level);
    }

    /// The line is here: who waited, whether a store did, and what it occupied.
    pub fn returned(&mut self, line: Hpa) -> (Waiters, bool, Slot) {
        let awaited = self.awaited.remove(&line).expect("only awaited lines come");
        (awaited.waiters, awaited.store, awaited.slot)
    }

    /// Fill buffers in use.
    pub fn held(&self) -> u32 {
        self.buffers.held()
    }

    pub fn waits(&self) -> u64 {
        self.buffers.full_events()
    }
}
