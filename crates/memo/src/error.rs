//! Errors of memo: a stable code, the cause, the next step.

use cxlab_kernel::Bytes;
use std::path::{Path, PathBuf};

pub type Result<T> = std::result::Result<T, Error>;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("MEM001: {parameter}: {given} is not valid. Valid: {valid}")]
    Parameter { parameter: &'static str, given: String, valid: String },

    #[error("MEM002: {what} of {given} is too small: {needed} at least, because {reason}")]
    TooSmall { what: &'static str, given: Bytes, needed: Bytes, reason: String },

    #[error("MEM003: {asked} threads on {available} CPUs ({cpus}){extra}. Valid: --threads 1 to {most}")]
    Threads { asked: usize, available: usize, cpus: String, extra: &'static str, most: usize },

    #[error(
        "MEM010: CPU {cpu} is not for this process. CPUs that it may use: {allowed}. A cpuset, taskset or container sets them"
    )]
    CpuNotAllowed { cpu: usize, allowed: String },

    #[error(
        "MEM011: no permission to pin a thread to CPU {cpu}: {source}. A sandbox filters sched_setaffinity(2); run outside of it"
    )]
    Pin { cpu: usize, source: std::io::Error },

    #[error("MEM020: node {node} has no memory here. Nodes with memory: {valid}")]
    NodeWithoutMemory { node: u32, valid: String },

    #[error("MEM021: node {node} has {free} free; {needed} are needed. Give a smaller --size, or fewer threads")]
    NodeFull { node: u32, free: Bytes, needed: Bytes },

    #[error(
        "MEM022: the kernel does not bind memory to node {node}: {source}. \
         It needs a kernel with CONFIG_NUMA, and a cpuset or sandbox that allows node and mbind(2)"
    )]
    Bind { node: u32, source: std::io::Error },

    #[error(
        "MEM023: memory bound to node {node} is not there: of {checked} pages, {elsewhere} are elsewhere ({first})"
    )]
    Misplaced { node: u32, checked: usize, elsewhere: usize, first: String },

    #[error("MEM024: no {given} of memory: {source}")]
    Map { given: Bytes, source: std::io::Error },

    #[error(
        "MEM025: only {got} of {asked} came as 2 MiB pages. Set /sys/kernel/mm/transparent_hugepage/enabled to madvise or always \
         (it reads \"{setting}\"), free memory, or measure with --pages 4KiB"
    )]
    NoHugePages { got: Bytes, asked: Bytes, setting: String },

    #[error("MEM030: this processor lacks {missing}: memo's accesses are AVX2 or AVX-512 instructions")]
    Processor { missing: &'static str },

    #[error("MEM031: the time-stamp counter does not keep time here: {detail}")]
    Tsc { detail: String },

    #[error("MEM040: {path}, line {line}: {detail}")]
    Import { path: PathBuf, line: usize, detail: String },

    #[error("MEM041: {path}: {detail}")]
    ImportFile { path: PathBuf, detail: String },

    #[error("MEM050: interrupted before anything was measured")]
    NothingMeasured,

    #[error("MEM090: cannot {action} {path}: {source}")]
    Io { action: &'static str, path: PathBuf, source: std::io::Error },
}

impl Error {
    /// The adapter for `map_err` on file work.
    pub fn io(action: &'static str, path: impl AsRef<Path>) -> impl FnOnce(std::io::Error) -> Error {
        let path = path.as_ref().to_path_buf();
        move |source| Error::Io { action, path, source }
    }
}
