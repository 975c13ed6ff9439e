//! `loaded-latency`: latency under a load of a given mix and delay.

use super::place::Plan;
use super::timing::UnderLoad;
use clap::Args;
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
    #[command(flatten)]
    load: UnderLoad,
}

impl LoadedLatency {
    pub fn execute(self) -> Result<ExitCode> {
        self.load.timing.check()?;
        let threads = self.threads.unwrap_or(self.load.place.cpu_count()?.saturating_sub(1));
        let mixes = self.mix.iter().map(|text| Mix::parse(text)).collect::<Result<Vec<_>>>()?;
        let delays = if self.delay.is_empty() { loaded_latency::DELAYS.to_vec() } else { self.delay.clone() };
        let settings =
            self.load.settings(json!({ "threads": threads, "mix": mixes, "store": self.store, "pattern": self.pattern,
            "delays": delays }));
        let plan = Plan {
            benchmark: Benchmark::LoadedLatency,
            size: self.load.size,
            settings,
            method: format!(
                "latency: a sample is the mean of 128 dependent loads; bandwidth: lines of all threads over a window, the latency \
                 thread's too, 10^6 bytes a second; {}; compare machines and tools at equal bandwidth, never at equal delay",
                self.load.timing.said()
            ),
            output: &self.load.output,
        };
        let measurement = loaded_latency::LoadedLatency {
            threads,
            mixes,
            store: self.store,
            pattern: self.pattern,
            delays,
            size: self.load.size,
            warm_up: self.load.timing.warm_up,
            window: self.load.timing.window,
            repeats: self.load.timing.repeats,
        };
        self.load.place.measure(plan, |session, points| measurement.run(session, points))
    }
}
