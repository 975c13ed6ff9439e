//! A switch: what comes in at one port goes out at another, after the time from port to port.
//!
//! ```text
//!   upstream port  [receive buffer] --port to port--> [credits of the link below] -> downstream port
//!   upstream port  [credits of the link above] <--port to port-- [receive buffer] <- downstream port
//! ```
//!
//! A message holds its entry of the receive buffer until it is on the next wire: the credit goes back then. Where several
//! ports send to one, their messages go in the order in which they are through the switch; that arrival is an event.
//!
//! Not modelled: arbitration by class or port, store and forward of whole flits, switches that decode by virtual hierarchy.
//!
//! Source: CXL 2.0, 7.2 (a switch of one level; its virtual CXL switches pass CXL.mem messages on unchanged).

use cxlab_kernel::{Time, statistics};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::link::Buffer;
use super::{Fabric, Station};
use crate::cxl::{CxlError, LinkSpec, not_zero};
use crate::fact::Sourced;

/// A switch and the link below it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SwitchSpec {
    /// from the last flit in at a port to the first out at another, each way `[ns]`
    pub port_to_port: Sourced<Time>,
    /// M2S Req that the receive buffer of an upstream port holds `[messages]`
    pub req_credits: Sourced<u32>,
    /// M2S RwD that it holds `[messages]`
    pub rwd_credits: Sourced<u32>,
    /// S2M DRS that the receive buffer of a downstream port holds `[messages]`
    pub drs_credits: Sourced<u32>,
    /// S2M NDR that it holds `[messages]`
    pub ndr_credits: Sourced<u32>,
    /// the link below
    pub link: LinkSpec,
}

impl SwitchSpec {
    /// # Errors
    /// The first rule that is broken, with what is valid.
    pub fn check(&self) -> Result<(), CxlError> {
        not_zero(&[
            ("switch.req_credits", *self.req_credits),
            ("switch.rwd_credits", *self.rwd_credits),
            ("switch.drs_credits", *self.drs_credits),
            ("switch.ndr_credits", *self.ndr_credits),
        ])?;
        self.link.check()
    }
}

statistics! {
    /// A switch.
    pub struct SwitchStats {
        requests: Counter [Requests] "M2S messages passed on",
        responses: Counter [Requests] "S2M messages passed on",
        credit_waits: Counter [Events] "messages that waited for a credit of the next link",
        credit_wait: Span [Nanoseconds] "mean wait for a credit, of those that waited",
        residence: Span [Nanoseconds] "mean time from the last flit in to the last flit out",
    }
}

/// A component between two links, as the joints see it.
pub struct Hop<'a> {
    pub port_to_port: Time,
    pub stats: &'a mut SwitchStats,
}

/// State of a switch.
#[derive(Clone, Debug)]
pub struct Switch {
    pub port_to_port: Time,
    pub stats: SwitchStats,
}

impl Switch {
    pub fn new(spec: &SwitchSpec) -> Switch {
        Switch { port_to_port: *spec.port_to_port, stats: SwitchStats::default() }
    }

    pub fn hop(&mut self) -> Hop<'_> {
        Hop { port_to_port: self.port_to_port, stats: &mut self.stats }
    }
}

impl<M> Fabric<M> {
    /// The switch, and the receive buffers of its upstream and its downstream ports.
    pub(super) fn add_switch(&mut self, spec: &SwitchSpec) -> Result<(Station, Buffer, Buffer), CxlError> {
        spec.check()?;
        self.switches.push(Switch::new(spec));
        let above = Buffer { of_reads: *spec.drs_credits, of_writes: *spec.ndr_credits };
        Ok((Station::Switch(self.switches.len() as u16 - 1), switch_below(spec), above))
    }
}

/// The receive buffer of its upstream port.
pub fn switch_below(spec: &SwitchSpec) -> Buffer {
    Buffer { of_reads: *spec.req_credits, of_writes: *spec.rwd_credits }
}
