//! How long threads warm up and how often they are measured: what the commands with load threads share.

use super::within;
use clap::Args;
use cxlab_memo::Result;
use std::time::Duration;

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
