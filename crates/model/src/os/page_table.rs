//! The page table says where each page of all address spaces is.
//!
//! One table serves all processes. Each process has a stretch of page numbers of its own. Not modelled: levels and
//! their memory, TLB misses (the cores have no TLB), dirty bits.

use cxlab_kernel::Time;

use super::Frame;
use crate::addr::PageNumber;

/// Where a page is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mapping {
    Untouched,
    Present(Frame),
    /// there, but the next access faults (PROT_NONE), since
    Hinted(Frame, Time),
    /// a migration entry: whoever touches it waits
    Moving(Frame),
    Swapped,
}

/// A page's entry, and what the kernel keeps beside it.
#[derive(Clone, Copy, Debug)]
pub struct Page {
    pub mapping: Mapping,
    /// set by page walks, cleared by the LRU
    pub accessed: bool,
    /// demoted since it was promoted last (TPP's PG_demoted)
    pub demoted: bool,
    /// on the active list of its node
    pub active: bool,
    /// which of its entries on LRU lists is the valid one
    pub stamp: u32,
    pub process: u16,
}

pub(super) struct PageTable {
    pages: Vec<Page>,
}

impl Mapping {
    /// Its frame, if it is in memory.
    #[must_use]
    pub fn frame(self) -> Option<Frame> {
        match self {
            Mapping::Present(frame) | Mapping::Hinted(frame, _) | Mapping::Moving(frame) => Some(frame),
            Mapping::Untouched | Mapping::Swapped => None,
        }
    }
}

impl PageTable {
    pub fn new() -> PageTable {
        PageTable { pages: Vec::new() }
    }

    /// A stretch of pages for one more process: the first of them.
    pub fn add(&mut self, process: usize, pages: u32) -> PageNumber {
        let first = PageNumber(self.pages.len() as u32);
        let page = Page {
            mapping: Mapping::Untouched,
            accessed: false,
            demoted: false,
            active: false,
            stamp: 0,
            process: process as u16,
        };
        self.pages.resize(self.pages.len() + pages as usize, page);
        first
    }

    #[inline]
    pub fn page(&self, number: PageNumber) -> &Page {
        &self.pages[number.0 as usize]
    }

    #[inline]
    pub fn page_mut(&mut self, number: PageNumber) -> &mut Page {
        &mut self.pages[number.0 as usize]
    }
}
