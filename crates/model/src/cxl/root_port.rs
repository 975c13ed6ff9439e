//! The root port: a FIFO of requests towards the link, and reserved places for their responses.
//!
//! ```text
//!   home agent -> waiting -> [request FIFO entry until the message is on the wire] -> M2S
//!                            [response FIFO entry until the line is at home      ] <- S2M, reads alone
//! ```
//!
//! A read is admitted when it has both entries, as CXL-DMSim's bridge does it: it reserves the place of the line
//! before it sends the request on. The response FIFO so bounds the reads in flight, and DevLoad may bound reads and
//! writes further. A write needs no place: its NDR brings no data, and gem5's bridge reserves none for a packet that
//! needs no response, which a write-back does not. All are admitted in their order.
//!
//! Source: CXL-DMSim, III-C, figures 5 and 6, table III; the reservation: its src/mem/bridge.cc, recvTimingReq.

use std::collections::VecDeque;

use cxlab_kernel::Time;
use serde::{Deserialize, Serialize};

use super::dev_load::Throttle;
use super::entries::Entries;
use super::{AccessKind, CxlError, DevLoad, Occupied, RootPortStats, Tag, ThrottleSpec};
use crate::config::Sourced;

/// The host's end of a link.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RootPortSpec {
    /// through the bridge, each way [ns]
    pub bridge_latency: Sourced<Time>,
    /// CXL.mem protocol processing of the host, each way [ns]
    pub protocol_latency: Sourced<Time>,
    /// requests between the home agent and the wire [requests]
    pub request_fifo: Sourced<u32>,
    /// reads whose line is not yet back at home [requests]
    pub response_fifo: Sourced<u32>,
    /// S2M DRS that the link's receive buffer holds [messages]
    pub drs_credits: Sourced<u32>,
    /// S2M NDR that the link's receive buffer holds [messages]
    pub ndr_credits: Sourced<u32>,
}

impl RootPortSpec {
    /// Bridge and protocol, one way.
    #[must_use]
    pub fn latency(&self) -> Time {
        *self.bridge_latency + *self.protocol_latency
    }

    pub(super) fn check(&self) -> Result<(), CxlError> {
        super::error::not_zero(&[
            ("root_port.request_fifo", *self.request_fifo),
            ("root_port.response_fifo", *self.response_fifo),
            ("root_port.drs_credits", *self.drs_credits),
            ("root_port.ndr_credits", *self.ndr_credits),
        ])
    }
}

/// State of the FIFOs and of those who wait for them.
#[derive(Debug)]
pub struct RootPort {
    requests: Entries,
    responses: Entries,
    /// bounded by the throttle alone; each comes back with the load that its response reported
    in_flight: Entries<DevLoad>,
    throttle: Throttle,
    waiting: VecDeque<(Tag, AccessKind)>,
    /// a wake that is scheduled [ps]
    woken: Option<Time>,
    pub stats: RootPortStats,
}

impl RootPort {
    pub fn new(spec: &RootPortSpec, throttle: Option<&ThrottleSpec>) -> RootPort {
        RootPort {
            requests: Entries::new(*spec.request_fifo),
            responses: Entries::new(*spec.response_fifo),
            in_flight: Entries::unbounded(),
            throttle: Throttle::new(throttle, *spec.response_fifo),
            waiting: VecDeque::new(),
            woken: None,
            stats: RootPortStats::default(),
        }
    }

    pub fn join(&mut self, tag: Tag, kind: AccessKind) {
        self.stats.requests.increment();
        self.waiting.push_back((tag, kind));
    }

    /// Admit the first that waits, if there are entries for it.
    pub fn admit(&mut self, now: Time) -> Option<Tag> {
        self.settle(now);
        let (tag, kind) = *self.waiting.front()?;
        let no_place = kind == AccessKind::Read && self.responses.free() == 0;
        if no_place || self.throttled() || !self.requests.take() {
            return None;
        }
        if kind == AccessKind::Read {
            self.responses.take();
        }
        self.in_flight.take();
        self.waiting.pop_front();
        Some(tag)
    }

    /// The message is on the wire at `at`.
    pub fn request_sent(&mut self, at: Time) {
        self.requests.give_back(at, ());
    }

    fn throttled(&self) -> bool {
        self.throttle.limit().is_some_and(|limit| self.in_flight.used() >= limit)
    }

    /// The response is back at the home agent at `at`.
    pub fn response_done(&mut self, at: Time, kind: AccessKind, load: DevLoad) {
        if kind == AccessKind::Read {
            self.responses.give_back(at, ());
        }
        self.in_flight.give_back(at, load);
    }

    /// When to try again for the first that waits, if that is known and no wake is on its way.
    pub fn next_wake(&mut self, now: Time) -> Option<Time> {
        let (_, kind) = *self.waiting.front()?;
        let mut at = now;
        if self.requests.free() == 0 {
            at = at.max(self.requests.next_return()?);
        }
        if kind == AccessKind::Read && self.responses.free() == 0 {
            at = at.max(self.responses.next_return()?);
        }
        if self.throttled() {
            at = at.max(self.in_flight.next_return()?);
        }
        let sooner = self.woken.is_none_or(|woken| woken <= now || at < woken);
        sooner.then(|| *self.woken.insert(at))
    }

    /// Request FIFO, and response FIFO with those who wait for either.
    pub fn occupied(&self, now: Time) -> (Occupied, Occupied) {
        let requests = Occupied { used: self.requests.used_at(now), waiting: 0 };
        let waiting = self.waiting.len() as u32;
        (requests, Occupied { used: self.responses.used_at(now), waiting })
    }

    fn settle(&mut self, now: Time) {
        self.requests.settle(now, |()| {});
        self.responses.settle(now, |()| {});
        let (throttle, stats) = (&mut self.throttle, &mut self.stats);
        self.in_flight.settle(now, |load| {
            if throttle.observe(now, load) {
                stats.throttled.increment();
            }
        });
    }
}
