//! `loaded-latency`: latency under a load of a given mix and delay.

use super::output::Output;
use super::place::{Place, Plan};
use super::timing::Timing;
use clap::Args;
use cxlab_kernel::Bytes;
use cxlab_memo::Result;
use cxlab_memo::measure::loaded_latency;
use cxlab_memo::mix::{Mix, Store};
use cxlab_memo::report::Benchmark;
use cxlab_memo::traffic::Pattern;
use serde_json::json;
use std::process::ExitCode;

/// Loaded latency, as Intel MLC: load threads at an inject delay, one latency thread in a random chase
#[derive(Args)]
pub struct LoadedLatency {
    /// Load threads [one on each CPU but the first]
    #[arg(long)]
    threads: Option<usize>,
    /// Lines read to lines written at the memory, ownership reads included; several make a family of curves
    #[arg(long, value_name = "R:W", value_delimiter = ',', default_value = "1:0")]
    mix: Vec<String>,
    #[arg(long, value_enum, default_value = "ordinary")]
    store: Store,
    #[arg(long, value_enum, default_value = "sequential")]
    pattern: Pattern,
    /// Inject delays, in core cycles after each round of some 8 lines [the sweep]
    #[arg(long, value_delimiter = ',', conflicts_with = "sweep")]
    delay: Vec<u64>,
    /// MLC's 19 delays, 0 to 20000
    #[arg(long)]
    sweep: bool,
    /// Memory of each thread
    #[arg(long, default_value = "256MiB")]
    size: Bytes,
    #[command(flatten)]
    timing: Timing,
    #[command(flatten)]
    place: Place,
    #[command(flatten)]
    output: Output,
}

impl LoadedLatency {
    pub fn execute(self) -> Result<ExitCode> {
        self.timing.check()?;
        let threads = self.threads.unwrap_or(self.place.cpu_count()?.saturating_sub(1));
        let mixes = self.mix.iter().map(|text| Mix::parse(text)).collect::<Result<Vec<_>>>()?;
        let delays = if self.delay.is_empty() { loaded_latency::DELAYS.to_vec() } else { self.delay.clone() };
        let settings = json!({ "threads": threads, "mix": mixes, "store": self.store, "pattern": self.pattern,
            "delays": delays, "size": self.size, "window_ms": self.timing.window.as_secs_f64() * 1e3,
            "warm_up_ms": self.timing.warm_up.as_secs_f64() * 1e3, "repeats": self.timing.repeats });
        let plan = Plan {
            benchmark: Benchmark::LoadedLatency,
            size: self.size,
            settings: settings.as_object().cloned().unwrap_or_default(),
            method: format!(
                "latency: a sample is the mean of 128 dependent loads; bandwidth: lines of all threads over a window, the latency \
                 thread's too, 10^6 bytes a second; {}; compare machines and tools at equal bandwidth, never at equal delay",
                self.timing.said()
            ),
            output: &self.output,
        };
        let measurement = loaded_latency::LoadedLatency {
            threads,
            mixes,
            store: self.store,
            pattern: self.pattern,
            delays,
            size: self.size,
            warm_up: self.timing.warm_up,
            window: self.timing.window,
            repeats: self.timing.repeats,
        };
        self.place.measure(plan, |session, points| measurement.run(session, points))
    }
}
