//! One reading of the counters (M1), and its line in a JSONL file or stream.
//!
//! Does not model: per-core readings; a sample is the whole machine's.
//! Source: MICRO'23 "Demystifying CXL Memory", table 4, and section 6.2 for the CXL counters it wished for.

use crate::error::{Error, Result};
use crate::units::{GigabytesPerSecond, Nanoseconds, Seconds};
use serde::{Deserialize, Serialize};

/// A quantity that the estimator may use. Declared once: name, unit, description.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Metric {
    NormIpc,
    Ipc,
    L1MissLatencyNs,
    DdrReadLatencyNs,
    CxlReadLatencyNs,
    CxlReadBandwidthGbS,
}

impl Metric {
    pub const ALL: [Metric; 6] = [
        Metric::NormIpc,
        Metric::Ipc,
        Metric::L1MissLatencyNs,
        Metric::DdrReadLatencyNs,
        Metric::CxlReadLatencyNs,
        Metric::CxlReadBandwidthGbS,
    ];

    /// Its key in a JSONL line and in a model file.
    pub fn name(self) -> &'static str {
        match self {
            Metric::NormIpc => "norm_ipc",
            Metric::Ipc => "ipc",
            Metric::L1MissLatencyNs => "l1_miss_latency_ns",
            Metric::DdrReadLatencyNs => "ddr_read_latency_ns",
            Metric::CxlReadLatencyNs => "cxl_read_latency_ns",
            Metric::CxlReadBandwidthGbS => "cxl_read_bandwidth_gb_s",
        }
    }

    pub fn description(self) -> &'static str {
        match self {
            Metric::NormIpc => "instructions per nominal cycle of all cores, halted or not",
            Metric::Ipc => "instructions per core cycle",
            Metric::L1MissLatencyNs => "mean latency of a load that misses the first-level cache",
            Metric::DdrReadLatencyNs => "mean latency of a demand read served by DDR memory",
            Metric::CxlReadLatencyNs => "mean latency of a demand read served by CXL memory",
            Metric::CxlReadBandwidthGbS => "demand reads served by CXL memory",
        }
    }
}

/// Figures of the machine since the sample before.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sample {
    /// End of the interval `[s]`, the sensor's clock.
    pub time_s: Seconds,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub norm_ipc: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ipc: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub l1_miss_latency_ns: Option<Nanoseconds>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ddr_read_latency_ns: Option<Nanoseconds>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cxl_read_latency_ns: Option<Nanoseconds>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cxl_read_bandwidth_gb_s: Option<GigabytesPerSecond>,
    /// Work done `[operations/s, the program's own unit]`; what a fit explains and what `--objective throughput` climbs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub throughput: Option<f64>,
    /// Programs (or batches) that ended in the interval: the published moment to tune.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completed: Option<u32>,
}

impl Sample {
    pub fn at(time: Seconds) -> Sample {
        Sample {
            time_s: time,
            norm_ipc: None,
            ipc: None,
            l1_miss_latency_ns: None,
            ddr_read_latency_ns: None,
            cxl_read_latency_ns: None,
            cxl_read_bandwidth_gb_s: None,
            throughput: None,
            completed: None,
        }
    }

    pub fn metric(&self, metric: Metric) -> Option<f64> {
        match metric {
            Metric::NormIpc => self.norm_ipc,
            Metric::Ipc => self.ipc,
            Metric::L1MissLatencyNs => self.l1_miss_latency_ns.map(|ns| ns.0),
            Metric::DdrReadLatencyNs => self.ddr_read_latency_ns.map(|ns| ns.0),
            Metric::CxlReadLatencyNs => self.cxl_read_latency_ns.map(|ns| ns.0),
            Metric::CxlReadBandwidthGbS => self.cxl_read_bandwidth_gb_s.map(|b| b.0),
        }
    }

    pub fn set(&mut self, metric: Metric, value: Option<f64>) {
        match metric {
            Metric::NormIpc => self.norm_ipc = value,
            Metric::Ipc => self.ipc = value,
            Metric::L1MissLatencyNs => self.l1_miss_latency_ns = value.map(Nanoseconds),
            Metric::DdrReadLatencyNs => self.ddr_read_latency_ns = value.map(Nanoseconds),
            Metric::CxlReadLatencyNs => self.cxl_read_latency_ns = value.map(Nanoseconds),
            Metric::CxlReadBandwidthGbS => self.cxl_read_bandwidth_gb_s = value.map(GigabytesPerSecond),
        }
    }

    /// The names of what this sample holds, for messages.
    pub fn given(&self) -> String {
        let names: Vec<_> = Metric::ALL.iter().filter(|m| self.metric(**m).is_some()).map(|m| m.name()).collect();
        if names.is_empty() { "no metric".into() } else { names.join(", ") }
    }

    /// Reads one JSONL line; `source_name` and `line` go into the message (CAP010).
    pub fn parse(text: &str, source_name: &str, line: usize) -> Result<Sample> {
        let refused = |detail: String| Error::Sample { source_name: source_name.to_string(), line, detail };
        let sample: Sample = serde_json::from_str(text).map_err(|e| refused(e.to_string()))?;
        let named = Metric::ALL.iter().map(|m| (m.name(), sample.metric(*m)));
        let all = named.chain([("time_s", Some(sample.time_s.0)), ("throughput", sample.throughput)]);
        for (name, value) in all {
            if value.is_some_and(|v| !v.is_finite() || v < 0.0) {
                return Err(refused(format!("{name} is {}, which no counter can read", value.unwrap_or_default())));
            }
        }
        Ok(sample)
    }
}
