//! The event queue: what happens next, totally ordered by (time, sequence).
//!
//! Two events at one instant happen in the order in which they were scheduled, so the same inputs give the
//! same bits. The past cannot be scheduled: that is a bug of the model, found by an assertion.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use crate::Time;

/// Events of kind `E`, and the present.
#[derive(Debug)]
pub struct EventQueue<E> {
    heap: BinaryHeap<Entry<E>>,
    /// time of the last event taken, the present
    now: Time,
    /// events ever scheduled, breaks ties
    sequence: u64,
}

#[derive(Debug)]
struct Entry<E> {
    at: Time,
    sequence: u64,
    event: E,
}

impl<E: Copy> EventQueue<E> {
    #[must_use]
    pub fn new() -> Self {
        EventQueue { heap: BinaryHeap::with_capacity(256), now: Time::ZERO, sequence: 0 }
    }

    /// The time of the last event taken.
    #[must_use]
    pub fn now(&self) -> Time {
        self.now
    }

    /// The time of the next event, if there is one.
    #[must_use]
    pub fn next_at(&self) -> Option<Time> {
        self.heap.peek().map(|entry| entry.at)
    }

    /// Let `event` happen `at` a time that has not passed.
    pub fn schedule(&mut self, at: Time, event: E) {
        assert!(at >= self.now, "an event at {at} was scheduled when {} had come", self.now);
        self.sequence += 1;
        self.heap.push(Entry { at, sequence: self.sequence, event });
    }

    /// Take the next event; the present moves to its time.
    pub fn pop(&mut self) -> Option<(Time, E)> {
        let entry = self.heap.pop()?;
        self.now = entry.at;
        Some((entry.at, entry.event))
    }

    #[must_use]
    pub fn len(&self) -> usize {
        self.heap.len()
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.heap.is_empty()
    }
}

impl<E: Copy> Default for EventQueue<E> {
    fn default() -> Self {
        Self::new()
    }
}

impl<E> Entry<E> {
    #[inline]
    fn key(&self) -> u128 {
        u128::from(self.at.as_ps()) << 64 | u128::from(self.sequence)
    }
}

impl<E> Ord for Entry<E> {
    // Reversed: the heap keeps its greatest on top, the queue wants the earliest.
    fn cmp(&self, other: &Self) -> Ordering {
        other.key().cmp(&self.key())
    }
}

impl<E> PartialOrd for Entry<E> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }

    // All that the heap asks for: one comparison of 128 bits, and no branch to foresee.
    #[inline]
    fn le(&self, other: &Self) -> bool {
        other.key() <= self.key()
    }
}

impl<E> PartialEq for Entry<E> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl<E> Eq for Entry<E> {}
