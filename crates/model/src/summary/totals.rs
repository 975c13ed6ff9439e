//! Totals are the sums that a summary is made of. They can be taken apart into windows and put together again.
//!
//! ```text
//!   totals at the end of a window - totals at its beginning = the window's      sum of windows x share = the whole run's
//! ```

use std::ops::{Add, Sub};

use cxlab_kernel::Time;
use indexmap::IndexMap;

use super::{CoreSummary, CpiStack, DeviceSummary, Instructions, NodeSummary, Summary, TimeShares, ratio};
use crate::addr::LINE_BYTES;
use crate::config::MachineSpec;
use crate::core::{Core, CoreStats, TimeStack};
use crate::fabric::DeviceStats;
use crate::home::StageTimes;
use crate::machine::Machine;
use crate::mem::Stage;
use crate::request::NodeId;

/// All counts of a machine over a stretch of its time.
#[derive(Clone, Debug, PartialEq)]
pub struct Totals {
    pub instructions: Instructions,
    pub cores: usize,
    /// of the machine
    pub elapsed: Time,
    /// of all cores
    pub idle: Time,
    /// how long all cores were idle and a request to a device was under way: counted on one of them
    pub io: Time,
    /// of all cores
    pub stack: TimeStack,
    nodes: Vec<NodeTotals>,
    core: CoreSummary,
}

#[derive(Clone, Debug, PartialEq)]
struct NodeTotals {
    loads: u64,
    stores: u64,
    prefetches: u64,
    lines_read: u64,
    lines_written: u64,
    stages: StageTimes,
    devices: Vec<DeviceSummary>,
}

impl Totals {
    /// Since the machine's beginning.
    #[must_use]
    pub fn of(machine: &Machine) -> Totals {
        let sum = |of: fn(&CoreStats) -> u64| machine.cores().iter().map(|core| of(&core.stats)).sum();
        let idle = |core: &Core| core.idle(machine.now());
        let stack = |core: &Core| core.time_stack(machine.now());
        let (llc_hits, llc_misses) = machine.llc_hits_and_misses();
        Totals {
            instructions: Instructions {
                user: sum(|stats| stats.user_instructions.get()),
                kernel: sum(|stats| stats.kernel_instructions.get()),
            },
            cores: machine.cores().len(),
            elapsed: machine.now(),
            idle: machine.cores().iter().map(idle).sum(),
            io: machine.cores().iter().map(|core| core.spent().io).sum(),
            stack: machine.cores().iter().map(stack).fold(TimeStack::default(), |sum, core| sum.with(&core, Time::add)),
            nodes: machine.nodes().enumerate().map(|(place, _)| NodeTotals::of(machine, place)).collect(),
            core: CoreSummary {
                l1_hits: sum(|stats| stats.l1_hits.get()),
                l2_hits: sum(|stats| stats.l2_hits.get()),
                llc_hits,
                llc_misses,
                snoops: sum(|stats| stats.snoops.get()),
                prefetches: sum(|stats| stats.prefetches.get()),
                fill_buffer_waits: machine.cores().iter().map(Core::fill_buffer_waits).sum(),
                lsq_full_events: sum(|stats| stats.lsq_full.get()),
                branches: sum(|stats| stats.branches.get()),
                mispredictions: sum(|stats| stats.mispredictions.get()),
            },
        }
    }

    /// Time of the machine in which it was neither idle nor waited for a device; of several cores, as if they did both
    /// together.
    #[must_use]
    pub fn busy(&self) -> Time {
        let not_busy = (self.idle + self.io).as_ps() / self.cores as u64;
        Time::from_ps(self.elapsed.as_ps().saturating_sub(not_busy))
    }

    /// Each sum of `self` and of `other` put together.
    fn with(&self, other: &Totals, and: impl Fn(u64, u64) -> u64 + Copy) -> Totals {
        let times = |one: Time, two: Time| Time::from_ps(and(one.as_ps(), two.as_ps()));
        let (a, b) = (&self.core, &other.core);
        Totals {
            instructions: Instructions {
                user: and(self.instructions.user, other.instructions.user),
                kernel: and(self.instructions.kernel, other.instructions.kernel),
            },
            cores: self.cores,
            elapsed: times(self.elapsed, other.elapsed),
            idle: times(self.idle, other.idle),
            io: times(self.io, other.io),
            stack: self.stack.with(&other.stack, times),
            nodes: self.nodes.iter().zip(&other.nodes).map(|(one, two)| one.with(two, and)).collect(),
            core: CoreSummary {
                l1_hits: and(a.l1_hits, b.l1_hits),
                l2_hits: and(a.l2_hits, b.l2_hits),
                llc_hits: and(a.llc_hits, b.llc_hits),
                llc_misses: and(a.llc_misses, b.llc_misses),
                snoops: and(a.snoops, b.snoops),
                prefetches: and(a.prefetches, b.prefetches),
                fill_buffer_waits: and(a.fill_buffer_waits, b.fill_buffer_waits),
                lsq_full_events: and(a.lsq_full_events, b.lsq_full_events),
                branches: and(a.branches, b.branches),
                mispredictions: and(a.mispredictions, b.mispredictions),
            },
        }
    }

    /// Each sum times `factor`.
    #[must_use]
    pub fn scaled(&self, factor: f64) -> Totals {
        let nodes = self.nodes.iter().map(|node| node.scaled(factor)).collect();
        Totals { nodes, ..self.with(self, |sum, _| (sum as f64 * factor).round() as u64) }
    }

    /// As people and programs read it.
    #[must_use]
    pub fn summary(&self, spec: &MachineSpec) -> Summary {
        let seconds = self.elapsed.as_seconds();
        let (idle_s, io_s) = (self.idle.as_seconds(), self.io.as_seconds());
        let busy_s = seconds * self.cores as f64 - idle_s - io_s;
        let cycles = busy_s * spec.host.core.frequency.as_hz() as f64;
        let node = |(spec, node): (&crate::config::NodeSpec, &NodeTotals)| (spec.name.clone(), node.summary(seconds));
        Summary {
            machine: spec.name.clone(),
            simulated_seconds: seconds,
            instructions: self.instructions,
            ipc: ratio((self.instructions.user + self.instructions.kernel) as f64, cycles),
            time: TimeShares { busy_s, idle_s, io_s },
            nodes: spec.nodes.iter().zip(&self.nodes).map(node).collect(),
            core: self.core,
            cpi_stack: CpiStack::of(&self.stack, spec),
        }
    }
}

impl Add for &Totals {
    type Output = Totals;
    fn add(self, other: &Totals) -> Totals {
        self.with(other, |one, two| one + two)
    }
}

impl Sub for &Totals {
    type Output = Totals;
    /// Counts since `before`. A halted core's idle time is counted when it goes on, so it may seem less.
    fn sub(self, before: &Totals) -> Totals {
        self.with(before, u64::saturating_sub)
    }
}

impl NodeTotals {
    fn of(machine: &Machine, place: usize) -> NodeTotals {
        let (stats, stages) = machine.nodes().nth(place).expect("a node of the machine");
        NodeTotals {
            loads: stats.loads.get(),
            stores: stats.stores.get(),
            prefetches: stats.prefetches.get(),
            lines_read: stats.lines_read(),
            lines_written: stats.write_backs.get(),
            stages: *stages,
            devices: devices(machine, NodeId(place as u16)),
        }
    }

    fn with(&self, other: &NodeTotals, and: impl Fn(u64, u64) -> u64 + Copy) -> NodeTotals {
        let mut stages = self.stages;
        for (one, two) in stages.iter_mut().zip(&other.stages) {
            *one = Time::from_ps(and(one.as_ps(), two.as_ps()));
        }
        let device = |(one, two): (&DeviceSummary, &DeviceSummary)| DeviceSummary {
            reads: and(one.reads, two.reads),
            writes: and(one.writes, two.writes),
        };
        NodeTotals {
            loads: and(self.loads, other.loads),
            stores: and(self.stores, other.stores),
            prefetches: and(self.prefetches, other.prefetches),
            lines_read: and(self.lines_read, other.lines_read),
            lines_written: and(self.lines_written, other.lines_written),
            stages,
            devices: self.devices.iter().zip(&other.devices).map(device).collect(),
        }
    }

    /// Each sum times `factor`. Times of stages go with the loads as they are rounded, so that the rounding changes no mean.
    /// Few loads would else have other means with each window that is left out, also with one that saw none of them.
    fn scaled(&self, factor: f64) -> NodeTotals {
        let mut scaled = self.with(self, |sum, _| (sum as f64 * factor).round() as u64);
        let by_loads = scaled.loads as f64 / self.loads.max(1) as f64;
        for (scaled, one) in scaled.stages.iter_mut().zip(&self.stages) {
            *scaled = Time::from_ps((one.as_ps() as f64 * by_loads).round() as u64);
        }
        scaled
    }

    fn summary(&self, seconds: f64) -> NodeSummary {
        let mean = |total: Time| total.as_ns() / self.loads as f64;
        let stages_ns: IndexMap<_, _> = Stage::ALL
            .iter()
            .zip(&self.stages)
            .filter(|(_, total)| total.as_ps() > 0)
            .map(|(stage, total)| (stage.name().to_owned(), mean(*total)))
            .collect();
        let (read_bytes, write_bytes) = (self.lines_read * LINE_BYTES, self.lines_written * LINE_BYTES);
        NodeSummary {
            loads: self.loads,
            stores: self.stores,
            prefetches: self.prefetches,
            // From the stages, which are exact; the histogram keeps three digits.
            mean_load_latency_ns: (self.loads > 0).then(|| self.stages.iter().copied().map(mean).sum()),
            stages_ns,
            read_bytes,
            write_bytes,
            bandwidth_mb_s: ratio((read_bytes + write_bytes) as f64 / 1e6, seconds),
            devices: self.devices.clone(),
        }
    }
}

fn devices(machine: &Machine, node: NodeId) -> Vec<DeviceSummary> {
    let expanders = machine.ports(node).filter_map(|port| port.expander);
    let summary = |device: &DeviceStats| DeviceSummary { reads: device.reads.get(), writes: device.writes.get() };
    expanders.map(|expander| summary(&expander.device.counts)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_a_count_is_rounded_changes_no_mean() {
        let mut stages = StageTimes::default();
        // Eight loads that took 2190.1 ns.
        (stages[0], stages[1]) = (Time::from_ps(2_000_050), Time::from_ps(190_050));
        let (lines_read, lines_written) = (8, 0);
        let node =
            NodeTotals { loads: 8, stores: 0, prefetches: 0, lines_read, lines_written, stages, devices: Vec::new() };
        for windows in 880..900 {
            let told = node.scaled(29_500.0 / f64::from(windows)).summary(1.0);
            // Half a picosecond for each stage is 4 fs for each of 260 loads.
            let mean = told.mean_load_latency_ns.unwrap();
            assert!((mean - 2190.1 / 8.0).abs() < 1e-5, "{mean} of {} loads", told.loads);
        }
    }
}
