//! Hardware counters by perf_event_open(2), on the whole machine.
//!
//! Does not model: one process alone (memory-side units cannot tell processes apart). Counts that share a counter are scaled
//! by the time that they ran. Needs CAP_PERFMON, or kernel.perf_event_paranoid = 0 at most.

use super::Reading;
use super::events::{Counts, Event, ProcessorId, Role, Table};
use super::pmu::Pmu;
use crate::error::{Error, Result};
use crate::interrupt::{Interrupt, Woken};
use crate::root::Root;
use crate::units::Seconds;
use perf_event_open::config::{Cpu, Opts, Proc, StatFormat};
use perf_event_open::count::Counter;
use perf_event_open::event::dp::DynamicPmu;
use std::time::{Duration, Instant};

/// One event on one processor, and what it read last.
struct Running {
    role: Role,
    name: String,
    counter: Counter,
    count: u64,
    enabled: u64,
    running: u64,
}

pub struct Perf {
    table: Table,
    counters: Vec<Running>,
    interval: Duration,
    started: Instant,
    last: Instant,
}

impl std::fmt::Debug for Perf {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Perf").field("table", &self.table.name).field("counters", &self.counters.len()).finish()
    }
}

impl Perf {
    /// CAP050 lists the units that this machine does not show, CAP051 an unknown processor, CAP052 a refused event.
    pub fn open(root: &Root, interval: Duration) -> Result<Perf> {
        let cpuinfo = root.read("proc/cpuinfo")?;
        let unknown = || Error::Processor { found: "/proc/cpuinfo names none".into(), valid: "x86 processors".into() };
        let table = ProcessorId::parse(&cpuinfo).ok_or_else(unknown)?.table()?;
        let found = find_units(root, &table)?;
        allow_many_files();
        let mut counters = Vec::new();
        for (event, units) in table.events.iter().zip(&found) {
            for unit in units {
                let encoding = unit.encode(root, &event.name, &event.config)?;
                let event_of = DynamicPmu {
                    ty: unit.kind,
                    config: encoding.config,
                    config1: encoding.config1,
                    config2: encoding.config2,
                    config3: 0,
                };
                for processor in &unit.processors {
                    counters.push(Running::open(event, unit, event_of.clone(), *processor)?);
                }
            }
        }
        let now = Instant::now();
        Ok(Perf { table, counters, interval, started: now, last: now })
    }

    pub fn name(&self) -> String {
        format!("the counters ({})", self.table.name)
    }

    pub fn next(&mut self, interrupt: &Interrupt) -> Result<Reading> {
        let due = self.last + self.interval;
        if interrupt.sleep(due.saturating_duration_since(Instant::now()))? == Woken::Interrupted {
            return Ok(Reading::Interrupted);
        }
        let now = Instant::now();
        let mut counts = Counts::default();
        for counter in &mut self.counters {
            let count = counter.read()?;
            counts.add(counter.role, count);
        }
        let time = Seconds(now.duration_since(self.started).as_secs_f64());
        let sample = self.table.sample(&counts, now.duration_since(self.last), time);
        self.last = now;
        Ok(Reading::Sample(Box::new(sample)))
    }
}

/// A counter is an open file, and a server has thousands: as many as the hard limit allows.
fn allow_many_files() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    // If the kernel refuses this, the first counter beyond the limit reports it.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
}

/// For each event of the table the units that count it; CAP050 with all that is missing.
fn find_units(root: &Root, table: &Table) -> Result<Vec<Vec<Pmu>>> {
    let found: Vec<Vec<Pmu>> = table.events.iter().map(|event| Pmu::find(root, &event.pmu)).collect::<Result<_>>()?;
    let mut missing: Vec<&str> = table
        .events
        .iter()
        .zip(&found)
        .filter(|(_, units)| units.is_empty())
        .map(|(event, _)| event.pmu.as_str())
        .collect();
    missing.sort_unstable();
    missing.dedup();
    if missing.is_empty() {
        return Ok(found);
    }
    let lines: Vec<String> = missing.iter().map(|pmu| format!("  {}: {}", pmu, why_missing(pmu))).collect();
    Err(Error::Counters { missing: lines.join("\n") })
}

fn why_missing(pmu: &str) -> &'static str {
    match pmu {
        "cpu" => "the core's counters; a virtual machine has them only if its host passes them through",
        "uncore_cha" => "the memory side's counters; load intel_uncore; a virtual machine does not have them",
        "amd_l3" => "the L3's counters; load amd-uncore; a virtual machine does not have them",
        _ => "not shown below /sys/bus/event_source/devices",
    }
}

impl Running {
    fn open(event: &Event, unit: &Pmu, event_of: DynamicPmu, processor: u32) -> Result<Running> {
        let opts = Opts {
            enable: true,
            stat_format: StatFormat { time_enabled: true, time_running: true, ..Default::default() },
            ..Default::default()
        };
        let counter = Counter::new(event_of, (Proc::ALL, Cpu(processor)), opts).map_err(|source| Error::Event {
            event: event.name.clone(),
            pmu: unit.name.clone(),
            next: "It needs CAP_PERFMON, or sysctl kernel.perf_event_paranoid=0; kernel.nmi_watchdog=0 frees a counter"
                .into(),
            source,
        })?;
        Ok(Running { role: event.role, name: event.name.clone(), counter, count: 0, enabled: 0, running: 0 })
    }

    /// Counted since the last read, scaled to the whole time where the counter was shared.
    fn read(&mut self) -> Result<f64> {
        let stat = self.counter.stat().map_err(Error::io("read the counter", &self.name))?;
        let (enabled, running) = (stat.time_enabled.unwrap_or(0), stat.time_running.unwrap_or(0));
        let counted = stat.count.wrapping_sub(self.count) as f64;
        let (was_enabled, ran) = (enabled - self.enabled, running - self.running);
        (self.count, self.enabled, self.running) = (stat.count, enabled, running);
        Ok(if ran == 0 { 0.0 } else { counted * was_enabled as f64 / ran as f64 })
    }
}
