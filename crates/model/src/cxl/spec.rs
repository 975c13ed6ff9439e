//! The description of one CXL path, as a device file has it: immutable, with units, each figure with its source.
//!
//! ```text
//!   [root_port]  FIFO depths, bridge and protocol latency, S2M credits       -> root_port.rs
//!   [link]       lanes, rate, encoding, flight, error rate, packing          -> flit.rs, wire.rs
//!   [device]     protocol latency, M2S credits, queues, DevLoad              -> device.rs
//!   [throttle]   the host's reaction to DevLoad, if it has one               -> dev_load.rs
//!   [rated]      what the vendor states, held against the link's slots
//! ```
//!
//! `link.wire_time` says where the time of flits on the wire stands. Latencies that were measured end to end
//! contain the unloaded wire time of each message: `"within"` takes it off the receiving side's latency (the
//! device's for M2S, the host's for S2M), so that the unloaded path is exactly the sum of the stated latencies,
//! and queueing on the wire comes on top. `"on top"` adds it: for latencies that are of the logic alone.

use std::path::Path;

use cxlab_kernel::{Bytes, Time};
use serde::{Deserialize, Serialize};

use super::wire::Wire;
use super::{
    AccessKind, Class, CxlError, DeviceSpec, Encoding, FlitClock, Lanes, LinkRate, PackingSpec, RootPortSpec, Stage,
    ThrottleSpec,
};
use crate::config::Sourced;

/// Root port, link and type-3 device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExpanderSpec {
    /// the model's name; devices of one name are equal
    pub name: String,
    /// what it is, for people
    pub description: String,
    pub root_port: RootPortSpec,
    pub link: LinkSpec,
    pub device: DeviceSpec,
    pub throttle: Option<ThrottleSpec>,
    pub rated: Option<RatedSpec>,
}

/// Both directions of the link: equal wires.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinkSpec {
    /// x4, x8, x16
    pub lanes: Sourced<Lanes>,
    /// 16 or 32 GT/s
    pub rate: Sourced<LinkRate>,
    /// 128b/130b, or sync header bypass
    pub encoding: Sourced<Encoding>,
    /// traces, connectors, retimers, one way [ns]
    pub flight: Sourced<Time>,
    /// where the unloaded wire time stands: within the latencies, or on top
    pub wire_time: Sourced<WireTime>,
    /// probability that a bit is wrong on arrival [0..1]
    pub bit_error_rate: Sourced<f64>,
    /// from the end of a flit that failed its CRC to the start of its replay [ns]
    pub retry_latency: Sourced<Time>,
    pub packing: PackingSpec,
}

/// Where the unloaded wire time stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum WireTime {
    /// inside the receiving side's latency: that was measured end to end
    #[serde(rename = "within")]
    Within,
    /// beside the latencies: those are of the logic alone
    #[serde(rename = "on top")]
    OnTop,
}

/// A bandwidth that the vendor states for a mix.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RatedSpec {
    pub bandwidth: Sourced<cxlab_kernel::Bandwidth>,
    /// lines read in the mix
    pub reads: u32,
    /// lines written in the mix
    pub writes: u32,
}

impl LinkSpec {
    /// How long a flit is on either wire.
    #[must_use]
    pub fn flit_clock(&self) -> FlitClock {
        FlitClock::new(*self.lanes, *self.rate, *self.encoding)
    }

    /// Unloaded time from the first slot's start to the last slot's arrival: flits and flight.
    #[must_use]
    pub fn unloaded(&self, class: Class) -> Time {
        Wire::unloaded(self.flit_clock(), class) + *self.flight
    }

    /// What of a receiver's `latency` follows the arrival of a message of `class`.
    pub(super) fn after_arrival(&self, latency: Time, class: Class) -> Time {
        match *self.wire_time {
            WireTime::Within => latency - self.unloaded(class),
            WireTime::OnTop => latency,
        }
    }

    /// The most that the slots carry of `reads` and `writes` in that ratio [bytes/s], without errors.
    ///
    /// # Errors
    /// `CXL008` where the mix is empty.
    pub fn bound(&self, reads: u32, writes: u32) -> Result<f64, CxlError> {
        if reads == 0 && writes == 0 {
            return Err(CxlError::EmptyMix);
        }
        let (reads, writes) = (f64::from(reads), f64::from(writes));
        let packing = &self.packing;
        let drs_headers = reads / f64::from(*packing.drs_per_header);
        let ndr_alone = (writes - drs_headers * f64::from(*packing.ndr_with_drs)).max(0.0);
        let m2s_slots = reads + 5.0 * writes;
        let s2m_slots = 4.0 * reads + drs_headers + ndr_alone / f64::from(*packing.ndr_per_header);
        let slot_seconds = self.flit_clock().flits(1_000_000).as_seconds() / 4e6;
        Ok(64.0 * (reads + writes) / (m2s_slots.max(s2m_slots) * slot_seconds))
    }

    /// Whether the link can be trained to this.
    ///
    /// # Errors
    /// `CXL021` where it is wider or faster than the link.
    pub fn check_retraining(&self, lanes: Lanes, rate: LinkRate) -> Result<(), CxlError> {
        if lanes > *self.lanes || rate > *self.rate {
            let (most_lanes, most_rate) = (self.lanes.count(), self.rate.gt_s());
            let (lanes, rate) = (lanes.count(), rate.gt_s());
            return Err(CxlError::Retraining { lanes, rate, most_lanes, most_rate });
        }
        Ok(())
    }

    fn check(&self) -> Result<(), CxlError> {
        let (key, value) = ("link.bit_error_rate", *self.bit_error_rate);
        // At 1e-4 one flit in 19 fails: no link trains there (PCIe 5.0, chapter 8 asks for 1e-12).
        if !(0.0..1e-4).contains(&value) {
            return Err(CxlError::Share { key, value, below: 1e-4 });
        }
        self.packing.check()
    }
}

impl ExpanderSpec {
    /// Read a device file and check it.
    ///
    /// # Errors
    /// `CXL020` where it cannot be read, with line and valid keys; else what [`ExpanderSpec::check`] finds.
    pub fn read(path: &Path) -> Result<ExpanderSpec, CxlError> {
        let unreadable = |message: String| CxlError::Unreadable { file: path.display().to_string(), message };
        let text = std::fs::read_to_string(path).map_err(|error| unreadable(error.to_string()))?;
        let spec: ExpanderSpec = toml::from_str(&text).map_err(|error| unreadable(error.to_string()))?;
        let in_file = |cause| CxlError::InFile { file: path.display().to_string(), cause: Box::new(cause) };
        spec.check().map_err(in_file)?;
        Ok(spec)
    }

    /// Whether a path like this can exist.
    ///
    /// # Errors
    /// The first rule that is broken, with what is valid.
    pub fn check(&self) -> Result<(), CxlError> {
        self.root_port.check()?;
        self.link.check()?;
        self.device.check()?;
        if let Some(throttle) = &self.throttle {
            throttle.check(*self.root_port.response_fifo)?;
        }
        self.check_wire_fits()?;
        self.check_rated()
    }

    fn check_wire_fits(&self) -> Result<(), CxlError> {
        let wire = self.link.unloaded(Class::request(AccessKind::Write));
        let sides = [
            ("device.protocol_latency", *self.device.protocol_latency),
            ("root_port.bridge_latency + protocol_latency", self.root_port.latency()),
        ];
        for (key, latency) in sides {
            if *self.link.wire_time == WireTime::Within && latency < wire {
                return Err(CxlError::WireLongerThanLatency { key, wire, latency });
            }
        }
        Ok(())
    }

    fn check_rated(&self) -> Result<(), CxlError> {
        let Some(RatedSpec { bandwidth, reads, writes }) = &self.rated else { return Ok(()) };
        let (rated, bound) = (bandwidth.as_gb_s(), self.link.bound(*reads, *writes)? / 1e9);
        if rated > bound {
            return Err(CxlError::FasterThanLanes { rated, bound, reads: *reads, writes: *writes });
        }
        Ok(())
    }

    /// The stages of an access that meets nobody, without the media; their sum is the path's latency.
    #[must_use]
    pub fn unloaded(&self, kind: AccessKind) -> [(Stage, Time); 8] {
        let (request, response) = (Class::request(kind), Class::response(kind));
        let (host, device) = (self.root_port.latency(), *self.device.protocol_latency);
        [
            (Stage::RootPortQueue, Time::ZERO),
            (Stage::HostOut, host),
            (Stage::LinkM2s, self.link.unloaded(request)),
            (Stage::DeviceIn, self.link.after_arrival(device, request)),
            (Stage::DeviceQueue, Time::ZERO),
            (Stage::Media, Time::ZERO),
            (Stage::LinkS2m, device + self.link.unloaded(response)),
            (Stage::HostIn, self.link.after_arrival(host, response)),
        ]
    }

    /// Bytes of host-managed memory behind the device.
    #[must_use]
    pub fn capacity(&self) -> Bytes {
        *self.device.capacity
    }
}
