//! The summary of a run: what `--json` writes, for people and programs.

mod counters;
mod series;
mod tree;

pub use counters::{Counters, Sample};
pub use series::Series;
pub use tree::Part;

use cxlab_kernel::Time;
use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

use crate::addr::LINE_BYTES;
use crate::cxl::DeviceStats;
use crate::machine::Machine;
use crate::request::{NodeId, Stage};

/// A run in numbers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    pub machine: String,
    /// simulated time of the regions of detail [s]
    pub simulated_seconds: f64,
    pub instructions: Instructions,
    /// instructions for each core cycle in which the cores were busy
    pub ipc: f64,
    pub time: TimeShares,
    /// by name, in the machine's order
    pub nodes: IndexMap<String, NodeSummary>,
    pub core: CoreSummary,
}

/// Committed instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Instructions {
    pub user: u64,
    pub kernel: u64,
}

/// Where the simulated time of all cores went; the sum is `simulated_seconds` for each of them.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct TimeShares {
    pub busy_s: f64,
    /// nothing to do until a timer
    pub idle_s: f64,
    /// waiting for a device's declared service time
    pub io_s: f64,
}

/// What a node's memory did.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
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
    /// read and written, over the simulated time [10^6 B/s]
    pub bandwidth_mb_s: f64,
    /// the type-3 devices that the node's memory is on, in the order of the region
    pub devices: Vec<DeviceSummary>,
}

/// What reached one type-3 device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceSummary {
    /// M2S Req
    pub reads: u64,
    /// M2S RwD
    pub writes: u64,
}

/// What happened in the cores, and where lines were found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CoreSummary {
    pub l1_hits: u64,
    pub l2_hits: u64,
    pub llc_hits: u64,
    pub llc_misses: u64,
    pub fill_buffer_waits: u64,
    pub lsq_full_events: u64,
    pub branches: u64,
    pub mispredictions: u64,
}

impl Summary {
    /// The run so far.
    #[must_use]
    pub fn of(machine: &Machine) -> Summary {
        let seconds = machine.now().as_seconds();
        let sum = |of: fn(&crate::core::CoreStats) -> u64| machine.cores().iter().map(|core| of(&core.stats)).sum();
        let instructions = Instructions {
            user: sum(|stats| stats.user_instructions.get()),
            kernel: sum(|stats| stats.kernel_instructions.get()),
        };
        let idle = |core: &crate::core::Core| {
            let still = core.halted_since().map_or(Time::ZERO, |since| machine.now().since(since));
            (core.spent().idle + still).as_seconds()
        };
        let idle_s: f64 = machine.cores().iter().map(idle).sum();
        let io_s: f64 = machine.cores().iter().map(|core| core.spent().device.as_seconds()).sum();
        let busy_s = seconds * machine.cores().len() as f64 - idle_s - io_s;
        let cycles = busy_s * machine.spec().host.core.frequency.as_hz() as f64;
        let (llc_hits, llc_misses) = machine.llc_hits_and_misses();
        Summary {
            machine: machine.spec().name.clone(),
            simulated_seconds: seconds,
            instructions,
            ipc: ratio((instructions.user + instructions.kernel) as f64, cycles),
            time: TimeShares { busy_s, idle_s, io_s },
            nodes: nodes(machine, seconds),
            core: CoreSummary {
                l1_hits: sum(|stats| stats.l1_hits.get()),
                l2_hits: sum(|stats| stats.l2_hits.get()),
                llc_hits,
                llc_misses,
                fill_buffer_waits: machine.cores().iter().map(crate::core::Core::fill_buffer_waits).sum(),
                lsq_full_events: sum(|stats| stats.lsq_full.get()),
                branches: sum(|stats| stats.branches.get()),
                mispredictions: sum(|stats| stats.mispredictions.get()),
            },
        }
    }
}

fn nodes(machine: &Machine, seconds: f64) -> IndexMap<String, NodeSummary> {
    let specs = machine.spec().nodes.iter();
    specs
        .zip(machine.nodes())
        .enumerate()
        .map(|(place, (spec, (stats, stages)))| {
            let loads = stats.loads.get();
            let mean = |total: cxlab_kernel::Time| total.as_ns() / loads as f64;
            let stages_ns: IndexMap<_, _> = Stage::ALL
                .iter()
                .zip(stages)
                .filter(|(_, total)| total.as_ps() > 0)
                .map(|(stage, total)| (stage.name().to_owned(), mean(*total)))
                .collect();
            let read_bytes = stats.lines_read() * LINE_BYTES;
            let write_bytes = stats.write_backs.get() * LINE_BYTES;
            let summary = NodeSummary {
                loads,
                stores: stats.stores.get(),
                prefetches: stats.prefetches.get(),
                // From the stages, which are exact; the histogram keeps three digits.
                mean_load_latency_ns: (loads > 0).then(|| stages.iter().copied().map(mean).sum()),
                stages_ns,
                read_bytes,
                write_bytes,
                bandwidth_mb_s: ratio((read_bytes + write_bytes) as f64 / 1e6, seconds),
                devices: devices(machine, NodeId(place as u16)),
            };
            (spec.name.clone(), summary)
        })
        .collect()
}

fn devices(machine: &Machine, node: NodeId) -> Vec<DeviceSummary> {
    let expanders = machine.ports(node).filter_map(|port| port.expander);
    let summary = |device: &DeviceStats| DeviceSummary { reads: device.reads.get(), writes: device.writes.get() };
    expanders.map(|expander| summary(&expander.device.counts)).collect()
}

fn ratio(above: f64, below: f64) -> f64 {
    if below > 0.0 { above / below } else { 0.0 }
}
