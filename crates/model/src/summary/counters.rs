//! The machine's counters between two readings, as a placement controller sees them: one sample, one line of JSON.
//!
//! ```text
//!   reading n-1 ......... reading n        what was counted between them, over the time between them
//! ```
//! Names and meanings are those of the controller's samples (crates/caption/src/sample.rs). A latency to a memory is
//! from the home agent's table and back to it, as UNC_CHA_TOR_OCCUPANCY / UNC_CHA_TOR_INSERTS has it on silicon. An
//! L1 miss is from its fill buffer to the data, as L1D_PEND_MISS has it. Not modelled: counters of one process alone.
//! Source: MICRO'23 (Sun et al.), table 4.

use std::ops::Sub;

use cxlab_kernel::Time;
use serde::Serialize;

use crate::addr::LINE_BYTES;
use crate::config::Path;
use crate::machine::Machine;
use crate::mem::Stage;

/// Counters of the machine between two readings; a metric for which nothing was counted is absent.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Sample {
    /// end of the interval, simulated `[s]`
    pub time_s: f64,
    /// instructions for each cycle of the time-stamp counter, of all cores, halted or not
    pub norm_ipc: f64,
    /// instructions for each busy core cycle
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ipc: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub l1_miss_latency_ns: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ddr_read_latency_ns: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cxl_read_latency_ns: Option<f64>,
    /// `[10^9 B/s]`
    pub cxl_read_bandwidth_gb_s: f64,
    /// instructions in user mode `[10^6/s]`
    pub throughput: f64,
}

/// A number of reads and the time that they took together.
#[derive(Clone, Copy, Debug, Default)]
struct Reads {
    count: u64,
    time: Time,
}

impl Reads {
    fn and(self, count: u64, time: Time) -> Reads {
        Reads { count: self.count + count, time: self.time + time }
    }

    fn mean_ns(self) -> Option<f64> {
        (self.count > 0).then(|| self.time.as_ns() / self.count as f64)
    }
}

impl Sub for Reads {
    type Output = Reads;
    fn sub(self, before: Reads) -> Reads {
        Reads { count: self.count - before.count, time: self.time - before.time }
    }
}

/// All counts since the beginning.
#[derive(Clone, Copy, Debug, Default)]
struct Totals {
    now: Time,
    user: u64,
    kernel: u64,
    /// of all cores
    not_busy: Time,
    l1_misses: Reads,
    ddr: Reads,
    cxl: Reads,
}

/// Reads the counters of one machine.
#[derive(Debug, Default)]
pub struct Counters {
    before: Totals,
}

impl Counters {
    /// Reads what was counted since the reading before.
    pub fn read(&mut self, machine: &Machine) -> Sample {
        let totals = Totals::of(machine);
        let before = std::mem::replace(&mut self.before, totals);
        let host = &machine.spec().host;
        let cores = machine.cores().len() as f64;
        let span = totals.now - before.now;
        let seconds = span.as_seconds();
        let user = (totals.user - before.user) as f64;
        let instructions = user + (totals.kernel - before.kernel) as f64;
        let busy = seconds * cores - (totals.not_busy - before.not_busy).as_seconds();
        let cxl = totals.cxl - before.cxl;
        let rate = |count: f64, in_all: f64| if in_all > 0.0 { count / in_all } else { 0.0 };
        Sample {
            time_s: totals.now.as_seconds(),
            norm_ipc: rate(instructions, seconds * cores * host.core.tsc.as_hz() as f64),
            ipc: (busy > 0.0).then(|| instructions / (busy * host.core.frequency.as_hz() as f64)),
            l1_miss_latency_ns: (totals.l1_misses - before.l1_misses).mean_ns(),
            ddr_read_latency_ns: (totals.ddr - before.ddr).mean_ns(),
            cxl_read_latency_ns: cxl.mean_ns(),
            cxl_read_bandwidth_gb_s: rate((cxl.count * LINE_BYTES) as f64 / 1e9, seconds),
            throughput: rate(user / 1e6, seconds),
        }
    }
}

impl Totals {
    fn of(machine: &Machine) -> Totals {
        let mut totals = Totals { now: machine.now(), ..Totals::default() };
        let host = &machine.spec().host;
        let l2_hit = host.core.frequency.cycles(host.l2.latency.0);
        for (core, loads) in machine.cores().iter().zip(machine.loads()) {
            totals.user += core.stats.user_instructions.get();
            totals.kernel += core.stats.kernel_instructions.get();
            totals.not_busy += core.spent().idle + core.spent().io;
            let hits = core.stats.l2_hits.get();
            let from_memory: Time = loads.stages.iter().copied().sum();
            // A miss is counted from its fill buffer on, which comes when its address is translated.
            let before = loads.stages[Stage::Translation as usize] + loads.stages[Stage::FillBuffer as usize];
            totals.l1_misses = totals
                .l1_misses
                .and(hits, l2_hit * hits)
                .and(loads.from_llc.count(), loads.from_llc.sum())
                .and(loads.count, from_memory - before);
        }
        for (spec, (stats, stages)) in machine.spec().nodes.iter().zip(machine.nodes()) {
            let behind_home = Stage::ALL.iter().zip(stages).filter(|(stage, _)| is_behind_home(**stage));
            let time = behind_home.map(|(_, time)| *time).sum();
            let reads = match spec.path {
                Path::Dram { .. } => &mut totals.ddr,
                Path::Cxl { .. } => &mut totals.cxl,
            };
            *reads = reads.and(stats.loads.get(), time);
        }
        totals
    }
}

/// Whether a request has its entry of the home agent's table there.
fn is_behind_home(stage: Stage) -> bool {
    !matches!(stage, Stage::Translation | Stage::FillBuffer | Stage::ToHome | Stage::HomeQueue | Stage::FromHome)
}
