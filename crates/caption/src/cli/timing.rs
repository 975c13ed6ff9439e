//! The options that say where samples come from, and when a tuning falls.

use clap::{Args, ValueEnum};
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

/// Where samples come from [default: hardware counters]
#[derive(Args)]
pub struct Source {
    /// JSONL samples from a file, as fast as it reads
    #[arg(long, value_name = "FILE")]
    pub replay: Option<PathBuf>,

    /// JSONL samples from a device, a pipe, or - for standard input
    #[arg(long, value_name = "PATH", conflicts_with = "replay")]
    pub stream: Option<PathBuf>,

    /// The port of the simulated machine's counters, where this runs in its guest
    #[arg(long, value_name = "PATH", conflicts_with_all = ["replay", "stream"])]
    pub counters: Option<PathBuf>,

    /// How long a device may be silent
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = humantime::parse_duration)]
    pub stream_patience: Duration,
}

impl Source {
    /// Its time is not that of the machine that the rules were published for.
    pub fn is_simulated(&self) -> bool {
        self.counters.is_some()
    }
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
pub enum TuneOn {
    Interval,
    Completion,
}

#[derive(Args)]
pub struct Timing {
    /// One sample of the counters each; samples of a stream or file carry their own time
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = humantime::parse_duration,
          conflicts_with_all = ["replay", "stream"])]
    pub sample_interval: Duration,

    /// Let the program run so long before the first sample
    #[arg(long, value_name = "TIME", default_value = "0s", value_parser = humantime::parse_duration)]
    pub delay: Duration,

    /// Least time between tunings, in the samples' time [default: as soon as there are enough samples]
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration)]
    pub tune_interval: Option<Duration>,

    /// Tune by time, or when a sample says that a program ended (`completed`)
    #[arg(long, value_enum, default_value_t = TuneOn::Interval)]
    pub tune_on: TuneOn,

    /// Samples in the moving average [default: paper 5, adaptive 1]
    #[arg(long, value_name = "SAMPLES")]
    pub window: Option<NonZeroUsize>,

    /// Samples that a tuning needs [default: paper 21, adaptive 10]
    #[arg(long, value_name = "SAMPLES")]
    pub least_samples: Option<NonZeroUsize>,

    /// End after so many samples, and end the program [default: with the program]
    #[arg(long, value_name = "SAMPLES")]
    pub most_samples: Option<NonZeroUsize>,

    /// Samples left out after a change of the share [default: paper 0, adaptive 2]
    #[arg(long, value_name = "SAMPLES")]
    pub settling_samples: Option<usize>,
}
