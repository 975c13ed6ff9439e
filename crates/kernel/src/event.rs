//! The event queue: events in a total order by (time, sequence).
//!
//! ```text
//!   less than about 2 us ahead   wheel.rs, a slot of time each
//!   further ahead                a heap; such events are few: refreshes, timers, sync points
//! ```
//!
//! Two events at one instant happen in the order in which they were scheduled, so the same inputs give the
//! same bits. The past cannot be scheduled: that is a bug of the model, found by an assertion.

mod wheel;

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use crate::Time;
use wheel::{Slot, Wheel};

/// Events of kind `E`, and the present.
#[derive(Clone, Debug)]
pub struct EventQueue<E> {
    near: Wheel<E>,
    far: BinaryHeap<Entry<E>>,
    next: Option<Next>,
    /// time of the last event taken, the present
    now: Time,
    /// far events ever scheduled, breaks ties
    sequence: u64,
}

/// The next event: when it is, and where.
#[derive(Clone, Copy, Debug)]
struct Next {
    at: Time,
    /// `None`: it is the top of the heap
    slot: Option<Slot>,
}

/// An event that is too far ahead for the wheel.
#[derive(Clone, Debug)]
struct Entry<E> {
    at: Time,
    sequence: u64,
    event: E,
}

impl<E: Copy> EventQueue<E> {
    #[must_use]
    pub fn new() -> Self {
        EventQueue { near: Wheel::new(), far: BinaryHeap::new(), next: None, now: Time::ZERO, sequence: 0 }
    }

    /// The time of the last event taken.
    #[must_use]
    pub fn now(&self) -> Time {
        self.now
    }

    /// The time of the next event, if there is one.
    #[inline]
    #[must_use]
    pub fn next_at(&self) -> Option<Time> {
        self.next.map(|next| next.at)
    }

    /// The next event, if there is one, without taking it.
    #[inline]
    #[must_use]
    pub fn next(&self) -> Option<E> {
        match self.next?.slot {
            Some(slot) => Some(self.near.first_of(slot)),
            None => self.far.peek().map(|entry| entry.event),
        }
    }

    /// Let `event` happen `at` a time that has not passed.
    #[inline]
    pub fn schedule(&mut self, at: Time, event: E) {
        if at < self.now {
            in_the_past(at, self.now);
        }
        let slot = Wheel::<E>::slot(self.now, at);
        match slot {
            Some(slot) => self.near.insert(slot, at, event),
            None => self.schedule_far(at, event),
        }
        if self.next.is_none_or(|next| at < next.at) {
            self.next = Some(Next { at, slot });
        }
    }

    #[cold]
    #[inline(never)]
    fn schedule_far(&mut self, at: Time, event: E) {
        self.sequence += 1;
        self.far.push(Entry { at, sequence: self.sequence, event });
    }

    /// Take the next event; the present moves to its time.
    #[inline]
    pub fn pop(&mut self) -> Option<(Time, E)> {
        let taken = match self.next?.slot {
            Some(slot) => self.near.take(slot),
            None => self.far.pop().map(|entry| (entry.at, entry.event))?,
        };
        self.now = taken.0;
        self.next = self.find_next();
        Some(taken)
    }

    /// If a near and a far event are due at one instant, the far one was scheduled first, when it was still far.
    #[inline]
    fn find_next(&self) -> Option<Next> {
        let near = self.near.first(self.now).map(|slot| (slot, self.near.head(slot)));
        match (near, self.far.peek()) {
            (Some((slot, at)), far) if far.is_none_or(|far| at < far.at) => Some(Next { at, slot: Some(slot) }),
            (_, far) => far.map(|entry| Next { at: entry.at, slot: None }),
        }
    }

    /// All events that are ahead, in no order.
    pub fn iter(&self) -> impl Iterator<Item = &E> {
        self.near.iter().chain(self.far.iter().map(|entry| &entry.event))
    }

    #[must_use]
    pub fn len(&self) -> usize {
        self.near.len() + self.far.len()
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.next.is_none()
    }
}

impl<E: Copy> Default for EventQueue<E> {
    fn default() -> Self {
        Self::new()
    }
}

#[cold]
#[inline(never)]
fn in_the_past(at: Time, now: Time) -> ! {
    panic!("an event at {at} was scheduled when {now} had come")
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
