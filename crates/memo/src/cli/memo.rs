//! `memo`: latency by instruction.

use super::output::Output;
use super::place::{Place, Plan};
use super::within;
use clap::Args;
use cxlab_kernel::Bytes;
use cxlab_memo::Result;
use cxlab_memo::instruction::Instruction;
use cxlab_memo::measure::instruction_latency::InstructionLatency;
use cxlab_memo::report::Benchmark;
use serde_json::json;
use std::process::ExitCode;

/// Latency by instruction: ld, nt-ld, st, nt-st, 16 random accesses at a time after a flush
#[derive(Args)]
pub struct Memo {
    /// Only these, in this order [ld, nt-ld, st, nt-st; not st-wb, a store with clwb]
    #[arg(long, value_enum, value_delimiter = ',')]
    instruction: Vec<Instruction>,
    /// Memory that the random lines are drawn from
    #[arg(long, default_value = "512MiB")]
    size: Bytes,
    /// Batches before the first that counts
    #[arg(long, default_value_t = 1000)]
    warm_up: usize,
    /// Batches that count, each one sample
    #[arg(long, default_value_t = 10_000)]
    repeats: usize,
    #[command(flatten)]
    place: Place,
    #[command(flatten)]
    output: Output,
}

impl Memo {
    pub fn execute(self) -> Result<ExitCode> {
        let instructions =
            if self.instruction.is_empty() { Instruction::FOUR.to_vec() } else { self.instruction.clone() };
        instructions.iter().try_for_each(|instruction| instruction.check())?;
        let repeats = within("--repeats", self.repeats, 1, 100_000_000)?;
        let settings = json!({ "instructions": instructions, "size": self.size, "warm_up_batches": self.warm_up,
            "repeats": repeats, "accesses_of_a_batch": 16 });
        let plan = Plan {
            benchmark: Benchmark::Memo,
            size: self.size,
            settings,
            method: format!(
                "a sample is 1/16 of the time from rdtsc to rdtsc around 16 accesses to flushed random lines and a fence (lfence \
                 after loads, mfence after stores), less the median time around no access; a random pause before each; {} warm-up batches, then {repeats}",
                self.warm_up
            ),
            output: &self.output,
        };
        let measurement = InstructionLatency { instructions, size: self.size, warm_up: self.warm_up, repeats };
        self.place.measure(plan, |session, points| measurement.run(session, points))
    }
}
