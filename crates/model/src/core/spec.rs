//! The keys of a host file for a core: its window, ports, latencies and micro-operations.

use cxlab_kernel::{Frequency, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::cache::{CacheSpec, PrefetchSpec};
use crate::fact::{Cycles, Sourced};
use crate::translation::TlbSpec;

/// Parts of a host file that a core is made from.
#[derive(Clone, Copy, Debug)]
pub struct CoreParts<'a> {
    pub core: &'a CoreSpec,
    pub latency: &'a LatencySpec,
    pub ports: &'a PortsSpec,
    pub micro_operations: &'a MicroOperationsSpec,
    pub tlb: &'a TlbSpec,
    pub l1: &'a CacheSpec,
    pub l2: &'a CacheSpec,
    pub prefetch: &'a PrefetchSpec,
}

/// The out-of-order window and its queues.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CoreSpec {
    pub frequency: Sourced<Frequency>,
    /// frequency at which rdtsc counts
    pub tsc: Sourced<Frequency>,
    /// instructions renamed and dispatched in a cycle
    pub dispatch_width: Sourced<u32>,
    /// instructions retired in a cycle
    pub commit_width: Sourced<u32>,
    /// reorder buffer `[instructions]`
    pub reorder_buffer: Sourced<u32>,
    /// loads between dispatch and commit
    pub load_queue: Sourced<u32>,
    /// stores between dispatch and the L1
    pub store_queue: Sourced<u32>,
    /// L1 misses that are under way beyond L2 at once `[lines]`
    pub fill_buffers: Sourced<u32>,
    /// lines that non-temporal stores gather in at once
    pub write_combining_buffers: Sourced<u32>,
    /// from a mispredicted branch's result to the first instruction of the right way `[core cycles]`
    pub branch_refill: Sourced<Cycles>,
    /// a load or store that goes to a device and not to memory
    pub device_access: Sourced<Time>,
}

/// From operands to result, by class of instruction `[core cycles]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
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
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PortSpec {
    /// operations begun in a cycle
    pub count: Sourced<u8>,
    /// from one operation to the next on the same port `[core cycles]`
    pub busy: Sourced<Cycles>,
}

/// Execution ports, by their operations.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
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
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MicroOperationsSpec {
    pub read_modify_write: Sourced<u8>,
    pub call: Sourced<u8>,
    pub divide: Sourced<u8>,
    pub locked: Sourced<u8>,
    /// fences, cpuid and other microcode
    pub microcode: Sourced<u8>,
    /// micro-operations with which a repeated string instruction begins; a load and a store of a line follow
    pub string_begin: Sourced<u8>,
}

impl PortsSpec {
    pub(crate) fn check(&self) -> Result<(), String> {
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
