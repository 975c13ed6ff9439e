//! The command line: one file a command.

mod fit;
mod machine;
mod place;
mod probe;
mod restore;
mod run;
mod search;
mod timing;

use clap::{Parser, Subcommand};
use cxlab_caption::Result;
use std::path::PathBuf;

/// Steers the share of new pages that go to CXL memory.
///
/// Weights are the whole system's and reach programs under weighted interleave (`run -- PROGRAM`, `place`, `numactl -w`);
/// a weight change moves no page that is resident.
#[derive(Parser)]
#[command(version, arg_required_else_help = true)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Action,
}

#[derive(Subcommand)]
pub enum Action {
    Run(Box<run::Run>),
    Place(place::Place),
    Fit(fit::Fit),
    Probe(probe::Probe),
    Restore(restore::Restore),
    /// Waits for a controller's end and restores what it left (started by run and place).
    #[command(hide = true)]
    Guard {
        journal: PathBuf,
    },
}

impl Action {
    /// The exit code.
    pub fn execute(self) -> Result<u8> {
        match self {
            Action::Run(run) => run.execute(),
            Action::Place(place) => place.execute(),
            Action::Fit(fit) => fit.execute(),
            Action::Probe(probe) => probe.execute(),
            Action::Restore(restore) => restore.execute(),
            Action::Guard { journal } => cxlab_caption::custody::guard(&journal).map(|()| 0),
        }
    }
}
