//! The command line: one file a command.

mod bandwidth;
mod import;
mod latency;
mod loaded_latency;
mod machine;
mod matrix;
mod memo;
mod output;
mod place;
mod stream;
mod timing;

use clap::{Parser, Subcommand};
use cxlab_memo::{Error, Result};
use std::process::ExitCode;

/// Latency and bandwidth of this machine's memory: by instruction, size, load, thread count and node.
///
/// Every result says on what machine, how, and what makes it unreliable. Ctrl-C ends a measurement with what it has by then.
#[derive(Parser)]
#[command(version, arg_required_else_help = true)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Action,
}

#[derive(Subcommand)]
pub enum Action {
    Machine(machine::Machine),
    Memo(memo::Memo),
    Latency(latency::Latency),
    LoadedLatency(loaded_latency::LoadedLatency),
    Bandwidth(bandwidth::Bandwidth),
    Stream(stream::Stream),
    Matrix(matrix::Matrix),
    Import(import::Import),
}

impl Action {
    pub fn execute(self) -> Result<ExitCode> {
        match self {
            Action::Machine(command) => command.execute(),
            Action::Memo(command) => command.execute(),
            Action::Latency(command) => command.execute(),
            Action::LoadedLatency(command) => command.execute(),
            Action::Bandwidth(command) => command.execute(),
            Action::Stream(command) => command.execute(),
            Action::Matrix(command) => command.execute(),
            Action::Import(command) => command.execute(),
        }
    }
}

/// MEM001 unless `count` is within `least..=most`.
fn within(parameter: &'static str, count: usize, least: usize, most: usize) -> Result<usize> {
    if (least..=most).contains(&count) {
        return Ok(count);
    }
    Err(Error::Parameter { parameter, given: count.to_string(), valid: format!("{least} to {most}") })
}
