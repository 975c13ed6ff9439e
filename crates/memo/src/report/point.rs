//! One point: its settings, its latency, its bandwidth.

use crate::distribution::Distribution;
use crate::instruction::Instruction;
use crate::stream_kernel::Kernel;
use crate::summary::Summary;
use crate::traffic::Pattern;
use cxlab_kernel::Bytes;
use serde::{Serialize, Serializer};

#[derive(Clone, Debug, Default, Serialize)]
pub struct Point {
    /// Inject delay `[core cycles after each round of the load threads]`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instruction: Option<Instruction>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kernel: Option<Kernel>,
    /// R:W, or what the tool that it is imported from calls it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mix: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pattern: Option<Pattern>,
    /// Load threads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threads: Option<usize>,
    /// The CPU that chases.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu: Option<usize>,
    /// The node that the CPUs are of.
    #[serde(rename = "from_node", skip_serializing_if = "Option::is_none")]
    pub from: Option<u32>,
    /// The node that the memory is on, where it differs from point to point.
    #[serde(rename = "to_node", skip_serializing_if = "Option::is_none")]
    pub to: Option<u32>,
    /// Memory that the chase covers.
    #[serde(rename = "size_bytes", skip_serializing_if = "Option::is_none", serialize_with = "count")]
    pub size: Option<Bytes>,
    /// `[ns]`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latency_ns: Option<f64>,
    /// `[10^6 B/s]`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bandwidth_mb_s: Option<f64>,
    /// The samples behind `latency_ns` `[ns]`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latency: Option<Summary>,
    /// The samples behind `bandwidth_mb_s` `[10^6 B/s]`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bandwidth: Option<Summary>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub distribution: Option<Distribution>,
}

impl Point {
    /// Median, summary and distribution of latencies `[ns]`; `None` where there are none.
    #[must_use]
    pub fn of_latencies(samples: &[f64]) -> Option<Point> {
        let latency = Summary::of(samples)?;
        let distribution = Some(Distribution::of(samples));
        Some(Point { latency_ns: Some(latency.median), latency: Some(latency), distribution, ..Point::default() })
    }
}

#[allow(clippy::ref_option)] // serde's signature
fn count<S: Serializer>(size: &Option<Bytes>, serializer: S) -> Result<S::Ok, S::Error> {
    size.map(Bytes::get).serialize(serializer)
}

/// `bytes` in `nanoseconds`, in 10^6 bytes a second.
#[must_use]
pub fn mb_s(bytes: u64, nanoseconds: f64) -> f64 {
    bytes as f64 * 1e3 / nanoseconds
}
