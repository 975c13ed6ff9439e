//! Entries of a buffer. The time at which an entry returns may be known ahead.
//!
//! ```text
//!   take --> [ entries ] --return known----> lent again from then on, without an event
//!               |        --return unknown--> lent again when it comes
//!               '-- none left: wait in order
//! ```
//!
//! Nobody waits while an entry is about to return: who is first has it from then on.

use std::collections::VecDeque;

use crate::Time;

/// The entries, and who waits for one.
#[derive(Debug)]
pub struct Slots<W> {
    total: u32,
    /// when each entry whose return is known is free [ps], the earliest first
    free: VecDeque<Time>,
    waiting: VecDeque<W>,
    /// who found none [events]
    waits: u64,
}

impl<W> Slots<W> {
    #[must_use]
    pub fn new(total: u32) -> Slots<W> {
        let free = std::iter::repeat_n(Time::ZERO, total as usize).collect();
        Slots { total, free, waiting: VecDeque::new(), waits: 0 }
    }

    /// Take an entry for what is ready at `at`: since when it is the caller's; `None` if it has to wait behind others.
    #[inline]
    pub fn take(&mut self, at: Time) -> Option<Time> {
        if !self.waiting.is_empty() {
            return None;
        }
        self.free.pop_front().map(|free| free.max(at))
    }

    /// Adds a waiter that found no free slot.
    pub fn wait(&mut self, waiter: W) {
        self.waits += 1;
        self.waiting.push_back(waiter);
    }

    /// An entry is free from `at` on.
    #[inline]
    pub fn give_back(&mut self, at: Time) {
        let place = self.free.iter().rposition(|earlier| *earlier <= at).map_or(0, |last| last + 1);
        self.free.insert(place, at);
        debug_assert!(self.free.len() <= self.total as usize, "an entry came back that nobody held");
    }

    /// The next who waits, with the entry that is free first, and since when.
    pub fn serve(&mut self) -> Option<(W, Time)> {
        let at = *self.free.front()?;
        let waiter = self.waiting.pop_front()?;
        self.free.pop_front();
        Some((waiter, at))
    }

    /// Whether an entry is free at `at`, and nobody waits.
    #[inline]
    #[must_use]
    pub fn has_room(&self, at: Time) -> bool {
        self.waiting.is_empty() && self.free.front().is_some_and(|free| *free <= at)
    }

    #[must_use]
    pub fn anyone_waits(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Entries whose return is not known.
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
    fn a_buffer_whose_return_is_known_is_lent_from_then_on() {
        let mut buffers = Slots::new(2);
        assert_eq!(buffers.take(Time::from_ns(5)), Some(Time::from_ns(5)));
        buffers.give_back(Time::from_ns(9));
        assert_eq!(buffers.take(Time::from_ns(6)), Some(Time::from_ns(6)));
        assert_eq!(buffers.take(Time::from_ns(6)), Some(Time::from_ns(9)));
        // Both are held by misses: who comes waits in order, whatever comes back.
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
