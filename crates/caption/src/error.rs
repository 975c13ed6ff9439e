//! Errors of Caption: a stable code, the cause, the next step.

use std::path::{Path, PathBuf};

pub type Result<T> = std::result::Result<T, Error>;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(
        "CAP001: {given} is no share of CXL memory. Valid: a percentage (\"25%\") or DDR:CXL (\"3:1\"), 0 % to 100 %"
    )]
    Share { given: String },

    #[error(
        "CAP002: the bounds {:.1} % to {:.1} % leave no room. Give a lower --least or a higher --most",
        .least * 100.0, .most * 100.0
    )]
    Bounds { least: f64, most: f64 },

    #[error("CAP003: {parameter}: {given} is not valid. Valid: {valid}")]
    Parameter { parameter: &'static str, given: String, valid: &'static str },

    #[error("CAP010: {source_name}, line {line}: {detail}")]
    Sample { source_name: String, line: usize, detail: String },

    #[error("CAP011: {source_name} gives no {metric}, which {needed_by} needs. It gives: {given}")]
    MissingMetric { source_name: String, metric: &'static str, needed_by: String, given: String },

    #[error("CAP012: {source_name} ended before the first decision: {had} samples, {needed} needed")]
    Ended { source_name: String, had: usize, needed: usize },

    #[error("CAP013: {source_name}: nothing writes to it since {silence:?}. Is the other end running?")]
    Silent { source_name: String, silence: std::time::Duration },

    #[error("CAP020: the model {path} cannot be used: {detail}")]
    Model { path: PathBuf, detail: String },

    #[error("CAP021: no model can be fitted: {detail}")]
    Fit { detail: String },

    #[error(
        "CAP030: this machine has one memory node (node{only}): there is no CXL memory to place pages on. \
         Online it as a node (daxctl reconfigure-device --mode=system-ram), or look at what would happen with --dry-run"
    )]
    OneNode { only: u32 },

    #[error("CAP031: node{node} has no memory here. Nodes with memory: {valid}")]
    UnknownNode { node: u32, valid: String },

    #[error("CAP032: {detail}. Name the nodes with --ddr and --cxl; nodes with memory: {valid}")]
    Topology { detail: String, valid: String },

    #[error(
        "CAP033: this kernel has no weighted interleave ({path} is missing). \
         It needs Linux 6.9 or later with CONFIG_NUMA; this is {release}"
    )]
    NoWeightedInterleave { path: PathBuf, release: String },

    #[error("CAP034: the kernel refuses {policy} on {nodes}: {source}. {next}")]
    Policy { policy: &'static str, nodes: String, next: &'static str, source: std::io::Error },

    #[error("CAP040: another controller holds the weights (process {holder}). Stop it first; one at a time ({path})")]
    Locked { holder: String, path: PathBuf },

    #[error("CAP041: the journal {path} cannot be read: {detail}. Look at the weights, then remove it")]
    Journal { path: PathBuf, detail: String },

    #[error("CAP042: {path} reads {found:?} after {wrote:?} was written: something else sets it")]
    NotTaken { path: PathBuf, wrote: String, found: String },

    #[error(
        "CAP050: the counters that Caption needs are missing:\n{missing}\nWithout counters: --replay FILE or --stream PATH"
    )]
    Counters { missing: String },

    #[error(
        "CAP051: no event table for this processor ({found}). Tables: {valid}. Without counters: --replay FILE or --stream PATH"
    )]
    Processor { found: String, valid: String },

    #[error("CAP052: the event {event} cannot be opened on {pmu}: {source}. {next}")]
    Event { event: String, pmu: String, next: String, source: std::io::Error },

    #[error("CAP053: the event table {table}: {detail}")]
    Table { table: &'static str, detail: String },

    #[error("CAP060: pages of process {pid} cannot be moved: {source}")]
    MovePages { pid: u32, source: std::io::Error },

    #[error("CAP070: {program} cannot be started: {source}")]
    Program { program: String, source: std::io::Error },

    #[error("CAP090: cannot {action} {path}: {source}")]
    Io { action: &'static str, path: PathBuf, source: std::io::Error },
}

impl Error {
    /// The adapter for `map_err` on file work.
    pub fn io(action: &'static str, path: impl AsRef<Path>) -> impl FnOnce(std::io::Error) -> Error {
        let path = path.as_ref().to_path_buf();
        move |source| Error::Io { action, path, source }
    }
}
