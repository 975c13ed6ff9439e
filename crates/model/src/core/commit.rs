//! From the last operand to commit, and the effect of a committed store on its lines.

use cxlab_kernel::Time;

use super::cpi_stack::{Oldest, Source};
use super::order::{Sequence, StoreNumber};
use super::window::{Counts, Entry, Touched, Waiter};
use super::{Core, Uncore};
use crate::error::ModelError;
use crate::feed::{Class, LineAccess, Touch};
use crate::request::Op;

/// Properties of the oldest row when it is committed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Head {
    pub complete: Time,
    pub data_ready: Time,
    pub source: Source,
    pub micro_operations: u8,
    pub counts: Counts,
    pub class: Class,
}

impl Head {
    #[inline]
    pub fn of(row: &Entry, complete: Time) -> Head {
        let Entry { data_ready, source, micro_operations, counts, class, .. } = *row;
        Head { complete, data_ready, source, micro_operations, counts, class }
    }
}

impl Core {
    /// Completes a row that waits for nothing, and returns when. `None` if the row still waits or was complete before.
    pub(super) fn finish(&mut self, sequence: Sequence) -> Option<Time> {
        if self.window.complete(sequence).is_some() {
            return None;
        }
        let row = self.window.entry(sequence);
        if row.waits() {
            return None;
        }
        let (ready, class, latency, touches) = (row.ready(), row.class, row.latency, row.touches);
        let stores = touches && self.window.touched(sequence).store.is_some();
        let complete = self.execute(class, ready, stores) + latency;
        self.window.set_complete(sequence, complete);
        Some(complete)
    }

    /// When an instruction whose operands are there at `ready` begins.
    #[inline(always)]
    pub(super) fn execute(&mut self, class: Class, ready: Time, stores: bool) -> Time {
        let begins = self.ports.execute(class, ready);
        if stores { self.ports.store(begins) } else { begins }
    }

    /// Completes every instruction on the lists of `awake`, whose waits are over. Instructions that wait for one of
    /// these are completed in turn.
    pub(super) fn wake<U: Uncore>(&mut self, uncore: &mut U) -> Result<(), ModelError> {
        loop {
            self.wake_all(uncore)?;
            self.commit_all(uncore)?;
            if !self.locked.wait() || !self.begin_locked(uncore)? {
                return Ok(());
            }
        }
    }

    fn wake_all<U: Uncore>(&mut self, uncore: &mut U) -> Result<(), ModelError> {
        let mut lists = std::mem::take(&mut self.awake);
        while let Some((list, at)) = lists.pop() {
            let Some((waiter, rest)) = self.window.unlink(list) else { continue };
            lists.push((rest, at));
            let sequence = match waiter {
                Waiter::Store(number) => {
                    self.stores.filled(number, at);
                    continue;
                }
                Waiter::Flush(number) => {
                    self.flush_behind(number, at, uncore)?;
                    continue;
                }
                Waiter::Walk(place) => {
                    self.entry_came(place, at, &mut lists, uncore)?;
                    continue;
                }
                Waiter::Data(sequence) => {
                    let entry = self.window.entry(sequence);
                    entry.data_ready = entry.data_ready.max(at);
                    entry.data_waits -= 1;
                    sequence
                }
                Waiter::Address(sequence) => {
                    let entry = self.window.entry(sequence);
                    entry.address_ready = entry.address_ready.max(at);
                    entry.address_waits -= 1;
                    // An operand that is not touched (a string of length 0) has no lines to issue.
                    if entry.address_waits == 0 && entry.touches {
                        self.issue_row(sequence, uncore)?;
                    }
                    sequence
                }
            };
            if let Some(complete) = self.finish(sequence) {
                let waiters = std::mem::take(&mut self.window.entry(sequence).waiters);
                lists.push((waiters, complete));
            }
        }
        self.awake = lists;
        Ok(())
    }

    /// Commits all complete rows in order.
    #[inline]
    pub(super) fn commit_all<U: Uncore>(&mut self, uncore: &mut U) -> Result<(), ModelError> {
        while let Some((sequence, complete)) = self.window.head() {
            let row = self.window.entry(sequence);
            let (head, touches) = (Head::of(row, complete), row.touches);
            let touched = touches.then(|| *self.window.touched(sequence));
            self.commit_oldest(sequence, head, touched.as_ref(), uncore)?;
        }
        Ok(())
    }

    /// Commits the oldest row.
    #[inline]
    pub(super) fn commit_oldest<U: Uncore>(
        &mut self,
        sequence: Sequence,
        head: Head,
        touched: Option<&Touched>,
        uncore: &mut U,
    ) -> Result<(), ModelError> {
        let Head { complete, data_ready, source, micro_operations, counts, class } = head;
        self.commit.advance_to(complete);
        let oldest = Oldest { data_ready, complete, source, mode: counts.mode() };
        let at = self.commit.take(micro_operations);
        if self.profile.is_some()
            && let Some((node, stall)) = self.stack.waits_for_memory(oldest)
        {
            self.profile_stall(sequence, node, stall, uncore);
        }
        self.stack.committed(oldest, self.commit.now());
        self.count_committed(counts, micro_operations);
        let Some(touched) = touched else {
            self.window.commit_head(at, false);
            return Ok(());
        };
        self.window.commit_head(at, touched.load);
        if let Some(number) = touched.store {
            self.commit_store(number, touched, class, at, uncore)?;
        }
        self.lines.pop(touched.lines);
        Ok(())
    }

    #[inline]
    pub(super) fn count_committed(&mut self, counts: Counts, micro_operations: u8) {
        match counts {
            Counts::User => self.stats.user_instructions.increment(),
            Counts::Kernel => self.stats.kernel_instructions.increment(),
            Counts::Part => {}
        }
        self.stats.micro_operations.add(u64::from(micro_operations));
    }

    /// A committed store through the caches requests its lines.
    #[inline]
    pub(super) fn commit_plain_store<U: Uncore>(
        &mut self,
        number: StoreNumber,
        accesses: &[LineAccess],
        at: Time,
        uncore: &mut U,
    ) -> Result<(), ModelError> {
        let (mut waiting, mut filled) = (0, at);
        for access in accesses.iter().copied().filter(|access| access.store) {
            self.stats.stores.increment();
            match self.fetch(access, Op::Own, Some(Waiter::Store(number)), at, at, uncore)? {
                Some(ready) => filled = filled.max(ready),
                None => waiting += 1,
            }
        }
        self.stores.commit(number, at, waiting, filled);
        Ok(())
    }

    /// A committed store requests its lines, or sends them.
    fn commit_store<U: Uncore>(
        &mut self,
        number: StoreNumber,
        touched: &Touched,
        class: Class,
        at: Time,
        uncore: &mut U,
    ) -> Result<(), ModelError> {
        let (mut waiting, mut filled, mut index) = (0, at, 0);
        while let Some(access) = self.lines.get(touched.lines, index) {
            index += 1;
            if !access.store {
                continue;
            }
            self.stats.stores.increment();
            let leaves = match touched.touch {
                Touch::NonTemporal if !access.device => self.combine(number, access, touched.bytes, at, uncore)?,
                Touch::Flush => self.flush(number, access.line(), Op::Flush, at, uncore)?,
                Touch::Clean => self.flush(number, access.line(), Op::Clean, at, uncore)?,
                _ => match self.fetch(access, Op::Own, Some(Waiter::Store(number)), at, at, uncore)? {
                    Some(ready) => {
                        filled = filled.max(ready);
                        false
                    }
                    None => true,
                },
            };
            waiting += u32::from(leaves);
        }
        if class == Class::StoreFence {
            self.drain_combining(at, uncore)?;
            if self.posted.all_acknowledged().is_none() {
                self.posted.fence(number);
                waiting += 1;
            }
        }
        self.stores.commit(number, at, waiting, filled);
        Ok(())
    }
}
