//! Slots: entries of a buffer whose return may be known ahead, and the waiters for one.
//!
//! ```text
//!   take --> [ entries ] --return known----> lent again from then on, without an event
//!               |        --return unknown--> lent again when it comes
//!               '-- none left: wait, in order or in turns of sources
//! ```
//!
//! Nobody waits for an entry with a known return: the next in line has it from then on.

use std::collections::VecDeque;

use crate::Time;
use crate::turns::Turns;

/// A queue of waiters.
pub trait Waiting {
    type Waiter;
    fn is_empty(&self) -> bool;
    /// Takes the waiter that is next.
    fn pop(&mut self) -> Option<Self::Waiter>;
}

impl<W> Waiting for VecDeque<W> {
    type Waiter = W;

    #[inline]
    fn is_empty(&self) -> bool {
        VecDeque::is_empty(self)
    }

    #[inline]
    fn pop(&mut self) -> Option<W> {
        self.pop_front()
    }
}

impl<W> Waiting for Turns<W> {
    type Waiter = W;

    #[inline]
    fn is_empty(&self) -> bool {
        Turns::is_empty(self)
    }

    fn pop(&mut self) -> Option<W> {
        Turns::pop(self)
    }
}

/// Entries and the queue of their waiters: a FIFO, or turns of sources.
#[derive(Clone, Debug)]
pub struct Slots<Q> {
    total: u32,
    /// when each entry whose return is known is free `[ps]`, the earliest first
    free: VecDeque<Time>,
    waiting: Q,
    /// requests that found no entry `[events]`
    waits: u64,
}

impl<W> Slots<VecDeque<W>> {
    /// Entries whose waiters keep their order.
    #[must_use]
    pub fn new(total: u32) -> Slots<VecDeque<W>> {
        Slots::with(total, VecDeque::new())
    }

    /// Adds a waiter that found no free slot.
    pub fn wait(&mut self, waiter: W) {
        self.waits += 1;
        self.waiting.push_back(waiter);
    }
}

impl<W> Slots<Turns<W>> {
    /// Entries whose waiters are served in turns of so many sources.
    #[must_use]
    pub fn in_turns(total: u32, sources: usize) -> Slots<Turns<W>> {
        Slots::with(total, Turns::new(sources))
    }

    /// Adds a waiter of a source that found no free slot.
    pub fn wait_for_turn(&mut self, source: usize, waiter: W) {
        self.waits += 1;
        self.waiting.push(source, waiter);
    }
}

impl<Q: Waiting> Slots<Q> {
    fn with(total: u32, waiting: Q) -> Slots<Q> {
        let free = std::iter::repeat_n(Time::ZERO, total as usize).collect();
        Slots { total, free, waiting, waits: 0 }
    }

    /// Takes an entry for a request that is ready at `at`. Returns since when it has the entry; `None` if it has to wait
    /// behind others.
    #[inline]
    pub fn take(&mut self, at: Time) -> Option<Time> {
        if !self.waiting.is_empty() {
            return None;
        }
        self.free.pop_front().map(|free| free.max(at))
    }

    /// Returns an entry, which is free from `at` on.
    #[inline]
    pub fn give_back(&mut self, at: Time) {
        let place = self.free.iter().rposition(|earlier| *earlier <= at).map_or(0, |last| last + 1);
        self.free.insert(place, at);
        debug_assert!(self.free.len() <= self.total as usize, "an entry came back that nobody held");
    }

    /// Gives the entry that is free first to the next waiter. Returns the waiter and the time at which the entry is free.
    pub fn serve(&mut self) -> Option<(Q::Waiter, Time)> {
        let at = *self.free.front()?;
        let waiter = self.waiting.pop()?;
        self.free.pop_front();
        Some((waiter, at))
    }

    /// Whether an entry is free at `at`, and nobody waits.
    #[inline]
    #[must_use]
    pub fn has_room(&self, at: Time) -> bool {
        self.waiting.is_empty() && self.free.front().is_some_and(|free| *free <= at)
    }

    /// Whether half of the entries are free at `at`, and nobody waits.
    #[inline]
    #[must_use]
    pub fn is_half_free(&self, at: Time) -> bool {
        let half = self.total.div_ceil(2) as usize;
        self.waiting.is_empty() && self.free.get(half - 1).is_some_and(|free| *free <= at)
    }

    #[must_use]
    pub fn anyone_waits(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Number of entries whose return is not known.
    #[must_use]
    pub fn held(&self) -> u32 {
        self.total - self.free.len() as u32
    }

    #[must_use]
    pub fn waits(&self) -> u64 {
        self.waits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_the_entries_are_free_as_long_as_no_more_are_held() {
        let mut buffers: Slots<VecDeque<()>> = Slots::new(3);
        assert!(buffers.is_half_free(Time::ZERO));
        buffers.take(Time::ZERO);
        assert!(buffers.is_half_free(Time::ZERO));
        buffers.take(Time::ZERO);
        assert!(!buffers.is_half_free(Time::ZERO));
        // One comes back at 4 ns.
        buffers.give_back(Time::from_ns(4));
        assert!(!buffers.is_half_free(Time::from_ns(3)) && buffers.is_half_free(Time::from_ns(4)));
    }

    #[test]
    fn a_buffer_whose_return_is_known_is_lent_from_then_on() {
        let mut buffers = Slots::new(2);
        assert_eq!(buffers.take(Time::from_ns(5)), Some(Time::from_ns(5)));
        buffers.give_back(Time::from_ns(9));
        assert_eq!(buffers.take(Time::from_ns(6)), Some(Time::from_ns(6)));
        assert_eq!(buffers.take(Time::from_ns(6)), Some(Time::from_ns(9)));
        // Misses hold both entries, so a new one waits in order, whatever comes back.
        assert_eq!(buffers.take(Time::from_ns(7)), None);
        buffers.wait('a');
        buffers.wait('b');
        assert_eq!((buffers.held(), buffers.serve()), (2, None));
        buffers.give_back(Time::from_ns(20));
        assert_eq!(buffers.take(Time::from_ns(30)), None);
        assert_eq!(buffers.serve(), Some(('a', Time::from_ns(20))));
        assert_eq!((buffers.serve(), buffers.waits()), (None, 2));
    }
}
