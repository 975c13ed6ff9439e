//! Tracks pages that others have replaced. The machine drops them when nothing names them any more.
//!
//! ```text
//!   page 9 replaces page 4:  records read before may name 4 --used--> steps --dispatched--> rows --committed--> 4 is dropped
//! ```
//!
//! A row's accesses are translated before it is committed, and a walk has a copy of its mapping. When the machine drops a page
//! changes no result: it only frees memory.

use cxlab_access::PageId;

use super::Reader;
use crate::machine::Machine;

/// Pages that are dropped at once.
const BATCH: usize = 4096;

/// Progress of a vCPU after which it names none of a batch.
#[derive(Clone, Copy, Debug)]
enum Until {
    /// its reader has used so many records
    Used(u64),
    /// its core has committed so many rows
    Committed(u64),
}

/// Pages replaced so far that the machine still has.
#[derive(Debug, Default)]
pub(super) struct Replaced {
    /// the latest
    pages: Vec<PageId>,
    /// those before, and how far each vCPU must come
    batch: Vec<PageId>,
    until: Vec<Until>,
}

impl Replaced {
    /// No later record names this page.
    pub(super) fn push(&mut self, page: PageId) {
        self.pages.push(page);
    }

    /// Drop what nothing names any more.
    pub(super) fn settle(&mut self, readers: &[Reader], machine: &mut Machine) {
        if self.batch.is_empty() {
            if self.pages.len() < BATCH {
                return;
            }
            std::mem::swap(&mut self.pages, &mut self.batch);
            self.until = readers.iter().map(|reader| Until::Used(reader.came())).collect();
        }
        for ((until, reader), core) in self.until.iter_mut().zip(readers).zip(machine.cores()) {
            if let Until::Used(records) = *until
                && reader.used() >= records
                && let Some(rows) = core.dispatched()
            {
                *until = Until::Committed(rows);
            }
        }
        let is_past = |(until, core): (&Until, &crate::core::Core)| match *until {
            Until::Used(_) => false,
            Until::Committed(rows) => core.committed() >= rows,
        };
        if self.until.iter().zip(machine.cores()).all(is_past) {
            machine.drop_pages(&self.batch);
            self.batch.clear();
        }
    }
}
