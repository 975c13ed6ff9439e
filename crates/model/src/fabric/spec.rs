//! The description of one CXL path, as a device file has it: immutable, with units, each figure with its source.
//!
//! ```text
//!   [root_port]  FIFO depths, bridge and protocol latency, S2M credits       -> root_port.rs
//!   [link]       lanes, rate, encoding, flight, error rate, packing          -> flit.rs, wire.rs
//!   [device]     protocol latency, M2S credits, queues, DevLoad              -> device.rs
//!   [throttle]   the host's reaction to DevLoad, if it has one               -> dev_load.rs
//!   [rated]      what the vendor states, held against the link's slots
//! ```

use cxlab_kernel::{Bytes, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{DeviceSpec, RootPortSpec, SwitchSpec};
use crate::cxl::{Class, CxlError, LinkSpec, ThrottleSpec, WireTime};
use crate::fact::Sourced;
use crate::mem::{AccessKind, Stage};

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

/// A bandwidth that the vendor states for a mix.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RatedSpec {
    pub bandwidth: Sourced<cxlab_kernel::Bandwidth>,
    /// lines read in the mix
    pub reads: u32,
    /// lines written in the mix
    pub writes: u32,
}

impl ExpanderSpec {
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

    /// The stages of an access that meets nobody, without the media; their sum is the way's latency.
    #[must_use]
    pub fn unloaded(&self, switches: &[SwitchSpec], kind: AccessKind) -> Vec<(Stage, Time)> {
        let (request, response) = (Class::request(kind), Class::response(kind));
        let (host, device) = (self.root_port.latency(), *self.device.protocol_latency);
        let last = switches.last().map_or(&self.link, |switch| &switch.link);
        let mut stages = vec![(Stage::RootPortQueue, Time::ZERO), (Stage::HostOut, host)];
        stages.push((Stage::LinkM2s, self.link.unloaded(request)));
        for (number, switch) in (0..).zip(switches) {
            stages.push((Stage::switch_out(number), *switch.port_to_port));
            stages.push((Stage::link_m2s(number + 1), switch.link.unloaded(request)));
        }
        stages.push((Stage::DeviceIn, last.after_arrival(device, request)));
        stages.extend([(Stage::DeviceQueue, Time::ZERO), (Stage::Media, Time::ZERO)]);
        let mut through_device = device;
        for (number, switch) in (0u8..).zip(switches).collect::<Vec<_>>().into_iter().rev() {
            stages.push((Stage::link_s2m(number + 1), through_device + switch.link.unloaded(response)));
            stages.push((Stage::switch_back(number), *switch.port_to_port));
            through_device = Time::ZERO;
        }
        stages.push((Stage::LinkS2m, through_device + self.link.unloaded(response)));
        stages.push((Stage::HostIn, self.link.after_arrival(host, response)));
        stages
    }

    /// Bytes of host-managed memory behind the device.
    #[must_use]
    pub fn capacity(&self) -> Bytes {
        *self.device.capacity
    }
}
