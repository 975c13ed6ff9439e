//! The result of an interval: work, latencies, traffic, migrations, and the counters that a controller samples.

use std::collections::BTreeMap;

use cxlab_kernel::Time;
use cxlab_kernel::statistic::{Group, Latency, Value};
use schemars::JsonSchema;
use serde::Serialize;

use super::spec::StudySpec;
use crate::addr::LINE_BYTES;
use crate::machine::Machine;
use crate::os::System;

/// Instructions that a program retires in a cycle of a stated computing time; assumption. Without them, the IPC of a
/// store would follow its mix of requests, not its speed.
const COMPUTING_IPC: f64 = 1.0;

/// An interval. Bandwidths in 10^6 B/s.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Interval {
    pub simulated_us: f64,
    pub processes: Vec<ProcessInterval>,
    pub nodes: BTreeMap<String, NodeInterval>,
    /// mean latency of loads that miss L1
    pub l1_miss_latency_ns: f64,
    /// instructions per core cycle, of the programs' cores
    pub ipc: f64,
    /// instructions per nominal cycle
    pub norm_ipc: f64,
    pub os: BTreeMap<&'static str, Value>,
}

#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ProcessInterval {
    pub unit: &'static str,
    pub work: u64,
    pub work_per_second: f64,
    /// of requests, from arrival to answer
    pub latency_us: Option<LatencyFigures>,
    /// share of its resident pages on each node
    pub resident: BTreeMap<String, f64>,
    /// share of its cores' time that was the kernel's
    pub kernel_share: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct LatencyFigures {
    pub count: u64,
    pub mean: f64,
    pub p50: f64,
    pub p99: f64,
}

#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct NodeInterval {
    pub read_mb_s: f64,
    pub write_mb_s: f64,
    /// of loads; none where there was none
    pub load_latency_ns: Option<f64>,
}

/// Sums of the cores' counters.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Counters {
    instructions: u64,
    l2_hits: u64,
    misses: u64,
    /// sum of the latencies of loads that missed L2 `[ns]`
    miss_ns: f64,
    /// loads that missed L2
    miss_loads: u64,
}

impl Counters {
    /// Counters of the programs' cores, since time began.
    pub(super) fn of(machine: &Machine, system: &System) -> Counters {
        let mut sum = Counters::default();
        let clock = machine.spec().host.core.frequency.as_hz() as f64;
        let programs = machine.cores().iter().enumerate().filter(|(id, _)| system.app(*id).is_some());
        for (id, core) in programs {
            let stats = &core.stats;
            let computed = system.computed(id).as_seconds() * clock * COMPUTING_IPC;
            sum.instructions += stats.user_instructions.get() + stats.kernel_instructions.get() + computed as u64;
            sum.l2_hits += stats.l2_hits.get();
            sum.misses += stats.misses.get();
            let latency: &Latency = &stats.miss_latency;
            sum.miss_loads += latency.count();
            sum.miss_ns += latency.mean_ns() * latency.count() as f64;
        }
        sum
    }

    pub(super) fn since(&self, before: &Counters) -> Counters {
        Counters {
            instructions: self.instructions - before.instructions,
            l2_hits: self.l2_hits - before.l2_hits,
            misses: self.misses - before.misses,
            miss_ns: self.miss_ns - before.miss_ns,
            miss_loads: self.miss_loads - before.miss_loads,
        }
    }

    /// As L1D_PEND_MISS over L1 misses tells it: L2 hits take L2's latency.
    fn l1_miss_latency_ns(&self, l2: Time) -> f64 {
        let misses = self.l2_hits + self.miss_loads;
        if misses == 0 { 0.0 } else { (self.miss_ns + self.l2_hits as f64 * l2.as_ns()) / misses as f64 }
    }
}

impl Interval {
    pub(super) fn of(spec: &StudySpec, machine: &Machine, system: &System, counters: &Counters) -> Interval {
        let elapsed = machine.counted();
        let rate = |lines: u64| (lines * LINE_BYTES) as f64 / elapsed.as_seconds() / 1e6;
        let names = spec.node_names(machine.spec());
        let node = |(name, (stats, _)): (&&str, (&crate::home::NodeStats, _))| {
            let latency = &stats.load_latency;
            let interval = NodeInterval {
                read_mb_s: rate(stats.loads.get() + stats.stores.get()),
                write_mb_s: rate(stats.write_backs.get()),
                load_latency_ns: (latency.count() > 0).then(|| latency.mean_ns()),
            };
            ((*name).to_owned(), interval)
        };
        let host = &machine.spec().host;
        let programs = system.os().processes().iter().map(|process| process.cores().len()).sum::<usize>() as f64;
        let cycles = |hz: u64| counters.instructions as f64 / (elapsed.as_seconds() * hz as f64 * programs);
        let entries = system.os().stats().entries();
        Interval {
            simulated_us: elapsed.as_ns() / 1e3,
            processes: (0..spec.processes.len())
                .map(|number| ProcessInterval::of(spec, number, &names, elapsed, system))
                .collect(),
            nodes: names.iter().zip(machine.nodes()).map(node).collect(),
            l1_miss_latency_ns: counters.l1_miss_latency_ns(host.core.frequency.cycles(host.l2.latency.0)),
            ipc: cycles(host.core.frequency.as_hz()),
            norm_ipc: cycles(host.core.tsc.as_hz()),
            os: entries.into_iter().map(|entry| (entry.name, entry.value)).collect(),
        }
    }
}

impl ProcessInterval {
    fn of(spec: &StudySpec, number: usize, names: &[&str], elapsed: Time, system: &System) -> ProcessInterval {
        let process = &system.os().processes()[number];
        let apps: Vec<_> = process.cores().filter_map(|core| system.app(core)).collect();
        let work: u64 = apps.iter().map(|app| app.work()).sum();
        let resident = system.os().resident(number);
        let pages = resident.iter().sum::<u64>().max(1) as f64;
        let kernel: Time = process.cores().map(|core| system.os().kernel_time()[core]).sum();
        let mut latency: Option<Latency> = None;
        for other in apps.iter().filter_map(|app| app.latency()) {
            match &mut latency {
                Some(all) => all.merge(other),
                None => latency = Some(other.clone()),
            }
        }
        ProcessInterval {
            unit: spec.processes[number].app.unit(),
            work,
            work_per_second: work as f64 / elapsed.as_seconds(),
            latency_us: latency.map(|latency| LatencyFigures {
                count: latency.count(),
                mean: latency.mean_ns() / 1e3,
                p50: latency.quantile_ns(0.5) / 1e3,
                p99: latency.quantile_ns(0.99) / 1e3,
            }),
            resident: names
                .iter()
                .zip(resident)
                .map(|(name, count)| ((*name).to_owned(), count as f64 / pages))
                .collect(),
            kernel_share: kernel.as_seconds() / (elapsed.as_seconds() * apps.len() as f64),
        }
    }
}
