//! Posted requests, which have left the core and are not yet acknowledged: combined lines, flushes, write-backs.
//!
//! A store waits here until the line that leaves for it has a fill buffer. A fence waits until all posted requests are
//! acknowledged.

use cxlab_kernel::Time;

use super::cpi_stack::Late;
use super::misses::Waiting;
use super::order::StoreNumber;
use super::window::Waiter;
use super::write_combining::Combined;
use super::{Core, Pause, Uncore, Wait};
use crate::addr::Hpa;
use crate::cache::{Reference, ReferenceKind};
use crate::error::ModelError;
use crate::feed::LineAccess;
use crate::request::{Op, Want};

/// Requests that bring no line.
#[derive(Clone, Debug, Default)]
pub struct Posted {
    under_way: u32,
    /// when the last one was acknowledged
    last: Time,
    /// fences that wait for all requests under way
    fences: Vec<StoreNumber>,
    /// flushes and write-backs that wait for their line; they count as under way
    behind: Vec<(StoreNumber, Hpa, Op)>,
}

impl Posted {
    /// When the last request was acknowledged; `None` if one is under way.
    pub fn all_acknowledged(&self) -> Option<Time> {
        (self.under_way == 0).then_some(self.last)
    }

    pub fn fence(&mut self, store: StoreNumber) {
        self.fences.push(store);
    }

    fn wait_behind(&mut self, store: StoreNumber, line: Hpa, op: Op) {
        self.under_way += 1;
        self.behind.push((store, line, op));
    }

    fn go_on(&mut self, store: StoreNumber) -> (Hpa, Op) {
        let place = self.behind.iter().position(|(waiting, ..)| *waiting == store).expect("it waits for its line");
        self.under_way -= 1;
        let (_, line, op) = self.behind.swap_remove(place);
        (line, op)
    }
}

impl Core {
    /// Commits a non-temporal store. Returns whether the store waits for the fill buffer of the line that leaves for
    /// it.
    pub(super) fn combine<U: Uncore>(
        &mut self,
        store: StoreNumber,
        access: LineAccess,
        bytes: u8,
        at: Time,
        uncore: &mut U,
    ) -> Result<bool, ModelError> {
        let line = access.line();
        if !self.combining.gathers(line) {
            self.give_up_copy(line, at, uncore);
        }
        let Some(combined) = self.combining.write(access.address, bytes) else { return Ok(false) };
        self.post_combined(combined, Some(store), at, uncore)
    }

    /// Commits a flush or write-back. Returns whether it waits for a fill buffer or for a line on its way here. It is
    /// ordered behind older stores to its line (Intel SDM vol. 2, CLFLUSH and CLWB).
    pub(super) fn flush<U: Uncore>(
        &mut self,
        store: StoreNumber,
        line: Hpa,
        op: Op,
        at: Time,
        uncore: &mut U,
    ) -> Result<bool, ModelError> {
        if let Some(waiters) = self.misses.join(line, false) {
            *waiters = self.window.link(Waiter::Flush(store), *waiters);
            self.posted.wait_behind(store, line, op);
            return Ok(true);
        }
        self.stats.flushes.increment();
        if let Some(combined) = self.combining.give_up(line) {
            self.post_combined(combined, None, at, uncore)?;
        }
        if op == Op::Flush {
            self.give_up_copy(line, at, uncore);
        } else if self.caches.clean(line) {
            uncore.cleaned(self.id, line, at);
        }
        self.post(line, op, Some(store), at, uncore)
    }

    /// Resumes a flush or write-back whose line has come at `at`.
    pub(super) fn flush_behind<U: Uncore>(
        &mut self,
        store: StoreNumber,
        at: Time,
        uncore: &mut U,
    ) -> Result<(), ModelError> {
        let (line, op) = self.posted.go_on(store);
        if !self.flush(store, line, op, at, uncore)? {
            self.stores.filled(store, at);
        }
        Ok(())
    }

    /// Sends a line from its write-combining buffer. Returns whether `store` waits for a fill buffer.
    pub(super) fn post_combined<U: Uncore>(
        &mut self,
        combined: Combined,
        store: Option<StoreNumber>,
        at: Time,
        uncore: &mut U,
    ) -> Result<bool, ModelError> {
        let Combined { line, whole } = combined;
        let (op, counter) = if whole {
            (Op::NonTemporal, &mut self.stats.combined_lines)
        } else {
            (Op::NonTemporalPart, &mut self.stats.partial_lines)
        };
        counter.increment();
        self.post(line, op, store, at, uncore)
    }

    fn post<U: Uncore>(
        &mut self,
        line: Hpa,
        op: Op,
        store: Option<StoreNumber>,
        at: Time,
        uncore: &mut U,
    ) -> Result<bool, ModelError> {
        let by = Reference::of_core(self.id, ReferenceKind::WriteBack);
        let key = uncore.request(Want { by, line, op, born: at, translated: at }, None)?;
        self.posted.under_way += 1;
        if let Some(at) = self.misses.buffers.take(at) {
            self.enter_superqueue(key, at, uncore);
            return Ok(false);
        }
        self.misses.buffers.wait(Waiting::Posted(key, store));
        Ok(store.is_some())
    }

    /// Empties all write-combining buffers.
    pub(super) fn drain_combining<U: Uncore>(&mut self, at: Time, uncore: &mut U) -> Result<(), ModelError> {
        while let Some(combined) = self.combining.drain() {
            self.post_combined(combined, None, at, uncore)?;
        }
        Ok(())
    }

    /// Counts the acknowledgement of a request that brings no line.
    pub(super) fn acknowledged(&mut self, at: Time) {
        self.posted.under_way -= 1;
        self.posted.last = self.posted.last.max(at);
        if self.posted.under_way == 0 {
            for fence in self.posted.fences.drain(..) {
                self.stores.filled(fence, at);
            }
        }
    }

    /// Waits until all stores so far have left the core and no request of theirs is under way. `None` if that is so
    /// already.
    pub(super) fn await_stores<U: Uncore>(&mut self, uncore: &mut U) -> Result<Option<Pause>, ModelError> {
        let from = self.now();
        match self.stores_left(uncore)? {
            Ok(at) => {
                if at > from {
                    self.stack.late_for_stores();
                }
                self.front.advance_to(at);
                Ok(None)
            }
            Err(pause) => {
                if pause == Pause::Blocked(Wait::Stores) {
                    self.stack.late(Late::Requests);
                }
                Ok(Some(pause))
            }
        }
    }

    /// When all is committed, all stores so far have left the core, and no request of theirs is under way. `Err` says what has
    /// to be waited for before that is known.
    pub(super) fn stores_left<U: Uncore>(&mut self, uncore: &mut U) -> Result<Result<Time, Pause>, ModelError> {
        if !self.window.all_committed() {
            return Ok(Err(Pause::Blocked(Wait::Commit)));
        }
        let at = self.now();
        if uncore.has_to_wait(self.id, at) {
            uncore.resume(self.id, at);
            return Ok(Err(Pause::Behind));
        }
        self.drain_combining(at, uncore)?;
        let left = self.stores.all_left().zip(self.posted.all_acknowledged());
        Ok(left.map(|(stores, posted)| at.max(stores).max(posted)).ok_or(Pause::Blocked(Wait::Stores)))
    }
}
