//! From the last operand to commit, and what a committed store does to its lines.

use cxlab_kernel::Time;

use super::cpi_stack::Oldest;
use super::order::{Sequence, StoreNumber};
use super::ports::Kind;
use super::window::{Counts, Touched, Waiter};
use super::{Core, Uncore};
use crate::error::ModelError;
use crate::feed::{Class, Touch};
use crate::request::Op;

impl Core {
    /// Complete a row that waits for nothing: when; `None` if it still waits or was complete before.
    #[inline]
    pub(super) fn finish(&mut self, sequence: Sequence) -> Option<Time> {
        let entry = self.window.entry(sequence);
        if entry.address_waits > 0 || entry.data_waits > 0 || entry.complete.is_some() {
            return None;
        }
        let (ready, class, touches) = (entry.data_ready.max(entry.address_ready), entry.class, entry.touches);
        let mut begins = self.ports.begin(Kind::Execute(class), ready);
        if touches && self.window.touched(sequence).store.is_some() {
            begins = self.ports.begin(Kind::Store, begins);
        }
        let entry = self.window.entry(sequence);
        let complete = begins + entry.latency;
        entry.complete = Some(complete);
        Some(complete)
    }

    /// Completes every instruction on the lists of `awake`: what it waited for has come. Instructions that wait for one of
    /// these are completed in turn.
    pub(super) fn wake<U: Uncore>(&mut self, uncore: &mut U) -> Result<(), ModelError> {
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
                    // An operand that was not touched (a string of length 0) has no lines to issue.
                    if entry.address_waits == 0 && entry.touches {
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
            let entry = self.window.entry(sequence);
            let (units, counts, class, touches) = (entry.micro_operations, entry.counts, entry.class, entry.touches);
            let oldest = Oldest { data_ready: entry.data_ready, complete, source: entry.source, mode: counts.mode() };
            let at = self.commit.take(units);
            self.stack.committed(oldest, self.commit.now());
            if touches {
                let touched = *self.window.touched(sequence);
                self.window.commit_head(at, touched.load);
                if let Some(number) = touched.store {
                    self.commit_store(number, &touched, class, at, uncore)?;
                }
                self.lines.pop(touched.lines);
            } else {
                self.window.commit_head(at, false);
            }
            match counts {
                Counts::User => self.stats.user_instructions.increment(),
                Counts::Kernel => self.stats.kernel_instructions.increment(),
                Counts::Part => {}
            }
            self.stats.micro_operations.add(u64::from(units));
        }
        Ok(())
    }

    /// A committed store asks for its lines, or sends them.
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
