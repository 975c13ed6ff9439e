//! `cxlab-caption`: the placement controller as one static program.

mod cli;

use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    match cli::Cli::parse().command.execute() {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            use std::io::Write;
            let _ = writeln!(std::io::stderr(), "cxlab-caption: {error}");
            ExitCode::FAILURE
        }
    }
}
