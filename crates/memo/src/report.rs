//! The report of a measurement. Measured, imported and simulated figures have one shape, written as table, JSON and
//! CSV.
//!
//! JSON: `machine`, `node`, `settings`, `points`: [{`delay`, `latency_ns`, `bandwidth_mb_s`, ...}], bandwidth in 10^6 bytes a
//! second, reads and writes together. What a point lacks is left out.

pub mod csv;
pub mod json;
mod point;
mod provenance;
pub mod table;

pub use point::{Point, mb_s};
pub use provenance::{Imported, Measured, Provenance};

use serde::Serialize;
use std::fmt;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Benchmark {
    Memo,
    Latency,
    LoadedLatency,
    Bandwidth,
    Stream,
    Matrix,
}

impl fmt::Display for Benchmark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Benchmark::Memo => "memo",
            Benchmark::Latency => "latency",
            Benchmark::LoadedLatency => "loaded-latency",
            Benchmark::Bandwidth => "bandwidth",
            Benchmark::Stream => "stream",
            Benchmark::Matrix => "matrix",
        })
    }
}

/// Settings by name; numbers carry their unit in the name, texts in themselves.
pub type Settings = serde_json::Map<String, serde_json::Value>;

#[derive(Clone, Debug, Serialize)]
pub struct Report {
    pub benchmark: Benchmark,
    pub machine: String,
    pub node: String,
    pub settings: Settings,
    /// False where the measurement was interrupted: the points are what there was by then.
    pub complete: bool,
    pub points: Vec<Point>,
    pub provenance: Provenance,
}
