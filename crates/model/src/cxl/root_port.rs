//! The root port: a FIFO of requests towards the link, and reserved places for their responses.
//!
//! ```text
//!   home agent -> waiting -> [request FIFO entry until the message is on the wire] -> M2S
//!                            [response FIFO entry until the response is at home  ] <- S2M
//! ```
//!
//! A request is admitted when it has both entries, as CXL-DMSim's bridge does it: it reserves the place of the
//! response before it sends the request on. The response FIFO so bounds the requests in flight, and DevLoad may
//! bound them further.
//!
//! Source: CXL-DMSim, III-C, figures 5 and 6, table III; the reservation: its src/mem/bridge.cc, recvTimingReq.

use std::collections::VecDeque;

use cxlab_kernel::Time;
use serde::{Deserialize, Serialize};

use super::dev_load::Throttle;
use super::entries::Entries;
use super::{CxlError, DevLoad, Occupied, RootPortStats, Tag, ThrottleSpec};
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
    /// requests whose response is not yet back at home [requests]
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
    /// an entry comes back with the load that its response reported
    responses: Entries<DevLoad>,
    throttle: Throttle,
    waiting: VecDeque<Tag>,
    /// a wake that is scheduled [ps]
    woken: Option<Time>,
    pub stats: RootPortStats,
}

impl RootPort {
    pub fn new(spec: &RootPortSpec, throttle: Option<&ThrottleSpec>) -> RootPort {
        RootPort {
            requests: Entries::new(*spec.request_fifo),
            responses: Entries::new(*spec.response_fifo),
            throttle: Throttle::new(throttle, *spec.response_fifo),
            waiting: VecDeque::new(),
            woken: None,
            stats: RootPortStats::default(),
        }
    }

    pub fn join(&mut self, tag: Tag) {
        self.stats.requests.increment();
        self.waiting.push_back(tag);
    }

    /// Admit the first that waits, if there are entries for it.
    pub fn admit(&mut self, now: Time) -> Option<Tag> {
        self.settle(now);
        let tag = *self.waiting.front()?;
        if self.responses.used() >= self.throttle.limit() || !self.requests.take() {
            return None;
        }
        assert!(self.responses.take(), "the limit is at most the number of entries");
        self.waiting.pop_front();
        Some(tag)
    }

    /// The message is on the wire at `at`.
    pub fn request_sent(&mut self, at: Time) {
        self.requests.give_back(at, ());
    }

    /// The response is back at the home agent at `at`.
    pub fn response_done(&mut self, at: Time, load: DevLoad) {
        self.responses.give_back(at, load);
    }

    /// When to try again for the first that waits, if that is known and no wake is on its way.
    pub fn next_wake(&mut self, now: Time) -> Option<Time> {
        self.waiting.front()?;
        let mut at = now;
        if self.requests.free() == 0 {
            at = at.max(self.requests.next_return()?);
        }
        if self.responses.used() >= self.throttle.limit() {
            at = at.max(self.responses.next_return()?);
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
        let (throttle, stats) = (&mut self.throttle, &mut self.stats);
        self.responses.settle(now, |load| {
            if throttle.observe(now, load) {
                stats.throttled.increment();
            }
        });
    }
}
