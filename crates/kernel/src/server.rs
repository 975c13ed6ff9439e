//! A server serves one customer at a time, first come first served. Its time can be reserved ahead.
//!
//! ```text
//!   arrivals (in time order) ->  [ waiting ... | busy ]  -> departures
//! ```
//!
//! A wire, a port, a tag pipeline, one direction of a link. Reserving ahead is sound only where arrivals come
//! in time order; where several ways join, the arrival is an event. A run whose callers break this fails (`order`).

use crate::{Time, order};

/// When a thing that serves in order is free again.
#[derive(Clone, Copy, Debug, Default)]
pub struct Server {
    /// end of the last reservation `[ps]`
    free_at: Time,
    /// sum of all reservations `[ps]`, for utilisation
    busy: Time,
    /// arrival of the last customer `[ps]`, to check the order
    arrived: Time,
}

impl Server {
    /// Reserve `busy` from `now` on, or from when the server is free: the start of service.
    pub fn reserve(&mut self, now: Time, busy: Time) -> Time {
        if now < self.arrived {
            order::violated("a customer of a server", self.arrived.as_ps(), now.as_ps());
        }
        self.arrived = now;
        let start = now.max(self.free_at);
        self.free_at = start + busy;
        self.busy += busy;
        start
    }

    /// When the last reservation ends.
    #[must_use]
    pub fn free_at(&self) -> Time {
        self.free_at
    }

    /// Nobody needs what is reserved: it is free for the next customer.
    pub fn release(&mut self) {
        self.free_at = self.arrived;
    }

    /// Let the sum of reservations begin here.
    pub fn clear_busy(&mut self) {
        self.busy = Time::ZERO;
    }

    /// Time reserved so far; over the elapsed time it is the utilisation.
    #[must_use]
    pub fn busy(&self) -> Time {
        self.busy
    }
}
