//! The page tables that a machine's cores walk. They are laid out at once, or told by a guest as it runs.

use rustc_hash::FxHashMap;

use super::Machine;
use crate::translation::{LaidTables, Mapping, PageId, PageTables};

impl Machine {
    /// Have accesses that name pages find them here.
    pub fn set_page_tables(&mut self, tables: LaidTables) {
        self.shared.tables = PageTables::Laid(tables);
    }

    /// The guest has told of pages.
    ///
    /// # Panics
    /// With tables that were laid out.
    pub fn learn(&mut self, pages: impl Iterator<Item = (PageId, Mapping)>) {
        self.told_pages().extend(pages);
    }

    /// No core will ask for these pages again.
    ///
    /// # Panics
    /// With tables that were laid out.
    pub fn drop_pages(&mut self, pages: &[PageId]) {
        let told = self.told_pages();
        for page in pages {
            told.remove(page);
        }
        self.check_replaced(pages);
    }

    /// Pages told by the guest that cores may ask for.
    #[must_use]
    pub fn known_pages(&self) -> usize {
        match &self.shared.tables {
            PageTables::Told(pages) => pages.len(),
            PageTables::Laid(_) => 0,
        }
    }

    fn told_pages(&mut self) -> &mut FxHashMap<PageId, Mapping> {
        let PageTables::Told(pages) = &mut self.shared.tables else { panic!("its page tables were laid out") };
        pages
    }
}
