//! Arrivals of requests in an open loop: they come whether or not the server keeps up.
//!
//! Arrivals are Poisson, as many independent clients make them. The latency of a request runs from its arrival.

use cxlab_kernel::{Stream, Time};

/// Requests that come at random, at a mean rate.
#[derive(Clone, Debug)]
pub struct Arrivals {
    random: Stream,
    /// mean time between two requests `[ps]`
    mean_ps: f64,
    next: Time,
}

impl Arrivals {
    /// `rate` in requests a second.
    #[must_use]
    pub fn poisson(rate: f64, random: Stream) -> Arrivals {
        let mut arrivals = Arrivals { random, mean_ps: 1e12 / rate, next: Time::ZERO };
        arrivals.take();
        arrivals
    }

    /// When the next request arrives.
    #[must_use]
    pub fn next(&self) -> Time {
        self.next
    }

    /// Take the request: when it arrived.
    pub fn take(&mut self) -> Time {
        let arrived = self.next;
        // Inverse of the exponential distribution; unit() is below 1.
        let span = -(1.0 - self.random.unit()).ln() * self.mean_ps;
        self.next = arrived + Time::from_ps(span as u64);
        arrived
    }
}
