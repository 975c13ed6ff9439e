//! Errors, each with a stable code, the cause and the next step.

use std::path::PathBuf;

use cxlab_access::PageId;
use cxlab_access::trace::TraceError;
use cxlab_kernel::{Time, order};

/// An error of the model; the code stays the same for as long as the project lives.
#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    #[error("CFG001: cannot read {path}: {cause}")]
    Unreadable { path: PathBuf, cause: std::io::Error },
    /// A file is not written as its format wants it. The message says where, and what is valid.
    #[error("CFG002: {file}:{line}:{column}: {cause}")]
    Invalid { file: String, line: usize, column: usize, cause: String },
    #[error("CFG003: there is no {kind} `{name}`; valid: {valid}")]
    UnknownName { kind: &'static str, name: String, valid: String },
    /// Values that are valid one by one contradict each other, or what was asked of the machine. The message says which.
    #[error("CFG004: {file}: {cause}")]
    Inconsistent { file: String, cause: String },
    /// A value of the machine cannot be set so. `cxlab machines show` lists the keys with their values and units.
    #[error("CFG005: --set {setting}: {cause}")]
    Setting { setting: String, cause: String },
    #[error("RUN001: the stream of the guest is damaged: {cause}; record it again, or report a bug of CXLab")]
    Stream { cause: String },
    #[error("RUN002: nothing can happen any more: {who} waits for {what} since {since}; report a bug of CXLab")]
    Deadlock { who: String, what: String, since: Time },
    #[error("RUN003: the physical address {address:#x} belongs to no memory of machine {machine}: {ranges}")]
    NoMemory { address: u64, machine: String, ranges: String },
    #[error("RUN004: cannot write {path}: {cause}")]
    Unwritable { path: PathBuf, cause: std::io::Error },
    #[error("RUN005: the ring cannot be used: {cause}")]
    Ring { cause: std::io::Error },
    #[error("RUN006: the trace gave {recorded} ps at answer {index}, this machine gives {replayed} ps")]
    Diverged { index: u64, recorded: u64, replayed: u64 },
    #[error(
        "RUN007: time went back {count} times in the model, first for {what}: {came} came after {had_come}; \
         the figures of this run would be wrong; report a bug of CXLab"
    )]
    TimeWentBack { what: &'static str, had_come: Time, came: Time, count: u64 },
    #[error(
        "RUN008: a rule is broken at {at} in {place}: {rule} ({what}); the figures of this run would be wrong; \
         run `cxlab report-bug RUN` and report a bug of CXLab"
    )]
    BrokenRule { rule: String, place: String, at: Time, what: String },
    #[error(transparent)]
    Trace(#[from] TraceError),
}

impl ModelError {
    /// The error of a simulation on this thread in which time went back, if it did.
    #[must_use]
    pub fn of_broken_order() -> Option<ModelError> {
        let order::Broken { what, had_come_ps, came_ps, count } = order::broken()?;
        let (had_come, came) = (Time::from_ps(had_come_ps), Time::from_ps(came_ps));
        Some(ModelError::TimeWentBack { what, had_come, came, count })
    }

    /// A stream names a page that it has replaced by another.
    #[cold]
    #[must_use]
    pub fn replaced(page: PageId) -> ModelError {
        ModelError::Stream { cause: format!("page {} is named after another has replaced it", page.0) }
    }

    /// The stable code, such as `CFG002`.
    #[must_use]
    pub fn code(&self) -> String {
        self.to_string().chars().take_while(|c| *c != ':').collect()
    }
}
