//! The root port: a FIFO of requests towards the link, and reserved places for their responses.
//!
//! ```text
//!   home agent -> waiting -> [request FIFO entry until the message is on the wire] -> M2S
//!                            [response FIFO entry until the line is at home      ] <- S2M, reads alone
//! ```
//!
//! A read is admitted when it has both entries. CXL-DMSim's bridge does the same: it reserves the place of the line
//! before it sends the request on. The response FIFO so bounds the reads in flight, and DevLoad may bound reads and
//! writes further. A write needs no place, because its NDR brings no data. gem5's bridge reserves none either for a
//! packet that needs no response, such as a write-back. Reads and writes are classes of their own, Req and RwD, with
//! FIFOs and credits of their own. Neither waits behind the other. Source: CXL 2.0, 3.3.2, channels of CXL.mem are
//! independent. CXL-DMSim's bridge has one FIFO for both.
//!
//! Source: CXL-DMSim, III-C, figures 5 and 6, table III; the reservation: its src/mem/bridge.cc, recvTimingReq.

use std::collections::VecDeque;

use cxlab_kernel::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::stats::RootPortStats;
use crate::cxl::{ByKind, CxlError, DevLoad, Entries, Occupied, Throttle, ThrottleSpec, not_zero};
use crate::fact::Sourced;
use crate::mem::{AccessKind, Tag};

/// The host's end of a link.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RootPortSpec {
    /// through the bridge, each way `[ns]`
    pub bridge_latency: Sourced<Time>,
    /// CXL.mem protocol processing of the host, each way `[ns]`
    pub protocol_latency: Sourced<Time>,
    /// requests of a class between the home agent and the wire `[requests]`
    pub request_fifo: Sourced<u32>,
    /// reads whose line is not yet back at home `[requests]`
    pub response_fifo: Sourced<u32>,
    /// S2M DRS that the link's receive buffer holds `[messages]`
    pub drs_credits: Sourced<u32>,
    /// S2M NDR that the link's receive buffer holds `[messages]`
    pub ndr_credits: Sourced<u32>,
}

impl RootPortSpec {
    /// Bridge and protocol, one way.
    #[must_use]
    pub fn latency(&self) -> Time {
        *self.bridge_latency + *self.protocol_latency
    }

    pub(super) fn check(&self) -> Result<(), CxlError> {
        not_zero(&[
            ("root_port.request_fifo", *self.request_fifo),
            ("root_port.response_fifo", *self.response_fifo),
            ("root_port.drs_credits", *self.drs_credits),
            ("root_port.ndr_credits", *self.ndr_credits),
        ])
    }
}

/// State of the FIFOs and of those who wait for them.
#[derive(Clone, Debug)]
pub struct RootPort {
    /// bridge and protocol, one way
    pub latency: Time,
    requests: ByKind<Entries>,
    responses: Entries,
    /// bounded by the throttle alone; each comes back with the load that its response reported
    in_flight: Entries<DevLoad>,
    throttle: Throttle,
    waiting: ByKind<VecDeque<Tag>>,
    /// a wake that is scheduled `[ps]`
    woken: Option<Time>,
    pub stats: RootPortStats,
}

impl RootPort {
    pub fn new(spec: &RootPortSpec, throttle: Option<&ThrottleSpec>) -> RootPort {
        RootPort {
            latency: spec.latency(),
            requests: ByKind::new(Entries::new(*spec.request_fifo), Entries::new(*spec.request_fifo)),
            responses: Entries::new(*spec.response_fifo),
            in_flight: Entries::unbounded(),
            throttle: Throttle::new(throttle, *spec.response_fifo),
            waiting: ByKind::new(VecDeque::new(), VecDeque::new()),
            woken: None,
            stats: RootPortStats::default(),
        }
    }

    pub fn join(&mut self, tag: Tag, kind: AccessKind) {
        self.stats.requests.increment();
        self.waiting.of(kind).push_back(tag);
    }

    /// Admit one that waits, if there are entries for the first of its class.
    pub fn admit(&mut self, now: Time) -> Option<Tag> {
        self.settle(now);
        if self.throttled() {
            return None;
        }
        [AccessKind::Read, AccessKind::Write].into_iter().find_map(|kind| {
            let tag = *self.waiting.at(kind).front()?;
            let no_place = kind == AccessKind::Read && self.responses.free() == 0;
            if no_place || !self.requests.of(kind).take() {
                return None;
            }
            if kind == AccessKind::Read {
                self.responses.take();
            }
            self.in_flight.take();
            self.waiting.of(kind).pop_front();
            Some(tag)
        })
    }

    /// A message of an access of `kind` has to wait for its credit.
    pub fn waits_for_credit(&mut self, kind: AccessKind) {
        match kind {
            AccessKind::Read => self.stats.req_credit_waits.increment(),
            AccessKind::Write => self.stats.rwd_credit_waits.increment(),
        }
    }

    /// The message is on the wire at `at`.
    pub fn request_sent(&mut self, at: Time, kind: AccessKind) {
        self.requests.of(kind).give_back(at, ());
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

    /// When to try again for those that wait, if that is known and no wake is on its way.
    pub fn next_wake(&mut self, now: Time) -> Option<Time> {
        let kinds = [AccessKind::Read, AccessKind::Write];
        let at = kinds.into_iter().filter_map(|kind| self.next_for(now, kind)).min()?;
        let sooner = self.woken.is_none_or(|woken| woken <= now || at < woken);
        sooner.then(|| *self.woken.insert(at))
    }

    /// When the first of a class may find its entries, if that is known.
    fn next_for(&self, now: Time, kind: AccessKind) -> Option<Time> {
        self.waiting.at(kind).front()?;
        let (mut at, requests) = (now, self.requests.at(kind));
        if requests.free() == 0 {
            at = at.max(requests.next_return()?);
        }
        if kind == AccessKind::Read && self.responses.free() == 0 {
            at = at.max(self.responses.next_return()?);
        }
        if self.throttled() {
            at = at.max(self.in_flight.next_return()?);
        }
        Some(at)
    }

    /// Request FIFOs, and response FIFO with those who wait for either.
    pub fn occupied(&self, now: Time) -> (Occupied, Occupied) {
        let kinds = [AccessKind::Read, AccessKind::Write];
        let requests =
            Occupied { used: kinds.map(|kind| self.requests.at(kind).used_at(now)).iter().sum(), waiting: 0 };
        let waiting = kinds.map(|kind| self.waiting.at(kind).len() as u32).iter().sum();
        (requests, Occupied { used: self.responses.used_at(now), waiting })
    }

    fn settle(&mut self, now: Time) {
        for kind in [AccessKind::Read, AccessKind::Write] {
            self.requests.of(kind).settle(now, |()| {});
        }
        self.responses.settle(now, |()| {});
        let (throttle, stats) = (&mut self.throttle, &mut self.stats);
        self.in_flight.settle(now, |load| {
            if throttle.observe(now, load) {
                stats.throttled.increment();
            }
        });
    }
}
