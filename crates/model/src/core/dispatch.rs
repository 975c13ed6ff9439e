//! Dispatch: an instruction gets its row of the window and its entries of the queues.

use cxlab_kernel::Time;

use super::commit::Head;
use super::cpi_stack::Late;
use super::lines::Span;
use super::order::Sequence;
use super::window::{Counts, Entry, Touched, Waiter};
use super::{Core, Pause, Uncore, Wait};
use crate::error::ModelError;
use crate::feed::{Branch, Class, Instruction, LineAccess, Outcome, RegisterSet, Touch};

impl Core {
    /// Dispatches an instruction, or returns why it cannot be dispatched yet.
    #[inline]
    pub(super) fn dispatch<U: Uncore>(
        &mut self,
        instruction: &Instruction,
        counts: Counts,
        accesses: &[LineAccess],
        uncore: &mut U,
    ) -> Result<Option<Pause>, ModelError> {
        let load = accesses.iter().any(|access| !access.store);
        let store = instruction.class == Class::StoreFence || accesses.iter().any(|access| access.store);
        if instruction.class.awaits_stores()
            && let Some(pause) = self.await_stores(uncore)?
        {
            return Ok(Some(pause));
        }
        if let Some(wait) = self.make_room(load, store) {
            return Ok(Some(Pause::Blocked(wait)));
        }
        let at = self.front.next();
        if uncore.has_to_wait(self.id, at) {
            uncore.resume(self.id, at);
            return Ok(Some(Pause::Behind));
        }
        let units = self.timing.micro_operations(instruction.work, accesses.len());
        let at = self.front.take(units);
        if at > self.stack.charged() && self.window.all_committed() {
            self.stack.dispatched(at, counts.mode());
        }
        self.stack.late(Late::Width);
        let mut row = Entry::dispatched(at);
        (row.micro_operations, row.counts, row.class) = (units, counts, instruction.class);
        row.latency = self.timing.latency(instruction.class);
        let sequence = self.window.next();
        (row.address_ready, row.address_waits) = self.operands(instruction.address, at, Waiter::Address(sequence));
        (row.data_ready, row.data_waits) = self.operands(instruction.data, at, Waiter::Data(sequence));
        self.serialise = instruction.class.holds_dispatch();
        let mut touched = Touched::default();
        row.touches = load || store;
        if row.touches {
            row.address_ready = row.address_ready.max(self.drained.at());
            if load {
                match self.lock_done() {
                    Ok(at) => row.address_ready = row.address_ready.max(at),
                    Err(lock) => {
                        row.address_waits += 1;
                        self.window.wait_for(lock, Waiter::Address(sequence));
                    }
                }
            }
            touched = self.enter_queues(sequence, instruction, accesses, load, store);
            row.address_waits += u32::from(touched.touch == Touch::Locked);
            if row.address_waits == 0 {
                row.issued(self.issue(sequence, row.address_ready, &touched, accesses, uncore)?);
            }
        }
        let mut complete = None;
        if !row.waits() {
            complete = Some(self.execute(row.class, row.ready(), touched.store.is_some()) + row.latency);
        }
        self.window.set_writer(instruction.writes, sequence, complete);
        if row.touches && (store || complete.is_none()) {
            touched.lines = self.lines.push(accesses);
        }
        self.enter_window(sequence, row, complete, touched, uncore)?;
        if self.locked.wait() && self.begin_locked(uncore)? {
            self.wake(uncore)?;
        }
        Ok(None)
    }

    /// Returns when the known values of the registers are there, not before `since`, and the number of registers that
    /// are not known. The waiter is put on the list of each of these.
    #[inline]
    fn operands(&mut self, registers: RegisterSet, since: Time, waiter: Waiter) -> (Time, u32) {
        let (mut ready, mut waits) = (since, 0);
        for register in registers {
            match self.window.value(register) {
                Ok(at) => ready = ready.max(at),
                Err(producer) => {
                    waits += 1;
                    self.window.wait_for(producer, waiter);
                }
            }
        }
        (ready, waits)
    }

    /// Puts the row into its place. A complete row that is alone in the window is committed at once, so nothing of it
    /// is read back.
    #[inline]
    fn enter_window<U: Uncore>(
        &mut self,
        sequence: Sequence,
        row: Entry,
        complete: Option<Time>,
        touched: Touched,
        uncore: &mut U,
    ) -> Result<(), ModelError> {
        let alone = self.window.all_committed();
        self.window.push(row, complete);
        match complete {
            Some(complete) if alone => {
                let touched = row.touches.then_some(&touched);
                self.commit_oldest(sequence, Head::of(&row, complete), touched, uncore)?;
            }
            complete => {
                if row.touches {
                    *self.window.touched(sequence) = touched;
                }
                if complete.is_some() {
                    self.commit_all(uncore)?;
                }
            }
        }
        Ok(())
    }

    /// Handles the outcome of the branch that was just dispatched.
    pub(super) fn branch(&mut self, branch: Branch, outcome: Outcome) {
        self.stats.branches.increment();
        if !self.predictor.guessed(branch, outcome) {
            self.stats.mispredictions.increment();
            self.unguessed = Some(self.window.last());
        }
    }

    /// Refills the front end behind a mispredicted branch that is complete.
    pub(super) fn refill_behind(&mut self, branch: Sequence) {
        if let Some(complete) = self.window.complete(branch) {
            self.stack.late(Late::Branch);
            self.front.advance_to(complete + self.timing.refill);
        }
    }

    /// Waits for a row, and for an entry of the load queue and of the store queue.
    #[inline]
    fn make_room(&mut self, load: bool, store: bool) -> Option<Wait> {
        if self.serialise {
            if !self.window.all_committed() {
                return Some(Wait::Commit);
            }
            self.serialise = false;
            self.front.advance_to(self.commit.now());
        }
        if let Some(branch) = self.unguessed {
            if self.window.complete(branch).is_none() {
                return Some(Wait::Branch);
            }
            self.unguessed = None;
            self.refill_behind(branch);
        }
        let Some(at) = self.window.room_at() else {
            self.stats.window_full.increment();
            return Some(Wait::ReorderBuffer);
        };
        self.front.advance_to(at);
        if load {
            let Some(at) = self.window.load_room_at() else {
                self.stats.lsq_full.increment();
                return Some(Wait::LoadQueue);
            };
            self.front.advance_to(at);
        }
        if store { self.make_store_room() } else { None }
    }

    /// Waits for an entry of the store queue.
    #[inline]
    pub(super) fn make_store_room(&mut self) -> Option<Wait> {
        let Some(at) = self.stores.room_at() else {
            self.stats.lsq_full.increment();
            self.stack.late(Late::Requests);
            return Some(Wait::StoreQueue);
        };
        if at > self.front.now() {
            self.stack.late_for_stores();
        }
        self.front.advance_to(at);
        None
    }

    /// Gives the row its entries of the load queue and of the store queue.
    #[inline]
    pub(super) fn enter_queues(
        &mut self,
        sequence: Sequence,
        instruction: &Instruction,
        accesses: &[LineAccess],
        load: bool,
        store: bool,
    ) -> Touched {
        let (touch, bytes) = (instruction.touch, instruction.bytes);
        if load {
            self.window.count_load();
        }
        let first_load = accesses.iter().find(|access| !access.store);
        let source = first_load.and_then(|access| self.forwarding.find(access.word()));
        let ahead = self.stores.next();
        let store = store.then(|| self.stores.dispatch());
        if let Some(number) = store.filter(|_| !matches!(touch, Touch::Flush | Touch::Clean)) {
            for access in accesses.iter().filter(|access| access.store) {
                self.forwarding.stored(access.word(), sequence, number);
            }
        }
        if touch == Touch::Locked {
            self.locked.dispatched(sequence, ahead);
        }
        Touched { lines: Span::default(), load, store, source, touch, bytes }
    }

    /// Dispatches a string instruction line by line. A row is a load, a store, or a load and the store of its data.
    pub(super) fn repeat<U: Uncore>(
        &mut self,
        instruction: &Instruction,
        kernel: bool,
        accesses: &[LineAccess],
        uncore: &mut U,
    ) -> Result<Option<Pause>, ModelError> {
        loop {
            let rest = &accesses[self.repeated..];
            let length = match rest {
                [] | [_] => rest.len(),
                [first, second, ..] => 1 + usize::from(!first.store && second.store),
            };
            let first = self.repeated == 0 && !self.repeating;
            let counted = if first { Counts::of(kernel) } else { Counts::Part };
            let part = if first { *instruction } else { instruction.later_part() };
            let pause = self.dispatch(&part, counted, &rest[..length], uncore)?;
            if pause.is_some() {
                return Ok(pause);
            }
            self.repeated += length;
            if self.repeated >= accesses.len() {
                (self.repeated, self.repeating) = (0, true);
                return Ok(None);
            }
        }
    }
}
