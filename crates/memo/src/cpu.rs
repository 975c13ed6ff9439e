//! CPUs that this process may use, and pinning a thread to one.

use crate::error::{Error, Result};
use crate::list;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// The CPUs of this process's affinity mask, ascending. Threads inherit the mask: ask before the first is pinned.
pub fn allowed() -> Result<Vec<usize>> {
    let set = sched_getaffinity(None).map_err(|e| Error::io("read", "this process's CPU affinity")(e.into()))?;
    Ok((0..CpuSet::MAX_CPU).filter(|&cpu| set.is_set(cpu)).collect())
}

/// `wanted`, or all that are allowed. MEM010 for one that is not.
pub fn choose(wanted: Option<&str>, allowed: &[usize]) -> Result<Vec<usize>> {
    let Some(text) = wanted else { return Ok(allowed.to_vec()) };
    let valid = || format!("a list such as 0-3,8 out of {}", list::write(allowed));
    let cpus = list::parse(text).filter(|cpus| !cpus.is_empty());
    let cpus =
        cpus.ok_or_else(|| Error::Parameter { parameter: "--cpus", given: format!("{text:?}"), valid: valid() })?;
    match cpus.iter().find(|cpu| !allowed.contains(cpu)) {
        Some(&cpu) => Err(Error::CpuNotAllowed { cpu, allowed: list::write(allowed) }),
        None => Ok(cpus),
    }
}

/// The calling thread runs on `cpu` alone from now on.
pub fn pin(cpu: usize) -> Result<()> {
    let mut set = CpuSet::new();
    set.set(cpu);
    sched_setaffinity(None, &set).map_err(|e| match e {
        rustix::io::Errno::INVAL => {
            Error::CpuNotAllowed { cpu, allowed: allowed().map_or_else(|_| "unknown".into(), |a| list::write(&a)) }
        }
        other => Error::Pin { cpu, source: other.into() },
    })
}

/// Pins the calling thread for as long as this lives; then the thread may run where it could before.
#[derive(Debug)]
pub struct Pinned {
    before: CpuSet,
}

impl Pinned {
    pub fn to(cpu: usize) -> Result<Pinned> {
        let before = sched_getaffinity(None).map_err(|e| Error::Pin { cpu, source: e.into() })?;
        pin(cpu)?;
        Ok(Pinned { before })
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        // The mask was this thread's a moment ago; a refusal leaves it pinned, which harms no figure.
        let _ = sched_setaffinity(None, &self.before);
    }
}
