//! `bandwidth`: by thread count, pattern, and instruction or mix.

use super::place::Plan;
use super::timing::UnderLoad;
use clap::Args;
use cxlab_memo::Result;
use cxlab_memo::instruction::Instruction;
use cxlab_memo::measure::bandwidth::{self, Work};
use cxlab_memo::mix::{Mix, Store};
use cxlab_memo::report::Benchmark;
use cxlab_memo::traffic::Pattern;
use serde_json::json;
use std::process::ExitCode;

/// Bandwidth at the memory, by thread count, pattern, and instruction or mix
#[derive(Args)]
pub struct Bandwidth {
    /// Thread counts, such as 1,2,8 [all CPUs]
    #[arg(long, value_delimiter = ',', conflicts_with = "sweep")]
    threads: Vec<usize>,
    /// 1, 2, 4 ... threads, and all CPUs
    #[arg(long)]
    sweep: bool,
    /// Instruction of the threads; a store counts the read of its line and the write [ld]
    #[arg(long, value_enum, value_delimiter = ',')]
    instruction: Vec<Instruction>,
    /// Or lines read to lines written at the memory, ownership reads included
    #[arg(long, value_name = "R:W", value_delimiter = ',', conflicts_with = "instruction")]
    mix: Vec<String>,
    /// Stores of a mix
    #[arg(long, value_enum, default_value = "ordinary")]
    store: Store,
    #[arg(long, value_enum, value_delimiter = ',', default_value = "sequential")]
    pattern: Vec<Pattern>,
    #[command(flatten)]
    load: UnderLoad,
}

impl Bandwidth {
    fn works(&self) -> Result<Vec<Work>> {
        if self.mix.is_empty() {
            let given = if self.instruction.is_empty() { &[Instruction::Load][..] } else { &self.instruction };
            return Ok(given.iter().map(|&i| Work::Instruction(i)).collect());
        }
        self.mix.iter().map(|text| Ok(Work::Mix(Mix::parse(text)?, self.store))).collect()
    }

    pub fn execute(self) -> Result<ExitCode> {
        self.load.timing.check()?;
        let cpus = self.load.place.cpu_count()?;
        let threads = match (self.sweep, self.threads.is_empty()) {
            (true, _) => bandwidth::thread_counts(cpus),
            (false, true) => vec![cpus],
            (false, false) => self.threads.clone(),
        };
        let settings = self.load.settings(
            json!({ "threads": threads, "mix": self.mix, "instructions": self.instruction, "store": self.store,
            "pattern": self.pattern }),
        );
        let plan = Plan {
            benchmark: Benchmark::Bandwidth,
            size: self.load.size,
            settings,
            method: format!(
                "lines of all threads over a window, reads and writes at the memory together, 10^6 bytes a second; {}",
                self.load.timing.said()
            ),
            output: &self.load.output,
        };
        let measurement = bandwidth::Bandwidth {
            threads,
            works: self.works()?,
            patterns: self.pattern.clone(),
            size: self.load.size,
            warm_up: self.load.timing.warm_up,
            window: self.load.timing.window,
            repeats: self.load.timing.repeats,
        };
        self.load.place.measure(plan, |session, points| measurement.run(session, points))
    }
}
