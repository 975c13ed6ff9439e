//! The front end of a type-3 device: protocol, queues towards the media, responses towards the host.
//!
//! ```text
//!   M2S -> [receive buffer: credits] -protocol-> [read queue | write queue] -> media
//!   S2M <- [root port's buffer: credits] <- packer <- protocol <- [the entry is held until here]
//! ```
//!
//! When a request has an entry of its queue, it leaves the receive buffer, and its credit goes back. It holds the
//! entry until its response is on the wire. A host that cannot take responses so fills the queues, and full queues
//! keep the credits back.
//!
//! Not modelled: writes are complete when the media says so; whether that is early is the media's affair.

use cxlab_kernel::{Bytes, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::stats::DeviceStats;
use crate::cxl::{ByKind, CxlError, DevLoad, DevLoadSpec, Gate, Thresholds, not_zero};
use crate::fact::Sourced;
use crate::mem::AccessKind;

/// A type-3 device without its media.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeviceSpec {
    /// host-managed device memory `[bytes]`
    pub capacity: Sourced<Bytes>,
    /// CXL.mem protocol processing of the device, each way `[ns]`
    pub protocol_latency: Sourced<Time>,
    /// M2S Req that the receive buffer holds `[messages]`
    pub req_credits: Sourced<u32>,
    /// M2S RwD that the receive buffer holds `[messages]`
    pub rwd_credits: Sourced<u32>,
    /// reads in the media or with a response to send `[requests]`
    pub read_queue: Sourced<u32>,
    /// writes in the media or with a response to send `[requests]`
    pub write_queue: Sourced<u32>,
    pub dev_load: DevLoadSpec,
}

impl DeviceSpec {
    pub(super) fn check(&self) -> Result<(), CxlError> {
        if *self.capacity == Bytes::ZERO {
            return Err(CxlError::Zero { key: "device.capacity" });
        }
        not_zero(&[
            ("device.req_credits", *self.req_credits),
            ("device.rwd_credits", *self.rwd_credits),
            ("device.read_queue", *self.read_queue),
            ("device.write_queue", *self.write_queue),
        ])?;
        self.dev_load.check()
    }
}

/// State of the protocol and the queues.
#[derive(Clone, Debug)]
pub struct Device {
    /// protocol, each way
    pub latency: Time,
    pub queues: ByKind<Gate>,
    thresholds: ByKind<Thresholds>,
    pub stats: DeviceStats,
}

impl Device {
    pub fn new(spec: &DeviceSpec) -> Device {
        let thresholds = |depth| Thresholds::new(&spec.dev_load, depth);
        Device {
            latency: *spec.protocol_latency,
            queues: ByKind::new(Gate::new(*spec.read_queue), Gate::new(*spec.write_queue)),
            thresholds: ByKind::new(thresholds(*spec.read_queue), thresholds(*spec.write_queue)),
            stats: DeviceStats::default(),
        }
    }

    /// A request is through the protocol; its queue is full or not.
    pub fn received(&mut self, kind: AccessKind, full: bool) {
        let stats = &mut self.stats;
        let (received, queue_full) = match kind {
            AccessKind::Read => (&mut stats.reads, &mut stats.read_queue_full),
            AccessKind::Write => (&mut stats.writes, &mut stats.write_queue_full),
        };
        received.increment();
        queue_full.add(u64::from(full));
    }

    /// The load to report in a response of `kind`, its own request counted.
    pub fn report_load(&mut self, now: Time, kind: AccessKind) -> DevLoad {
        let requests = self.queues.of(kind).requests(now);
        let load = self.thresholds.of(kind).load(requests);
        let stats = &mut self.stats;
        match load {
            DevLoad::Light => stats.light_load.increment(),
            DevLoad::Optimal => stats.optimal_load.increment(),
            DevLoad::ModerateOverload => stats.moderate_overload.increment(),
            DevLoad::SevereOverload => stats.severe_overload.increment(),
        }
        load
    }

    /// A response had to wait for a credit of its class.
    pub fn waited_for_credit(&mut self, kind: AccessKind) {
        match kind {
            AccessKind::Read => self.stats.drs_credit_waits.increment(),
            AccessKind::Write => self.stats.ndr_credit_waits.increment(),
        }
    }

    /// A response was sent at `at`, its request taken in at `reached` and in its queue since `issued`.
    pub fn sent(&mut self, at: Time, kind: AccessKind, reached: Time, issued: Time) {
        self.queues.of(kind).give_back(at);
        self.stats.response_time.record(at - reached);
        let residence = match kind {
            AccessKind::Read => &mut self.stats.read_queue,
            AccessKind::Write => &mut self.stats.write_queue,
        };
        residence.record(at - issued);
    }
}
