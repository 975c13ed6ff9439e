//! `import`: another tool's text in memo's shape.

use super::output::Output;
use clap::Args;
use cxlab_memo::{Result, import};
use std::path::PathBuf;
use std::process::ExitCode;

/// Read Intel MLC's, multichase's or multiload's text output
#[derive(Args)]
pub struct Import {
    file: PathBuf,
    /// The machine that was measured: the text does not say
    #[arg(long)]
    machine: String,
    /// The node that the memory was on: the text does not say
    #[arg(long)]
    node: String,
    #[command(flatten)]
    output: Output,
}

impl Import {
    pub fn execute(self) -> Result<ExitCode> {
        let report = import::read(&self.file, &self.machine, &self.node)?;
        self.output.write(&report)?;
        Ok(ExitCode::SUCCESS)
    }
}
