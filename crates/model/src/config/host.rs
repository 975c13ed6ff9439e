//! A host: its cores, caches and mesh.

use cxlab_kernel::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::cache::{CacheSpec, LlcSpec, PrefetchSpec};
use crate::core::{CoreParts, CoreSpec, LatencySpec, MicroOperationsSpec, PortsSpec};
use crate::fact::Sourced;
use crate::home::{HomeSpec, MeshSpec};
use crate::translation::TlbSpec;

/// Identity of a processor, as programs read it by CPUID.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct IdentitySpec {
    pub vendor: Sourced<Vendor>,
    /// family, extended family included
    pub family: Sourced<u32>,
    /// model, extended model included
    pub model: Sourced<u32>,
    pub stepping: Sourced<u32>,
    /// processor brand string
    pub brand: Sourced<String>,
}

/// Maker of a processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Vendor {
    Intel,
    Amd,
}

/// A processor as a host file describes it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HostSpec {
    pub name: String,
    pub description: String,
    pub identity: IdentitySpec,
    /// physical cores of a socket
    pub cores: Sourced<u32>,
    pub core: CoreSpec,
    pub latency: LatencySpec,
    pub ports: PortsSpec,
    pub micro_operations: MicroOperationsSpec,
    pub tlb: TlbSpec,
    pub l1: CacheSpec,
    pub l2: CacheSpec,
    pub prefetch: PrefetchSpec,
    pub llc: LlcSpec,
    pub mesh: MeshSpec,
    pub home: HomeSpec,
}

impl HostSpec {
    /// The parts that each of the host's cores is made from.
    #[must_use]
    pub fn core_parts(&self) -> CoreParts<'_> {
        CoreParts {
            core: &self.core,
            latency: &self.latency,
            ports: &self.ports,
            micro_operations: &self.micro_operations,
            tlb: &self.tlb,
            l1: &self.l1,
            l2: &self.l2,
            prefetch: &self.prefetch,
        }
    }

    /// From the home agent back to the core.
    #[must_use]
    pub fn from_home(&self) -> Time {
        self.llc.latency.since(*self.mesh.to_home)
    }

    /// Checks that a core can run at all.
    pub fn check(&self) -> Result<(), String> {
        let core = &self.core;
        for (what, value) in [
            ("cores", *self.cores),
            ("core.dispatch_width", *core.dispatch_width),
            ("core.commit_width", *core.commit_width),
            ("core.reorder_buffer", *core.reorder_buffer),
            ("core.load_queue", *core.load_queue),
            ("core.store_queue", *core.store_queue),
            ("core.fill_buffers", *core.fill_buffers),
            ("core.write_combining_buffers", *core.write_combining_buffers),
            ("home.requests", *self.home.requests),
        ] {
            if value == 0 || value > 4096 {
                return Err(format!("{what} = {value}; valid: 1 to 4096"));
            }
        }
        self.ports.check()?;
        self.tlb.check()?;
        let requests = *self.home.requests;
        if let Some(most) = self.home.requests_of_core.as_ref().map(|most| **most)
            && !(1..=requests).contains(&most)
        {
            return Err(format!("home.requests_of_core = {most}; valid: 1 to home.requests = {requests}"));
        }
        if *self.mesh.to_home > *self.llc.latency {
            let (way, all) = (*self.mesh.to_home, *self.llc.latency);
            return Err(format!("mesh.to_home = {way} is more than llc.latency = {all}, of which it is a part"));
        }
        self.l1.tags("l1").and(self.l2.tags("l2")).map(drop).and(self.llc.check()).and(self.prefetch.check())
    }
}
