//! `matrix`: from CPUs to nodes.

use super::output::Output;
use super::place::{Place, Plan};
use super::timing::Timing;
use clap::Args;
use cxlab_kernel::Bytes;
use cxlab_memo::Result;
use cxlab_memo::chase::Order;
use cxlab_memo::isa::LINE;
use cxlab_memo::measure::bandwidth::Bandwidth;
use cxlab_memo::measure::latency::Latency;
use cxlab_memo::measure::matrix::{self, Sources};
use cxlab_memo::report::Benchmark;
use cxlab_memo::traffic::Pattern;
use serde_json::json;
use std::process::ExitCode;

/// Idle latency and read bandwidth from CPUs to every node with memory
#[derive(Args)]
pub struct Matrix {
    /// A row for each node (chase from its first CPU, reads from all of them), or for each CPU
    #[arg(long, value_enum, default_value = "nodes")]
    rows: Sources,
    /// Memory of the chase, and of each reading thread
    #[arg(long, default_value = "256MiB")]
    size: Bytes,
    #[command(flatten)]
    timing: Timing,
    #[command(flatten)]
    place: Place,
    #[command(flatten)]
    output: Output,
}

impl Matrix {
    pub fn execute(self) -> Result<ExitCode> {
        self.timing.check()?;
        let (hops, samples) = (1024, 1001);
        let settings = json!({ "size": self.size, "hops": hops, "samples": samples,
            "window_ms": self.timing.window.as_secs_f64() * 1e3, "repeats": self.timing.repeats });
        let plan = Plan {
            benchmark: Benchmark::Matrix,
            size: self.size,
            settings: settings.as_object().cloned().unwrap_or_default(),
            method: format!(
                "latency: {samples} samples, each the mean of {hops} dependent loads; bandwidth: sequential loads; {}",
                self.timing.said()
            ),
            output: &self.output,
        };
        let stride = Bytes::new(LINE as u64);
        let measurement = matrix::Matrix {
            sources: self.rows,
            latency: Latency { sizes: vec![self.size], stride, order: Order::Random, hops, samples },
            bandwidth: Bandwidth {
                threads: Vec::new(),
                works: Vec::new(),
                patterns: vec![Pattern::Sequential],
                size: self.size,
                warm_up: self.timing.warm_up,
                window: self.timing.window,
                repeats: self.timing.repeats,
            },
        };
        self.place.measure(plan, |session, points| measurement.run(session, points))
    }
}
