//! `matrix`: from CPUs to nodes.

use super::place::Plan;
use super::timing::UnderLoad;
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
    #[command(flatten)]
    load: UnderLoad,
}

impl Matrix {
    pub fn execute(self) -> Result<ExitCode> {
        self.load.timing.check()?;
        let (hops, samples) = (1024, 1001);
        let settings = self.load.settings(json!({ "hops": hops, "samples": samples }));
        let plan = Plan {
            benchmark: Benchmark::Matrix,
            size: self.load.size,
            settings,
            method: format!(
                "latency: {samples} samples, each the mean of {hops} dependent loads; bandwidth: sequential loads; {}",
                self.load.timing.said()
            ),
            output: &self.load.output,
        };
        let stride = Bytes::new(LINE as u64);
        let measurement = matrix::Matrix {
            sources: self.rows,
            latency: Latency { sizes: vec![self.load.size], stride, order: Order::Random, hops, samples },
            bandwidth: Bandwidth {
                threads: Vec::new(),
                works: Vec::new(),
                patterns: vec![Pattern::Sequential],
                size: self.load.size,
                warm_up: self.load.timing.warm_up,
                window: self.load.timing.window,
                repeats: self.load.timing.repeats,
            },
        };
        self.load.place.measure(plan, |session, points| measurement.run(session, points))
    }
}
