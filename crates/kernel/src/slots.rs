//! Entries of a buffer, and a FIFO of waiters for one.
//!
//! Nobody waits for an entry with a known return: the first in line has it from then on.

use std::collections::VecDeque;

use crate::Time;
use crate::entries::Entries;

/// Entries and their waiters.
#[derive(Debug)]
pub struct Slots<W> {
    entries: Entries,
    waiting: VecDeque<W>,
    /// requests that found no entry [events]
    waits: u64,
}

impl<W> Slots<W> {
    #[must_use]
    pub fn new(total: u32) -> Slots<W> {
        Slots { entries: Entries::new(total), waiting: VecDeque::new(), waits: 0 }
    }

    /// Takes an entry for a request that is ready at `at`. Returns when the caller has it. `None` if it must wait
    /// behind others.
    #[inline]
    pub fn take(&mut self, at: Time) -> Option<Time> {
        if self.waiting.is_empty() { self.entries.take(at) } else { None }
    }

    /// Adds a waiter that found no free entry.
    pub fn wait(&mut self, waiter: W) {
        self.waits += 1;
        self.waiting.push_back(waiter);
    }

    /// Returns an entry, which is free from `at` on.
    #[inline]
    pub fn give_back(&mut self, at: Time) {
        self.entries.give_back(at);
    }

    /// Serves the next waiter with the entry that is free first. Returns the waiter and the time from which it has the
    /// entry.
    pub fn serve(&mut self) -> Option<(W, Time)> {
        if self.waiting.is_empty() {
            return None;
        }
        let at = self.entries.take(Time::ZERO)?;
        self.waiting.pop_front().map(|waiter| (waiter, at))
    }

    /// Whether an entry is free at `at` and nobody waits.
    #[inline]
    #[must_use]
    pub fn has_room(&self, at: Time) -> bool {
        self.waiting.is_empty() && self.entries.has_free(at)
    }

    #[must_use]
    pub fn anyone_waits(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Number of entries whose return is not known.
    #[must_use]
    pub fn held(&self) -> u32 {
        self.entries.held()
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
