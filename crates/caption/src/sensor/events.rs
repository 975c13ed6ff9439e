//! Event tables by processor, and the arithmetic from counts to a sample.
//!
//! ```text
//!   data/events.toml --> Table (for this processor) --> counters --> Counts --> Sample
//! ```
//! A latency is occupancy / arrivals in cycles of the unit that counts (Little's law), over that unit's clock.
//! Sources: in data/events.toml, one for each table.

use crate::error::{Error, Result};
use crate::sample::Sample;
use crate::units::{GigabytesPerSecond, Nanoseconds, Seconds};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::time::Duration;

const TABLES: &str = include_str!("../../data/events.toml");
/// A cache line `[B]`.
const LINE: f64 = 64.0;

/// Meaning of a count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    Instructions,
    /// Core cycles, not halted.
    CoreCycles,
    /// Time-stamp counter, halted or not.
    NominalCycles,
    /// At the time-stamp counter's rate, not halted.
    UnhaltedNominalCycles,
    /// Outstanding L1 misses, added up each core cycle.
    L1MissOccupancy,
    L1Misses,
    UncoreCycles,
    /// Outstanding demand reads to the memory, added up each uncore cycle.
    DdrOccupancy,
    DdrReads,
    CxlOccupancy,
    CxlReads,
    ExpanderOccupancy,
    ExpanderReads,
    /// Sum over sampled requests `[10 ns]`.
    DdrLatencyTensOfNs,
    DdrLatencyRequests,
    CxlLatencyTensOfNs,
    CxlLatencyRequests,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Event {
    pub role: Role,
    /// The vendor's name of the event.
    pub name: String,
    pub pmu: String,
    /// Format field to value.
    pub config: BTreeMap<String, u64>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Processor {
    name: String,
    family: u32,
    models: Vec<[u32; 2]>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Table {
    pub name: String,
    pub source: String,
    vendor: String,
    processors: Vec<Processor>,
    /// Look-up that an L1 miss pays beside the occupancy `[core cycles]`.
    l1_lookup_cycles: f64,
    pub events: Vec<Event>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Tables {
    table: Vec<Table>,
}

pub fn tables() -> Result<Vec<Table>> {
    let tables: Tables =
        toml::from_str(TABLES).map_err(|e| Error::Table { table: "data/events.toml", detail: e.to_string() })?;
    Ok(tables.table)
}

/// Vendor, family and model that the processor reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessorId {
    pub vendor: String,
    pub family: u32,
    pub model: u32,
}

impl ProcessorId {
    /// From the text of /proc/cpuinfo.
    pub fn parse(cpuinfo: &str) -> Option<ProcessorId> {
        let field = |name: &str| {
            cpuinfo
                .lines()
                .filter_map(|line| line.split_once(':'))
                .find(|(key, _)| key.trim() == name)
                .map(|(_, v)| v.trim())
        };
        Some(ProcessorId {
            vendor: field("vendor_id")?.to_string(),
            family: field("cpu family")?.parse().ok()?,
            model: field("model")?.parse().ok()?,
        })
    }

    /// CAP051 where no table fits.
    pub fn table(&self) -> Result<Table> {
        let tables = tables()?;
        let names: Vec<_> = tables.iter().map(|t| t.name.clone()).collect();
        tables.into_iter().find(|table| table.fits(self)).ok_or_else(|| Error::Processor {
            found: format!("{} family {} model {}", self.vendor, self.family, self.model),
            valid: names.join("; "),
        })
    }
}

impl Table {
    fn fits(&self, id: &ProcessorId) -> bool {
        let within = |p: &Processor| {
            p.family == id.family && p.models.iter().any(|[first, last]| (*first..=*last).contains(&id.model))
        };
        self.vendor == id.vendor && self.processors.iter().any(within)
    }

    pub fn processor_names(&self) -> Vec<&str> {
        self.processors.iter().map(|p| p.name.as_str()).collect()
    }

    /// A sample from what was counted in `interval`, which ended at `time`. A metric whose events did not count is absent.
    pub fn sample(&self, counts: &Counts, interval: Duration, time: Seconds) -> Sample {
        let ns = interval.as_nanos() as f64;
        let core_ghz = counts.core_ghz(ns);
        let uncore_ghz = counts.mean_over_units(Role::UncoreCycles).map(|cycles| cycles / ns);
        let latency = |occupancy, arrivals, ghz: Option<f64>| Some(counts.ratio(occupancy, arrivals)? / ghz?);
        let sampled = |tens, requests| Some(counts.ratio(tens, requests)? * 10.0);
        let (cxl_occupancy, cxl_reads) = counts.busier_cxl_pair();
        let l1_cycles = counts.ratio(Role::L1MissOccupancy, Role::L1Misses).map(|c| c + self.l1_lookup_cycles);
        let ddr_ns = latency(Role::DdrOccupancy, Role::DdrReads, uncore_ghz)
            .or_else(|| sampled(Role::DdrLatencyTensOfNs, Role::DdrLatencyRequests));
        let cxl_ns = latency(cxl_occupancy, cxl_reads, uncore_ghz)
            .or_else(|| sampled(Role::CxlLatencyTensOfNs, Role::CxlLatencyRequests));
        Sample {
            norm_ipc: counts.ratio(Role::Instructions, Role::NominalCycles),
            ipc: counts.ratio(Role::Instructions, Role::CoreCycles),
            l1_miss_latency_ns: l1_cycles.zip(core_ghz).map(|(cycles, ghz)| Nanoseconds(cycles / ghz)),
            ddr_read_latency_ns: ddr_ns.map(Nanoseconds),
            cxl_read_latency_ns: cxl_ns.map(Nanoseconds),
            cxl_read_bandwidth_gb_s: counts.total(cxl_reads).map(|reads| GigabytesPerSecond(reads * LINE / ns)),
            ..Sample::at(time)
        }
    }
}

/// Counts of every counter of a role, scaled for the time that it ran.
#[derive(Clone, Debug, Default)]
pub struct Counts {
    totals: BTreeMap<Role, (f64, u32)>,
}

impl Counts {
    pub fn add(&mut self, role: Role, count: f64) {
        let (total, units) = self.totals.entry(role).or_default();
        *total += count;
        *units += 1;
    }

    fn total(&self, role: Role) -> Option<f64> {
        self.totals.get(&role).map(|(total, _)| *total)
    }

    fn mean_over_units(&self, role: Role) -> Option<f64> {
        self.totals.get(&role).map(|(total, units)| total / f64::from(*units)).filter(|mean| *mean > 0.0)
    }

    /// None where the lower one did not count: no arrival, no latency.
    fn ratio(&self, upper: Role, lower: Role) -> Option<f64> {
        let lower = self.total(lower).filter(|count| *count > 0.0)?;
        Some(self.total(upper)? / lower)
    }

    /// Clock of the cores while they ran: nominal clock x (core / nominal cycles, both not halted).
    fn core_ghz(&self, ns: f64) -> Option<f64> {
        let nominal_ghz = self.mean_over_units(Role::NominalCycles)? / ns;
        Some(self.ratio(Role::CoreCycles, Role::UnhaltedNominalCycles)? * nominal_ghz).filter(|ghz| *ghz > 0.0)
    }

    fn busier_cxl_pair(&self) -> (Role, Role) {
        let reads = |role| self.total(role).unwrap_or(0.0);
        if reads(Role::ExpanderReads) > reads(Role::CxlReads) {
            (Role::ExpanderOccupancy, Role::ExpanderReads)
        } else {
            (Role::CxlOccupancy, Role::CxlReads)
        }
    }
}
