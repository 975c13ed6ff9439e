//! Entries of a buffer. The time at which an entry returns may be known ahead.
//!
//! ```text
//!   take --> [ entries ] --return known----> lent again from then on, without an event
//!               |        --return unknown--> lent again when it comes
//!               '-- none left
//! ```
//!
//! Waiters are kept elsewhere: see [`crate::Slots`] and [`crate::Turns`].

use std::collections::VecDeque;

use crate::Time;

/// The entries, apart from those that are held for an unknown time.
#[derive(Debug)]
pub struct Entries {
    total: u32,
    /// the time at which each entry with a known return is free [ps], the earliest first
    free: VecDeque<Time>,
}

impl Entries {
    #[must_use]
    pub fn new(total: u32) -> Entries {
        Entries { total, free: std::iter::repeat_n(Time::ZERO, total as usize).collect() }
    }

    /// Takes the entry that is free first, for a request that is ready at `at`. Returns when the caller has it. `None`
    /// if no return is known.
    #[inline]
    pub fn take(&mut self, at: Time) -> Option<Time> {
        self.free.pop_front().map(|free| free.max(at))
    }

    /// Returns an entry, which is free from `at` on.
    #[inline]
    pub fn give_back(&mut self, at: Time) {
        let place = self.free.iter().rposition(|earlier| *earlier <= at).map_or(0, |last| last + 1);
        self.free.insert(place, at);
        debug_assert!(self.free.len() <= self.total as usize, "an entry came back that nobody held");
    }

    /// Whether an entry is free at `at`.
    #[inline]
    #[must_use]
    pub fn has_free(&self, at: Time) -> bool {
        self.free.front().is_some_and(|free| *free <= at)
    }

    /// Number of entries whose return is not known.
    #[must_use]
    pub fn held(&self) -> u32 {
        self.total - self.free.len() as u32
    }
}
