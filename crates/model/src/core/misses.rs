//! Misses under way: which lines are awaited and by whom, the fill buffers and the superqueue that bound their number.
//!
//! ```text
//!   L1 miss --fill buffer--> L2 look-up --miss--> superqueue --> home agent
//!                                                     ^
//!            prefetchers, while it has room ----------+
//!            victims of L2, until the LLC pulls them -'
//! ```
//!
//! A load or store for a line that is read ahead takes a fill buffer and waits with it. The LLC takes L2's victims, clean ones
//! too, and each holds its entry until the home agent has pulled it: it waits there for an entry of its slice's table. Source: Intel optimization manual (248966), Golden Cove:
//! 16 L1D fill buffers (write-combining buffers are fill buffers, SDM vol. 3, 11.3.1), 48 outstanding L2 misses; the non-inclusive
//! LLC as a victim cache: MICRO'23 (Sun et al.), 2.2. How long a victim holds its entry is not published (MOD-16).

use cxlab_kernel::{Slots, Time};
use rustc_hash::FxHashMap;

use super::order::StoreNumber;
use super::window::Waiters;
use crate::addr::Hpa;
use crate::cache::Reference;
use crate::request::{Op, RequestKey};

/// An awaited line: it is in the superqueue.
#[derive(Clone, Copy, Debug)]
pub struct Awaited {
    pub waiters: Waiters,
    /// a store waits: the line will be changed as it comes
    pub store: bool,
    /// since when a load or store holds a fill buffer for it; `None` of a line that nobody but a prefetcher wants
    pub buffer: Option<Time>,
}

/// A load or store that missed L1 and looks for its line in L2 as soon as it has a fill buffer.
#[derive(Clone, Copy, Debug)]
pub struct Look {
    pub op: Op,
    pub by: Reference,
    pub store: bool,
    pub waiters: Waiters,
    /// since when the line is wanted
    pub born: Time,
    /// when its address was known
    pub known: Time,
}

/// Who waits for a fill buffer.
#[derive(Clone, Copy, Debug)]
pub enum Waiting {
    /// a load or store of this line: [`Misses::queued`]
    Line(Hpa),
    /// a line or flush that is posted, and the store that waits for it to leave
    Posted(RequestKey, Option<StoreNumber>),
}

/// Who waits for an entry of the superqueue.
#[derive(Clone, Copy, Debug)]
pub enum Entering {
    /// a request that leaves for the home agents then
    Request(RequestKey),
    /// a victim of L2, which leaves for its slice then
    Victim(Hpa),
}

/// The lines that a core awaits.
#[derive(Debug)]
pub struct Misses {
    awaited: FxHashMap<Hpa, Awaited>,
    queued: FxHashMap<Hpa, Look>,
    pub buffers: Slots<Waiting>,
    pub superqueue: Slots<Entering>,
}

impl Misses {
    pub fn new(fill_buffers: u32, superqueue: u32) -> Misses {
        Misses {
            awaited: FxHashMap::default(),
            queued: FxHashMap::default(),
            buffers: Slots::new(fill_buffers),
            superqueue: Slots::new(superqueue),
        }
    }

    /// Who waits for the line and has, or will have, a fill buffer for it, to add oneself; `None` if nobody does.
    #[inline]
    pub fn join(&mut self, line: Hpa, store: bool) -> Option<&mut Waiters> {
        if self.buffers.anyone_waits()
            && let Some(look) = self.queued.get_mut(&line)
        {
            look.store |= store;
            return Some(&mut look.waiters);
        }
        let awaited = self.awaited.get_mut(&line).filter(|awaited| awaited.buffer.is_some())?;
        awaited.store |= store;
        Some(&mut awaited.waiters)
    }

    /// Wait for a fill buffer with a line that nobody waits for with one.
    pub fn queue(&mut self, line: Hpa, look: Look) {
        let before = self.queued.insert(line, look);
        debug_assert!(before.is_none(), "{line:?} was queued already");
        self.buffers.wait(Waiting::Line(line));
    }

    /// The line has its fill buffer.
    pub fn queued(&mut self, line: Hpa) -> Look {
        self.queued.remove(&line).expect("who waits for a buffer has its line in the queue")
    }

    /// Wait, with a fill buffer, for a line that is read ahead: whether it is.
    pub fn join_prefetch(&mut self, line: Hpa, look: Look, at: Time) -> bool {
        let Some(awaited) = self.awaited.get_mut(&line) else { return false };
        *awaited = Awaited { waiters: look.waiters, store: look.store, buffer: Some(at) };
        true
    }

    /// Await a new line.
    pub fn await_line(&mut self, line: Hpa, awaited: Awaited) {
        let before = self.awaited.insert(line, awaited);
        assert!(before.is_none(), "{line:?} was awaited already");
    }

    /// Whether the line is on its way.
    #[inline]
    pub fn awaits(&self, line: Hpa) -> bool {
        self.awaited.contains_key(&line)
    }

    /// The line is here.
    pub fn returned(&mut self, line: Hpa) -> Awaited {
        self.awaited.remove(&line).expect("only awaited lines come")
    }
}
