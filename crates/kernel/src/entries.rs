//! Entries of a buffer whose return may be known ahead.
//!
//! ```text
//!   take --> [ entries ] --return known----> lent again from then on, without an event
//!               |        --return unknown--> lent again when it comes
//!               '-- none left
//! ```
//!
//! It does not say who waits: see [`crate::Slots`] and [`crate::Turns`].

use std::collections::VecDeque;

use crate::Time;

/// The entries that nobody holds for an unknown time.
#[derive(Debug)]
pub struct Entries {
    total: u32,
    /// when each entry whose return is known is free [ps], the earliest first
    free: VecDeque<Time>,
}

impl Entries {
    #[must_use]
    pub fn new(total: u32) -> Entries {
        Entries { total, free: std::iter::repeat_n(Time::ZERO, total as usize).collect() }
    }

    /// Take the entry that is free first, for what is ready at `at`: since when it is the caller's; `None` if no return is known.
    #[inline]
    pub fn take(&mut self, at: Time) -> Option<Time> {
        self.free.pop_front().map(|free| free.max(at))
    }

    /// An entry is free from `at` on.
    #[inline]
    pub fn give_back(&mut self, at: Time) {
        let place = self.free.iter().rposition(|earlier| *earlier <= at).map_or(0, |last| last + 1);
        self.free.insert(place, at);
        debug_assert!(self.free.len() <= self.total as usize, "an entry came back that nobody held");
    }

    /// Whether one is free at `at`.
    #[inline]
    #[must_use]
    pub fn has_free(&self, at: Time) -> bool {
        self.free.front().is_some_and(|free| *free <= at)
    }

    /// Entries whose return is not known.
    #[must_use]
    pub fn held(&self) -> u32 {
        self.total - self.free.len() as u32
    }
}
