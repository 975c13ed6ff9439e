//! Locked instructions: each begins when all earlier work is done, and later loads wait for it.
//!
//! ```text
//!   store  store  LOCK ADD  add  load      dispatched one behind the other, as ever
//!     '------'-->| all have left the core
//!                |--line, 18 cycles-->|--> load       the add waits for nobody
//! ```
//!
//! A locked instruction is a row of the window like others, so later instructions that need no memory go on. It begins
//! when three conditions hold. It is the oldest row, all earlier stores have left the store queue, and no posted line
//! is under way. Not modelled: early look-ups of later loads, which silicon repeats if another core takes their line
//! meanwhile. Source: Intel SDM vol. 3, 8.2.3.9 (loads and stores are not reordered with locked instructions) and
//! 11.3.1 (they empty the write-combining buffers). Locked instructions are not among the serialising instructions of
//! 8.3.

use std::collections::VecDeque;

use cxlab_kernel::Time;

use super::cpi_stack::Source;
use super::order::{Sequence, StoreNumber};
use super::{Core, Uncore};
use crate::error::ModelError;

/// A locked instruction that has not begun.
#[derive(Clone, Copy, Debug)]
struct Pending {
    row: Sequence,
    /// the first store that is not before this instruction
    behind: StoreNumber,
    /// it was the oldest row while a store or posted line was under way
    waited: bool,
}

/// The locked instructions of the window.
#[derive(Clone, Debug, Default)]
pub struct LockedRows {
    /// the last one; later loads wait for it
    last: Option<Sequence>,
    pending: VecDeque<Pending>,
}

impl LockedRows {
    /// Adds a locked instruction that was dispatched. Its row waits until [`Core::begin_locked`].
    pub fn dispatched(&mut self, row: Sequence, behind: StoreNumber) {
        self.last = Some(row);
        self.pending.push_back(Pending { row, behind, waited: false });
    }

    #[inline]
    pub fn wait(&self) -> bool {
        !self.pending.is_empty()
    }
}

impl Core {
    /// When the locked instruction ahead of a load is done. `Err` names the row that the load must wait for.
    #[inline]
    pub(super) fn lock_done(&mut self) -> Result<Time, Sequence> {
        match self.locked.last {
            Some(lock) if !self.window.has_forgotten(lock) => self.window.complete(lock).ok_or(lock),
            _ => Ok(Time::ZERO),
        }
    }

    /// Begins the oldest row, if it is a locked instruction and no earlier store or posted line is under way. Returns
    /// whether it did.
    pub(super) fn begin_locked<U: Uncore>(&mut self, uncore: &mut U) -> Result<bool, ModelError> {
        let Some(first) = self.locked.pending.front().copied() else { return Ok(false) };
        if !self.window.is_oldest(first.row) {
            return Ok(false);
        }
        let committed = self.commit.now();
        self.drain_combining(committed, uncore)?;
        let Some(left) = self.all_done_before(first.behind) else {
            self.locked.pending[0].waited = true;
            return Ok(false);
        };
        self.locked.pending.pop_front();
        let entry = self.window.entry(first.row);
        entry.address_ready = entry.address_ready.max(committed).max(left);
        entry.address_waits -= 1;
        if entry.address_waits == 0 && entry.touches {
            self.issue_row(first.row, uncore)?;
        }
        let entry = self.window.entry(first.row);
        if first.waited {
            entry.source = Source::Request;
        }
        if let Some(complete) = self.finish(first.row) {
            let waiters = std::mem::take(&mut self.window.entry(first.row).waiters);
            self.awake.push((waiters, complete));
        }
        Ok(true)
    }

    /// When the last store before this one left the core and the last posted line was acknowledged. `None` if that is
    /// not known.
    fn all_done_before(&self, store: StoreNumber) -> Option<Time> {
        Some(self.stores.left_before(store)?.max(self.posted.all_acknowledged()?))
    }
}
