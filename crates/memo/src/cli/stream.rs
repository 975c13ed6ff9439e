//! `stream`: copy, scale, add, triad.

use super::output::Output;
use super::place::{Place, Plan};
use super::within;
use clap::Args;
use cxlab_kernel::Bytes;
use cxlab_memo::Result;
use cxlab_memo::measure::stream::StreamBenchmark;
use cxlab_memo::report::Benchmark;
use serde_json::json;
use std::process::ExitCode;

/// STREAM's four kernels, by its rules
#[derive(Args)]
pub struct Stream {
    /// Threads [one on each CPU]
    #[arg(long)]
    threads: Option<usize>,
    /// Size of each of the three arrays; STREAM asks for four times the last-level cache
    #[arg(long, default_value = "256MiB")]
    size: Bytes,
    /// Repeats; the first is not counted
    #[arg(long, default_value_t = 10)]
    repeats: usize,
    #[command(flatten)]
    place: Place,
    #[command(flatten)]
    output: Output,
}

impl Stream {
    pub fn execute(self) -> Result<ExitCode> {
        let repeats = within("--repeats", self.repeats, 2, 1_000_000)?;
        let threads = self.threads.unwrap_or(self.place.cpu_count()?);
        let settings = json!({ "threads": threads, "array": self.size, "repeats": repeats });
        let plan = Plan {
            benchmark: Benchmark::Stream,
            size: self.size,
            settings,
            method: format!(
                "bandwidth: the best of {repeats} repeats but the first, as STREAM prints it, in bytes as it counts them (no ownership \
                 reads); ordinary stores; the median stands beside it"
            ),
            output: &self.output,
        };
        let measurement = StreamBenchmark { threads, size: self.size, repeats };
        self.place.measure(plan, |session, points| measurement.run(session, points))
    }
}
