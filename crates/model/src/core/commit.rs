//! From the last operand to commit, and what a committed store does to its lines.

use cxlab_kernel::Time;

use super::order::{Sequence, StoreNumber};
use super::window::{Entry, Waiter, Waiters};
use super::{Core, Uncore};
use crate::error::ModelError;
use crate::frontend::{Class, Touch};
use crate::request::Op;

impl Core {
    /// Complete a row that waits for nothing: when; `None` if it still waits or was complete before.
    #[inline]
    pub(super) fn finish(&mut self, sequence: Sequence) -> Option<Time> {
        let entry = self.window.entry(sequence);
        if entry.address_waits > 0 || entry.data_waits > 0 || entry.complete.is_some() {
            return None;
        }
        let complete = entry.data_ready.max(entry.address_ready) + entry.latency;
        entry.complete = Some(complete);
        Some(complete)
    }

    /// All these have what they waited for at `at`; and so has, in turn, who waits for them.
    pub(super) fn wake<U: Uncore>(&mut self, waiters: Waiters, at: Time, uncore: &mut U) -> Result<(), ModelError> {
        let mut lists = std::mem::take(&mut self.awake);
        lists.push((waiters, at));
        while let Some((list, at)) = lists.pop() {
            let Some((waiter, rest)) = self.window.unlink(list) else { continue };
            lists.push((rest, at));
            let sequence = match waiter {
                Waiter::Store(number) => {
                    self.stores.filled(number, at);
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
                    if entry.address_waits == 0 {
                        self.issue(sequence, uncore)?;
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
        self.commit_all(uncore)
    }

    /// Commit in order all that is complete.
    #[inline]
    pub(super) fn commit_all<U: Uncore>(&mut self, uncore: &mut U) -> Result<(), ModelError> {
        while let Some((sequence, complete)) = self.window.head() {
            self.commit.advance_to(complete);
            let at = self.commit.take();
            let entry = *self.window.entry(sequence);
            self.window.commit_head(at);
            if let Some(number) = entry.store {
                self.commit_store(number, &entry, at, uncore)?;
            }
            self.lines.pop(entry.lines);
            let counter =
                if entry.kernel { &mut self.stats.kernel_instructions } else { &mut self.stats.user_instructions };
            counter.increment();
        }
        Ok(())
    }

    /// A committed store asks for its lines, or sends them.
    fn commit_store<U: Uncore>(
        &mut self,
        number: StoreNumber,
        entry: &Entry,
        at: Time,
        uncore: &mut U,
    ) -> Result<(), ModelError> {
        let (mut waiting, mut filled, mut index) = (0, at, 0);
        while let Some(access) = self.lines.get(entry.lines, index) {
            index += 1;
            if !access.store {
                continue;
            }
            self.stats.stores.increment();
            let leaves = match entry.touch {
                Touch::NonTemporal if !access.device => self.combine(number, access, entry.bytes, at, uncore)?,
                Touch::Flush => self.flush(number, access.line(), Op::Flush, at, uncore)?,
                Touch::Clean => self.flush(number, access.line(), Op::Clean, at, uncore)?,
                _ => match self.fetch(access, Op::Own, Some(Waiter::Store(number)), at, uncore)? {
                    Some(ready) => {
                        filled = filled.max(ready);
                        false
                    }
                    None => true,
                },
            };
            waiting += u32::from(leaves);
        }
        if entry.class == Class::StoreFence {
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
