//! Options that the commands with load threads share: their memory, their warm-up, and the number of measurements.

use super::output::Output;
use super::place::Place;
use super::within;
use clap::Args;
use cxlab_kernel::Bytes;
use cxlab_memo::Result;
use serde_json::{Value, json};
use std::time::Duration;

#[derive(Args)]
pub struct UnderLoad {
    /// Memory of each thread
    #[arg(long, default_value = "256MiB")]
    pub size: Bytes,
    #[command(flatten)]
    pub timing: Timing,
    #[command(flatten)]
    pub place: Place,
    #[command(flatten)]
    pub output: Output,
}

impl UnderLoad {
    /// `own` settings of a command, and these.
    pub fn settings(&self, mut own: Value) -> Value {
        let milliseconds = |time: Duration| json!(time.as_secs_f64() * 1e3);
        own["size"] = json!(self.size);
        own["window_ms"] = milliseconds(self.timing.window);
        own["warm_up_ms"] = milliseconds(self.timing.warm_up);
        own["repeats"] = json!(self.timing.repeats);
        own
    }
}

#[derive(Args)]
pub struct Timing {
    /// Time under load before the first window
    #[arg(long, value_name = "TIME", default_value = "100ms", value_parser = humantime::parse_duration)]
    pub warm_up: Duration,
    /// Time that a window measures
    #[arg(long, value_name = "TIME", default_value = "100ms", value_parser = humantime::parse_duration)]
    pub window: Duration,
    /// Windows of a point
    #[arg(long, default_value_t = 7)]
    pub repeats: usize,
}

impl Timing {
    pub fn check(&self) -> Result<()> {
        within("--repeats", self.repeats, 1, 1_000_000)?;
        within("--window [us]", self.window.as_micros() as usize, 1, 3_600_000_000).map(|_| ())
    }

    pub fn said(&self) -> String {
        let of = humantime::format_duration;
        format!("warm-up {}, then {} windows of {}", of(self.warm_up), self.repeats, of(self.window))
    }
}
