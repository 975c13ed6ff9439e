//! A host: its cores, caches and mesh.

use cxlab_kernel::{Frequency, Time};
use serde::{Deserialize, Serialize};

use super::{Cycles, Sourced};
use crate::cache::{CacheSpec, LlcSpec, PrefetchSpec};

/// A processor as a host file describes it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostSpec {
    pub name: String,
    pub description: String,
    /// physical cores of a socket
    pub cores: Sourced<u32>,
    pub core: CoreSpec,
    pub latency: LatencySpec,
    pub ports: PortsSpec,
    pub micro_operations: MicroOperationsSpec,
    pub l1: CacheSpec,
    pub l2: CacheSpec,
    pub prefetch: PrefetchSpec,
    pub llc: LlcSpec,
    pub mesh: MeshSpec,
    pub home: HomeSpec,
}

/// The home agents, one beside each LLC slice.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HomeSpec {
    /// table of requests of one slice: lines on their way to or from memory [entries]
    pub requests: Sourced<u32>,
    /// share of a node's entries in use from which prefetches to the LLC alone are refused
    pub refuse_llc_prefetch: Sourced<f64>,
    /// and from which all prefetches are
    pub refuse_prefetch: Sourced<f64>,
}

/// The out-of-order window and its queues.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CoreSpec {
    pub frequency: Sourced<Frequency>,
    /// what rdtsc counts at
    pub tsc: Sourced<Frequency>,
    /// instructions renamed and dispatched in a cycle
    pub dispatch_width: Sourced<u32>,
    /// instructions retired in a cycle
    pub commit_width: Sourced<u32>,
    /// reorder buffer [instructions]
    pub reorder_buffer: Sourced<u32>,
    /// loads between dispatch and commit
    pub load_queue: Sourced<u32>,
    /// stores between dispatch and the L1
    pub store_queue: Sourced<u32>,
    /// L1 misses that are under way beyond L2 at once [lines]
    pub fill_buffers: Sourced<u32>,
    /// lines that non-temporal stores gather in at once
    pub write_combining_buffers: Sourced<u32>,
    /// from a mispredicted branch's result to the first instruction of the right way [core cycles]
    pub branch_refill: Sourced<Cycles>,
    /// a load or store that goes to a device and not to memory
    pub device_access: Sourced<Time>,
}

/// From operands to result, by class of instruction [core cycles].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LatencySpec {
    pub integer: Sourced<Cycles>,
    pub multiply: Sourced<Cycles>,
    pub divide: Sourced<Cycles>,
    pub vector: Sourced<Cycles>,
    pub float_add: Sourced<Cycles>,
    pub float_multiply: Sourced<Cycles>,
    pub float_divide: Sourced<Cycles>,
    pub locked: Sourced<Cycles>,
    /// lfence with nothing ahead of it
    pub load_fence: Sourced<Cycles>,
    /// mfence with nothing ahead of it
    pub fence: Sourced<Cycles>,
    pub serialising: Sourced<Cycles>,
}

/// Ports of one kind of operation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PortSpec {
    /// operations begun in a cycle
    pub count: Sourced<u8>,
    /// from one operation to the next on the same port [core cycles]
    pub busy: Sourced<Cycles>,
}

/// Execution ports, by what they do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PortsSpec {
    pub load: PortSpec,
    pub store: PortSpec,
    pub integer: PortSpec,
    pub multiply: PortSpec,
    pub divide: PortSpec,
    pub vector: PortSpec,
    pub float_add: PortSpec,
    pub float_multiply: PortSpec,
    pub float_divide: PortSpec,
}

/// Micro-operations, as dispatch and commit count them; every other instruction is one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MicroOperationsSpec {
    pub read_modify_write: Sourced<u8>,
    pub call: Sourced<u8>,
    pub divide: Sourced<u8>,
    pub locked: Sourced<u8>,
    /// fences, cpuid and other microcode
    pub microcode: Sourced<u8>,
    /// what a string instruction with a repetition begins with; a load and a store of a line follow
    pub string_begin: Sourced<u8>,
}

/// Distances on the chip, one way.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MeshSpec {
    /// from the address to a known LLC miss: L1 and L2 look-up, mesh, slice; the rest of the LLC's latency is
    /// the way back; both are means as the LLC's latency is
    pub to_home: Sourced<Time>,
    /// stops of the mesh that hold slices
    pub columns: Sourced<u32>,
    pub rows: Sourced<u32>,
    /// from a stop to the next in its row
    pub hop_across: Sourced<Time>,
    /// from a stop to the next in its column
    pub hop_along: Sourced<Time>,
    /// from the home agent to a memory controller or a root port
    pub home_to_memory: Sourced<Time>,
}

impl HostSpec {
    /// From the home agent back to the core.
    #[must_use]
    pub fn from_home(&self) -> Time {
        self.llc.latency.since(*self.mesh.to_home)
    }

    /// What must hold for a core to run at all.
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
        let (first, all) = (*self.home.refuse_llc_prefetch, *self.home.refuse_prefetch);
        if !(0.0 <= first && first <= all && all <= 1.0) {
            return Err(format!(
                "home.refuse_llc_prefetch = {first}, home.refuse_prefetch = {all}; valid: 0 to 1, the first no more than the second"
            ));
        }
        if *self.mesh.to_home > *self.llc.latency {
            let (way, all) = (*self.mesh.to_home, *self.llc.latency);
            return Err(format!("mesh.to_home = {way} is more than llc.latency = {all}, of which it is a part"));
        }
        self.l1.tags("l1").and(self.l2.tags("l2")).map(drop).and(self.llc.check()).and(self.prefetch.check())
    }
}

impl PortsSpec {
    fn check(&self) -> Result<(), String> {
        let Self { load, store, integer, multiply, divide, vector, float_add, float_multiply, float_divide } = self;
        for ports in [load, store, integer, multiply, divide, vector, float_add, float_multiply, float_divide] {
            if !(1..=16).contains(&*ports.count) || !(1..=100).contains(&ports.busy.0) {
                let (count, busy) = (*ports.count, ports.busy.0);
                return Err(format!("ports: count = {count}, busy = {busy} cycles; valid: 1 to 16, 1 to 100 cycles"));
            }
        }
        Ok(())
    }
}
