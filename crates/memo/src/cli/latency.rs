//! `latency`: the idle pointer chase.

use super::output::Output;
use super::place::{Place, Plan};
use super::within;
use clap::Args;
use cxlab_kernel::Bytes;
use cxlab_memo::Result;
use cxlab_memo::chase::Order;
use cxlab_memo::measure::latency;
use cxlab_memo::report::Benchmark;
use serde_json::json;
use std::process::ExitCode;

/// Idle latency: a serial pointer chase over one size, or over a sweep of sizes (lat_mem_rd's curve)
#[derive(Args)]
pub struct Latency {
    /// Memory that the chase covers; the largest of a sweep
    #[arg(long, default_value = "512MiB")]
    size: Bytes,
    /// From 4 KiB to --size, two sizes a doubling
    #[arg(long)]
    sweep: bool,
    /// Order of the chase
    #[arg(long, value_enum, default_value = "random")]
    pattern: Order,
    /// From one place of the chase to the next in address order
    #[arg(long, default_value = "64B")]
    stride: Bytes,
    /// Loads of a sample
    #[arg(long, default_value_t = 1024)]
    hops: usize,
    /// Samples of a size
    #[arg(long, default_value_t = 1001)]
    samples: usize,
    #[command(flatten)]
    place: Place,
    #[command(flatten)]
    output: Output,
}

impl Latency {
    pub fn execute(self) -> Result<ExitCode> {
        within("--hops", self.hops, 1, 1 << 30)?;
        within("--samples", self.samples, 1, 1 << 30)?;
        let sizes = if self.sweep { latency::sweep(self.size) } else { vec![self.size] };
        let settings = json!({ "size": self.size, "sweep": self.sweep, "pattern": self.pattern, "stride": self.stride,
            "hops": self.hops, "samples": self.samples });
        let plan = Plan {
            benchmark: Benchmark::Latency,
            size: self.size,
            settings,
            method: format!(
                "a sample is the mean of {} dependent loads, less the clock's own cost; warm-up one pass or 2^20 loads, then {} samples",
                latency::whole_hops(self.hops),
                self.samples
            ),
            output: &self.output,
        };
        let measurement = latency::Latency {
            sizes,
            stride: self.stride,
            order: self.pattern,
            hops: self.hops,
            samples: self.samples,
        };
        self.place.measure(plan, |session, points| measurement.run(session, points))
    }
}
