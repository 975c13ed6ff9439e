//! Misses under way: awaited lines with their waiters, and the fill buffers and the superqueue that bound their number.
//!
//! ```text
//!   L1 miss --fill buffer--> L2 look-up --miss--> superqueue --> home agent
//!                                                     ^
//!            prefetchers, while it has room ----------+
//!            victims of L2, until the LLC pulls them -'
//! ```
//!
//! A load or store for a prefetched line takes a fill buffer and waits with it. The LLC takes all victims of L2, clean
//! ones too. Each victim holds its entry of the superqueue until the home agent has pulled it. Meanwhile the victim
//! waits for an entry of its slice's table. Source: Intel optimization manual (248966), Golden Cove: 16 L1D fill
//! buffers, 48 outstanding L2 misses. Write-combining buffers are fill buffers (SDM vol. 3, 11.3.1). The non-inclusive
//! LLC as a victim cache: MICRO'23 (Sun et al.), 2.2. How long a victim holds its entry is not published (MOD-16).

use std::collections::VecDeque;

use cxlab_kernel::{Slots, Time};
use rustc_hash::FxHashMap;

use super::coming::Coming;
use super::order::StoreNumber;
use super::window::Waiters;
use crate::addr::Hpa;
use crate::cache::Reference;
use crate::request::{Evicted, Op, RequestKey};

/// A line under way, with an entry of the superqueue.
#[derive(Clone, Copy, Debug)]
pub struct Awaited {
    pub waiters: Waiters,
    /// a store waits: the line is changed as soon as it comes
    pub store: bool,
    /// since when a load, a store or a prefetch to L1 holds a fill buffer for the line; `None` if only L2 wants it
    pub buffer: Option<Time>,
}

/// A load or store that missed L1 and looks for its line in L2 as soon as it has a fill buffer.
#[derive(Clone, Copy, Debug)]
pub struct Look {
    pub op: Op,
    pub by: Reference,
    pub store: bool,
    pub waiters: Waiters,
    /// when the line was first wanted
    pub born: Time,
    /// when its address was known
    pub known: Time,
}

/// A waiter for a fill buffer.
#[derive(Clone, Copy, Debug)]
pub enum Waiting {
    /// a load or store of this line: [`Misses::queued`]
    Line(Hpa),
    /// a posted line or flush, and the store that waits for it to leave
    Posted(RequestKey, Option<StoreNumber>),
}

/// A waiter for an entry of the superqueue.
#[derive(Clone, Copy, Debug)]
pub enum Entering {
    /// a request, which then leaves for the home agents
    Request(RequestKey),
    /// a victim of L2, which then leaves for its slice
    Victim(Evicted),
}

/// The lines that a core awaits.
#[derive(Clone, Debug)]
pub struct Misses {
    awaited: FxHashMap<Hpa, Awaited>,
    queued: FxHashMap<Hpa, Look>,
    pub buffers: Slots<VecDeque<Waiting>>,
    pub superqueue: Slots<VecDeque<Entering>>,
    pub coming: Coming,
}

impl Misses {
    pub fn new(fill_buffers: u32, superqueue: u32) -> Misses {
        Misses {
            awaited: FxHashMap::default(),
            queued: FxHashMap::default(),
            buffers: Slots::new(fill_buffers),
            superqueue: Slots::new(superqueue),
            coming: Coming::new(fill_buffers),
        }
    }

    /// The waiters of a line that has, or will have, a fill buffer, so that the caller can join them. `None` if there
    /// are none.
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

    /// Lets a line wait for a fill buffer. No other waiter has or awaits a buffer for this line.
    pub fn queue(&mut self, line: Hpa, look: Look) {
        let before = self.queued.insert(line, look);
        debug_assert!(before.is_none(), "{line:?} was queued already");
        self.buffers.wait(Waiting::Line(line));
    }

    /// Takes a line out of the queue when it has its fill buffer.
    pub fn queued(&mut self, line: Hpa) -> Look {
        self.queued.remove(&line).expect("who waits for a buffer has its line in the queue")
    }

    /// Joins a prefetch of the line under way, with a fill buffer. Returns whether there is such a prefetch.
    pub fn join_prefetch(&mut self, line: Hpa, look: Look, at: Time) -> bool {
        let Some(awaited) = self.awaited.get_mut(&line) else { return false };
        *awaited = Awaited { waiters: look.waiters, store: look.store, buffer: Some(at) };
        true
    }

    /// A prefetcher of L1 wants a line that is on its way. Takes a fill buffer for it, which must be free at `at`. Returns
    /// whether the line had none.
    pub fn wants_near(&mut self, line: Hpa, at: Time) -> bool {
        let Some(awaited) = self.awaited.get_mut(&line).filter(|awaited| awaited.buffer.is_none()) else {
            return false;
        };
        awaited.buffer = self.buffers.take(at);
        true
    }

    /// Whether the line is on its way to L1, or waits for a fill buffer to come there.
    pub fn comes_near(&self, line: Hpa) -> bool {
        self.queued.contains_key(&line) || self.awaited.get(&line).is_some_and(|awaited| awaited.buffer.is_some())
    }

    /// L2 has the line, which comes at `arrival`. It holds the fill buffer that was taken for it until then.
    pub fn comes_from_l2(&mut self, line: Hpa, arrival: Time) {
        self.buffers.give_back(arrival);
        self.coming.add(line, arrival);
    }

    /// Adds an awaited line.
    pub fn await_line(&mut self, line: Hpa, awaited: Awaited) {
        let before = self.awaited.insert(line, awaited);
        assert!(before.is_none(), "{line:?} was awaited already");
    }

    /// Whether the line is on its way.
    #[inline]
    pub fn awaits(&self, line: Hpa) -> bool {
        self.awaited.contains_key(&line)
    }

    /// Removes a line that has come from the awaited lines.
    pub fn returned(&mut self, line: Hpa) -> Awaited {
        self.awaited.remove(&line).expect("only awaited lines come")
    }
}
