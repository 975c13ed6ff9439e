//! Page tables: what a guest has told of its own, or tables laid out for a synthetic kernel.
//!
//! ```text
//!   laid out:  | PTEs of pages 0, 1, 2 ... | PDEs ... | PDPTEs ... | PML4 |     each 8 B, tables of 4 KiB end to end
//! ```

use std::num::NonZeroU32;
use std::sync::Arc;

use cxlab_kernel::Bytes;
use rustc_hash::FxHashMap;

use super::{Mapping, Page, PageId, PageSize};
use crate::addr::{Hpa, LINE_BYTES, PAGE_BYTES};

/// Bytes of an entry (Intel SDM vol. 3, 4.5).
const ENTRY_BYTES: u64 = 8;
/// Entries of a table.
const ENTRIES: u64 = PAGE_BYTES / ENTRY_BYTES;

/// Mappings of pages, by their ids.
#[derive(Clone, Debug)]
pub enum PageTables {
    /// those that records may still name
    Told(FxHashMap<PageId, Mapping>),
    Laid(LaidTables),
}

impl PageTables {
    /// `None` of a page that was never told, or that another has replaced.
    #[inline]
    #[must_use]
    pub fn mapping(&self, page: PageId) -> Option<Mapping> {
        match self {
            PageTables::Told(mappings) => mappings.get(&page).copied(),
            PageTables::Laid(tables) => Some(tables.mapping(u64::from(page.0.get() - 1))),
        }
    }
}

/// Tables of four levels for pages of one size, one address space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaidTables {
    /// first byte of the lowest tables
    base: Hpa,
    size: PageSize,
    /// pages mapped
    pages: u64,
}

impl LaidTables {
    #[must_use]
    pub fn new(base: Hpa, size: PageSize, pages: u64) -> LaidTables {
        LaidTables { base, size, pages }
    }

    /// Entries that a walk reads.
    fn reads(&self) -> usize {
        match self.size {
            PageSize::Kib4 => 4,
            PageSize::Mib2 => 3,
            PageSize::Gib1 => 2,
        }
    }

    /// First byte of each level after `base`, from the lowest level, then the first byte after all of them.
    fn starts(&self) -> impl Iterator<Item = u64> {
        let mut entries = self.pages;
        let levels = (0..self.reads()).map(move |_| {
            let tables = entries.div_ceil(ENTRIES).max(1);
            entries = tables;
            tables * PAGE_BYTES
        });
        levels.chain([0]).scan(0, |start, length| {
            let here = *start;
            *start += length;
            Some(here)
        })
    }

    /// Size of all tables.
    #[must_use]
    pub fn bytes(&self) -> Bytes {
        Bytes::new(self.starts().last().unwrap_or(0))
    }

    /// Lines of entries that map so many lines of memory.
    #[must_use]
    pub fn lines_for(&self, lines: u64) -> u64 {
        let pages = (lines * LINE_BYTES).div_ceil(1 << self.size.shift());
        (pages * ENTRY_BYTES).div_ceil(LINE_BYTES)
    }

    /// Page `number` as an access names it.
    ///
    /// # Panics
    /// Beyond what is mapped.
    #[must_use]
    pub fn page(&self, number: u64) -> Page {
        assert!(number < self.pages, "page {number} of {}", self.pages);
        let id = u32::try_from(number + 1).ok().and_then(NonZeroU32::new).expect("fewer than 2^32 pages");
        Page::new(PageId(id), self.size, number)
    }

    fn mapping(&self, number: u64) -> Mapping {
        let reads = self.reads();
        let mut entries = [0; Mapping::MOST_READS];
        let mut index = number;
        for (level, start) in self.starts().take(reads).enumerate() {
            entries[reads - 1 - level] = self.base.get() + start + index * ENTRY_BYTES;
            index /= ENTRIES;
        }
        Mapping { size: self.size, pcid: 0, global: false, upper: false, reads: reads as u8, entries }
    }
}

/// Address space of a synthetic kernel: the place of each frame of its memory.
#[derive(Clone, Debug)]
pub struct AddressSpace {
    pub tables: LaidTables,
    /// from frames of 2 MiB to their places, in frames
    places: Arc<FxHashMap<u64, u64>>,
}

impl AddressSpace {
    /// Frames of 2 MiB by their first bytes, in the order of their virtual addresses.
    #[must_use]
    pub fn frames(frames: impl Iterator<Item = u64>) -> Arc<FxHashMap<u64, u64>> {
        let shift = PageSize::Mib2.shift();
        Arc::new(frames.enumerate().map(|(place, frame)| (frame >> shift, place as u64)).collect())
    }

    /// # Panics
    /// For pages of 1 GiB, which no frame of 2 MiB holds.
    #[must_use]
    pub fn new(places: Arc<FxHashMap<u64, u64>>, base: Hpa, size: PageSize) -> AddressSpace {
        assert!(size != PageSize::Gib1, "frames are of 2 MiB");
        let pages = (places.len() as u64) << (PageSize::Mib2.shift() - size.shift());
        AddressSpace { tables: LaidTables::new(base, size, pages), places }
    }

    /// The entries of the page tables that map a place, from the top.
    pub fn entries(&self, address: Hpa) -> impl Iterator<Item = Hpa> + use<> {
        let number = u64::from(self.page(address).id.0.get() - 1);
        let Mapping { reads, entries, .. } = self.tables.mapping(number);
        entries.into_iter().take(usize::from(reads)).map(Hpa::new)
    }

    /// The page that the kernel reaches this place through.
    ///
    /// # Panics
    /// For a place outside of its frames.
    #[inline]
    #[must_use]
    pub fn page(&self, address: Hpa) -> Page {
        let (large, shift) = (PageSize::Mib2.shift(), self.tables.size.shift());
        let frame = self.places.get(&(address.get() >> large)).expect("a kernel stays within its frames");
        let inside = address.get() & ((1 << large) - 1);
        self.tables.page((frame << large | inside) >> shift)
    }
}
