//! The summary of a run: what `--json` writes, for people and programs.

mod counters;
mod cpi_stack;
mod intervals;
mod profile;
mod sampled;
mod series;
mod totals;
mod tree;
mod whole;

pub use counters::{Counters, Sample};
pub use cpi_stack::{CpiStack, ModeStack};
pub use profile::profile;
pub use sampled::{Sampling, Windows};
pub use series::Series;
pub use totals::Totals;
pub use tree::Part;

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::machine::Machine;

/// A run in numbers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Summary {
    pub machine: String,
    /// simulated time of the regions of detail `[s]`
    pub simulated_seconds: f64,
    pub instructions: Instructions,
    /// instructions for each core cycle in which the cores were busy
    pub ipc: f64,
    pub time: TimeShares,
    /// by name, in the machine's order
    pub nodes: IndexMap<String, NodeSummary>,
    pub core: CoreSummary,
    pub cpi_stack: CpiStack,
}

/// Committed instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Instructions {
    pub user: u64,
    pub kernel: u64,
}

/// Where the simulated time of all cores went; the sum is `simulated_seconds` for each of them.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TimeShares {
    pub busy_s: f64,
    /// nothing to do until a timer, or until another core has something
    pub idle_s: f64,
    /// all cores idle, and a request to a device under way: counted on one of them
    pub io_s: f64,
}

/// Summary of a node's memory.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NodeSummary {
    /// lines read for loads
    pub loads: u64,
    /// lines read for stores, to own them
    pub stores: u64,
    /// lines read ahead by prefetchers
    #[serde(default)]
    pub prefetches: u64,
    /// load to use; `None` where no load came
    pub mean_load_latency_ns: Option<f64>,
    /// where a load's time goes, the mean for each stage that takes any, in the order of its way; the sum is
    /// the mean latency
    pub stages_ns: IndexMap<String, f64>,
    pub read_bytes: u64,
    pub write_bytes: u64,
    /// read and written, over the simulated time `[10^6 B/s]`
    pub bandwidth_mb_s: f64,
    /// the type-3 devices that the node's memory is on, in the order of the region
    pub devices: Vec<DeviceSummary>,
}

/// Requests that reached one type-3 device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DeviceSummary {
    /// M2S Req
    pub reads: u64,
    /// M2S RwD
    pub writes: u64,
}

/// Events in the cores, and the places where lines were found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CoreSummary {
    pub l1_hits: u64,
    pub l2_hits: u64,
    pub llc_hits: u64,
    pub llc_misses: u64,
    /// asked by the home agent for a line, for another core
    pub snoops: u64,
    /// lines read ahead
    pub prefetches: u64,
    pub fill_buffer_waits: u64,
    pub lsq_full_events: u64,
    pub branches: u64,
    pub mispredictions: u64,
}

impl Summary {
    /// The run so far.
    #[must_use]
    pub fn of(machine: &Machine) -> Summary {
        Totals::of(machine).summary(machine.spec())
    }
}

fn ratio(above: f64, below: f64) -> f64 {
    if below > 0.0 { above / below } else { 0.0 }
}
