//! Credits: back-pressure without retries.
//!
//! ```text
//!   take(waiter) --credit left--> Grant::Now
//!                --none left----> Grant::Queued, behind all who wait
//!   give_back()  --someone waits--> Some(waiter), who now has the credit
//!                --nobody---------> None, the credit is free again
//! ```
//!
//! A waiter is woken once and has what it waited for. Credits are conserved: free + held = total, always.

use std::collections::VecDeque;

/// Result of a request for a credit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grant {
    /// the credit is the caller's
    Now,
    /// the caller waits; `give_back` will return it when its turn comes
    Queued,
}

/// A pool of equal credits and the FIFO of those who wait for one.
#[derive(Clone, Debug)]
pub struct Credits<W> {
    total: u32,
    free: u32,
    waiters: VecDeque<W>,
    /// requests that found no credit `[events]`
    full_events: u64,
}

impl<W: Copy> Credits<W> {
    #[must_use]
    pub fn new(total: u32) -> Self {
        Credits { total, free: total, waiters: VecDeque::new(), full_events: 0 }
    }

    /// Take a credit for `waiter`, or queue it.
    pub fn take(&mut self, waiter: W) -> Grant {
        if self.free > 0 {
            self.free -= 1;
            return Grant::Now;
        }
        self.full_events += 1;
        self.waiters.push_back(waiter);
        Grant::Queued
    }

    /// Give one back: the waiter that has it now, if any waited.
    pub fn give_back(&mut self) -> Option<W> {
        if let Some(waiter) = self.waiters.pop_front() {
            return Some(waiter);
        }
        assert!(self.free < self.total, "a credit came back that nobody held");
        self.free += 1;
        None
    }

    /// Credits in use.
    #[must_use]
    pub fn held(&self) -> u32 {
        self.total - self.free
    }

    /// The waiter that is next.
    #[must_use]
    pub fn first_waiter(&self) -> Option<W> {
        self.waiters.front().copied()
    }

    /// The first waiter goes on without a credit: it has found another way.
    pub fn dismiss(&mut self) -> Option<W> {
        self.waiters.pop_front()
    }

    #[must_use]
    pub fn waiting(&self) -> usize {
        self.waiters.len()
    }

    /// Number of requests that found no credit.
    #[must_use]
    pub fn full_events(&self) -> u64 {
        self.full_events
    }
}
