//! A process: its pages, its cores, its mempolicy, and its place in the scan for hint faults.

use std::ops::Range;

use cxlab_kernel::Time;

use super::{PageNumber, Placement};

/// An address space and the cores that run in it.
#[derive(Clone, Debug)]
pub struct Process {
    pub(super) first: PageNumber,
    pub(super) count: u32,
    pub(super) cores: Range<usize>,
    pub(super) placement: Placement,
    /// the page that the scan looks at next, from the first
    pub(super) cursor: u32,
    pub(super) next_scan: Time,
}

impl Process {
    pub fn pages(&self) -> impl Iterator<Item = PageNumber> + use<> {
        (self.first.0..self.first.0 + self.count).map(PageNumber)
    }

    #[must_use]
    pub fn cores(&self) -> Range<usize> {
        self.cores.clone()
    }
}
