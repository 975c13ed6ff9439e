//! The page tables that a machine's cores walk: laid out at once, or told by a guest as it goes.

use super::Machine;
use crate::translation::{LaidTables, Mapping, PageTables};

impl Machine {
    /// Have accesses that name pages find them here.
    pub fn set_page_tables(&mut self, tables: LaidTables) {
        self.shared.tables = PageTables::Laid(tables);
    }

    /// The guest has told of pages, in the order of their ids.
    ///
    /// # Panics
    /// With tables that were laid out.
    pub fn learn(&mut self, pages: impl Iterator<Item = Mapping>) {
        let PageTables::Told(known) = &mut self.shared.tables else { panic!("its page tables were laid out") };
        known.extend(pages);
    }
}
