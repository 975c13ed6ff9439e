//! The run's record: JSONL, one header, then one line a sample, each written whole.

use crate::actuator::Applied;
use crate::controller::Step;
use crate::error::{Error, Result};
use crate::share::CxlShare;
use crate::tuner::Verdict;
use serde::Serialize;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Value of the key `format` in the first line.
pub const FORMAT: &str = "caption-log-1";
/// Keys that a line holds beside the sample.
pub const OWN_KEYS: [&str; 6] = ["performance", "cxl_share", "placement", LEFT_OUT, "verdict", "next_cxl_share"];
/// Stands, true, in the line of a sample on which no decision rests.
pub const LEFT_OUT: &str = "left_out";

/// Settings of the run.
#[derive(Debug, Serialize)]
pub struct Header {
    pub mode: &'static str,
    pub sensor: String,
    pub objective: String,
    pub topology: String,
    pub dry_run: bool,
}

#[derive(Serialize)]
struct HeaderLine<'a> {
    format: &'static str,
    version: &'static str,
    #[serde(flatten)]
    header: &'a Header,
}

/// One sample and what followed.
#[derive(Serialize)]
struct Line<'a> {
    #[serde(flatten)]
    sample: &'a crate::sample::Sample,
    /// The objective, its own unit.
    performance: f64,
    /// In force while the sample was taken `[fraction of new pages]`.
    cxl_share: CxlShare,
    placement: &'a str,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    left_out: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    verdict: Option<Verdict>,
    /// Decided now `[fraction of new pages]`.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cxl_share: Option<CxlShare>,
}

#[derive(Debug)]
pub struct Log {
    path: PathBuf,
    file: File,
}

impl Log {
    pub fn create(path: &Path, header: &Header) -> Result<Log> {
        let file = File::create(path).map_err(Error::io("create", path))?;
        let mut log = Log { path: path.to_path_buf(), file };
        log.write(&HeaderLine { format: FORMAT, version: env!("CARGO_PKG_VERSION"), header })?;
        Ok(log)
    }

    pub fn record(&mut self, step: &Step, in_force: &Applied) -> Result<()> {
        self.write(&Line {
            sample: &step.averaged,
            performance: step.performance,
            cxl_share: in_force.share,
            placement: &in_force.placement,
            left_out: step.left_out,
            verdict: step.decision.map(|d| d.verdict),
            next_cxl_share: step.decision.map(|d| d.share),
        })
    }

    fn write(&mut self, line: &impl Serialize) -> Result<()> {
        let text = serde_json::to_string(line).expect("a log line is plain data") + "\n";
        self.file.write_all(text.as_bytes()).map_err(Error::io("write", &self.path))
    }
}
