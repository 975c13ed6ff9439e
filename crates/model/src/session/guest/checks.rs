//! Checks a stream. It may name only vCPUs that exist and pages that it has told, and no more time than a clock
//! holds.

use cxlab_access::record::MemoryAccess;
use cxlab_access::{PageId, Record, Vcpu};
use cxlab_kernel::Time;

use super::{Guest, RecordSource};
use crate::error::ModelError;

/// The longest simulated time that a stream may tell of: a fourth of what [`Time`] holds, 53 days.
pub(super) const MOST_TIME: Time = Time::from_ps(1 << 62);

impl<S: RecordSource> Guest<S> {
    #[inline]
    pub(super) fn check_page(&self, access: MemoryAccess) -> Result<(), ModelError> {
        access.page.map_or(Ok(()), |page| self.check_told(page.id))
    }

    #[inline]
    pub(super) fn check_told(&self, page: PageId) -> Result<(), ModelError> {
        if page.0.get() > self.pages {
            return Err(ModelError::Stream { cause: format!("page {} was never told", page.0) });
        }
        Ok(())
    }

    pub(super) fn check_vcpu(&self, vcpu: Vcpu, record: Record) -> Result<(), ModelError> {
        if vcpu.index() >= self.readers.len() {
            let cause = format!("{record:?} is of vCPU {}, but there are {}", vcpu.index(), self.readers.len());
            return Err(ModelError::Stream { cause });
        }
        Ok(())
    }

    /// A core that sleeps comes to none of its records: one that wakes a core, itself too, would be without effect.
    pub(super) fn check_awake(&self, index: usize, record: Record) -> Result<(), ModelError> {
        if self.sleeps(index) {
            return Err(ModelError::Stream { cause: format!("{record:?} is of vCPU {index}, which sleeps") });
        }
        Ok(())
    }

    /// A vCPU that stood still for a device kept the others waiting, or not. No sample of several vCPUs tells any more.
    pub(super) fn check_stands(&self, record: Record) -> Result<(), ModelError> {
        if matches!(record, Record::Device { .. }) && self.readers.len() > 1 && self.windows.is_some() {
            let cause = "it is a sample of several vCPUs by a CXLab whose vCPUs stood still for the host's files; record it again";
            return Err(ModelError::Stream { cause: cause.into() });
        }
        Ok(())
    }

    /// The stream says that a span of time passes: all of these together stay within what a clock of 64 bits holds.
    pub(super) fn check_time(&mut self, ps: u64) -> Result<(), ModelError> {
        match self.told.as_ps().checked_add(ps) {
            Some(told) if told <= MOST_TIME.as_ps() => self.told = Time::from_ps(told),
            _ => return Err(too_long(ps)),
        }
        Ok(())
    }
}

#[cold]
pub(super) fn too_long(ps: u64) -> ModelError {
    ModelError::Stream { cause: format!("it tells of {ps} ps, more than the {MOST_TIME} that a run may take") }
}
