//! Writes results: a table on standard output, and files.

use clap::Args;
use cxlab_memo::report::{Report, csv, json, table};
use cxlab_memo::{Error, Result};
use std::io::Write;
use std::path::PathBuf;

#[derive(Args)]
pub struct Output {
    /// Write everything, distributions and provenance too, as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Write the points as CSV, provenance in # lines
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
}

impl Output {
    /// Before measuring: a folder that is missing is said now.
    pub fn check(&self) -> Result<()> {
        [&self.json, &self.csv].into_iter().flatten().try_for_each(|path| json::check_writable(path))
    }

    pub fn write(&self, report: &Report) -> Result<()> {
        if let Some(path) = &self.json {
            json::write(report, path)?;
        }
        if let Some(path) = &self.csv {
            csv::write(report, path)?;
        }
        match std::io::stdout().write_all(table::render(report).as_bytes()) {
            // The reader has seen enough.
            Err(e) if e.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
            written => written.map_err(Error::io("write to", "standard output")),
        }
    }
}
