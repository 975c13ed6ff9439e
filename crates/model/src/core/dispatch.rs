//! From dispatch to commit: what happens to one instruction.

use cxlab_kernel::{Grant, Time};

use super::forward::LastStore;
use super::lines::Span;
use super::misses::Slot;
use super::order::{Sequence, StoreNumber};
use super::window::{Waiter, Waiters};
use super::{Core, Pause, Uncore, Wait};
use crate::addr::Hpa;
use crate::cache::Hit;
use crate::error::ModelError;
use crate::frontend::{Branch, Class, Instruction, LineAccess, Outcome};
use crate::request::Op;

impl Core {
    /// Dispatch an instruction, or say why not yet.
    #[inline]
    pub(super) fn dispatch<U: Uncore>(
        &mut self,
        instruction: Instruction,
        kernel: bool,
        accesses: &[LineAccess],
        uncore: &mut U,
    ) -> Result<Option<Pause>, ModelError> {
        let load = accesses.iter().any(|access| !access.store);
        let store = accesses.iter().any(|access| access.store);
        if let Some(wait) = self.make_room(load, store) {
            return Ok(Some(Pause::Blocked(wait)));
        }
        let at = self.front.next();
        if uncore.next_event().is_some_and(|event| event < at) {
            uncore.resume(self.id, at);
            return Ok(Some(Pause::Behind));
        }
        let at = self.front.take();
        let sequence = self.window.push(at);
        self.enter(sequence, instruction, kernel, accesses, load, store);
        if self.window.entry(sequence).address_waits == 0 {
            self.issue(sequence, uncore)?;
        }
        if self.finish(sequence).is_some() {
            // Nobody can wait for it yet: it has just been dispatched.
            self.commit_all(uncore)?;
        }
        Ok(None)
    }

    /// The branch that was just dispatched went there.
    pub(super) fn branch(&mut self, branch: Branch, outcome: Outcome) {
        self.stats.branches.increment();
        if !self.predictor.guessed(branch, outcome) {
            self.stats.mispredictions.increment();
            self.unguessed = Some(self.window.last());
        }
    }

    /// Wait for a row, and for an entry of the load and the store queue.
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
            let Some(complete) = self.window.entry(branch).complete else { return Some(Wait::Branch) };
            self.unguessed = None;
            self.front.advance_to(complete + self.timing.refill);
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
        if store {
            let Some(at) = self.stores.room_at() else {
                self.stats.lsq_full.increment();
                return Some(Wait::StoreQueue);
            };
            self.front.advance_to(at);
        }
        None
    }

    /// Fill the row: what it waits for, what will wait for it.
    #[inline]
    fn enter(
        &mut self,
        sequence: Sequence,
        instruction: Instruction,
        kernel: bool,
        accesses: &[LineAccess],
        load: bool,
        store: bool,
    ) {
        for register in instruction.address {
            self.depend(sequence, register, true);
        }
        for register in instruction.data {
            self.depend(sequence, register, false);
        }
        for register in instruction.writes {
            self.window.set_writer(register, sequence);
        }
        let lines = self.lines.push(accesses);
        if load {
            self.window.count_load();
        }
        let first_load = accesses.iter().find(|access| !access.store);
        let source = first_load.and_then(|access| self.forwarding.find(access.word));
        let store = store.then(|| self.stores.dispatch());
        if let Some(number) = store {
            for access in accesses.iter().filter(|access| access.store) {
                self.forwarding.stored(access.word, sequence, number);
            }
        }
        let latency = self.timing.latency(instruction.class);
        let entry = self.window.entry(sequence);
        (entry.lines, entry.load, entry.store, entry.source) = (lines, load, store, source);
        (entry.latency, entry.kernel) = (latency, kernel);
        self.serialise = instruction.class == Class::Serialising;
    }

    #[inline]
    fn depend(&mut self, sequence: Sequence, register: usize, address: bool) {
        match self.window.value(register) {
            Ok(at) => {
                let entry = self.window.entry(sequence);
                let ready = if address { &mut entry.address_ready } else { &mut entry.data_ready };
                *ready = (*ready).max(at);
            }
            Err(producer) => {
                let entry = self.window.entry(sequence);
                let waiter = if address {
                    entry.address_waits += 1;
                    Waiter::Address(sequence)
                } else {
                    entry.data_waits += 1;
                    Waiter::Data(sequence)
                };
                self.window.wait_for(producer, waiter);
            }
        }
    }

    /// The addresses are known: look the loads up.
    #[inline]
    fn issue<U: Uncore>(&mut self, sequence: Sequence, uncore: &mut U) -> Result<(), ModelError> {
        let entry = *self.window.entry(sequence);
        let at = entry.address_ready;
        let (mut data_ready, mut waits) = (entry.data_ready.max(at), 0);
        let (mut index, mut source) = (0, entry.source);
        while let Some(access) = self.lines.get(entry.lines, index) {
            index += 1;
            if access.store {
                continue;
            }
            self.stats.loads.increment();
            let ready = match source.take().and_then(|store| self.forward(store, sequence, at)) {
                Some(ready) => ready,
                None => self.fetch(access, Op::Load, Waiter::Data(sequence), at, uncore)?,
            };
            match ready {
                Some(ready) => data_ready = data_ready.max(ready),
                None => waits += 1,
            }
        }
        let entry = self.window.entry(sequence);
        entry.data_ready = entry.data_ready.max(data_ready);
        entry.data_waits += waits;
        Ok(())
    }

    /// When a store in the queue gives the load its data, as fast as L1 would; `Some(None)` if the load will be
    /// woken; `None` if the store has left the queue.
    #[inline]
    fn forward(&mut self, store: LastStore, load: Sequence, at: Time) -> Option<Option<Time>> {
        if !self.stores.holds(store.number, at) {
            return None;
        }
        self.stats.forwarded.increment();
        // What was dispatched a window before this load was committed before it; its row is another's by now.
        if self.window.has_forgotten(store.sequence) {
            return Some(Some(at + self.timing.l1));
        }
        let Some(complete) = self.window.entry(store.sequence).complete else {
            self.window.wait_for(store.sequence, Waiter::Data(load));
            self.window.entry(load).latency += self.timing.l1;
            return Some(None);
        };
        Some(Some(complete.max(at) + self.timing.l1))
    }

    /// Look a line up at `at`: when it is there; `None` if the waiter will be woken.
    #[inline]
    fn fetch<U: Uncore>(
        &mut self,
        access: LineAccess,
        op: Op,
        waiter: Waiter,
        at: Time,
        uncore: &mut U,
    ) -> Result<Option<Time>, ModelError> {
        if access.device {
            self.stats.device_accesses.increment();
            return Ok(Some(at + self.timing.device_access));
        }
        let store = op == Op::Own;
        let hit = self.caches.access(access.line, store);
        let ready = match hit {
            Hit::L1 => {
                self.stats.l1_hits.increment();
                Some(if store { at } else { at + self.timing.l1 })
            }
            Hit::L2 => {
                self.stats.l2_hits.increment();
                Some(at + self.timing.l2)
            }
            Hit::Neither => {
                self.miss(access.line, op, waiter, at, uncore)?;
                None
            }
        };
        if self.prefetch.is_some() {
            self.read_ahead(access, hit, at, uncore)?;
        }
        Ok(ready)
    }

    fn miss<U: Uncore>(
        &mut self,
        line: Hpa,
        op: Op,
        waiter: Waiter,
        at: Time,
        uncore: &mut U,
    ) -> Result<(), ModelError> {
        let store = op == Op::Own;
        if let Some(waiters) = self.misses.join(line, store) {
            self.stats.merged_misses.increment();
            *waiters = self.window.link(waiter, *waiters);
            return Ok(());
        }
        self.stats.misses.increment();
        let waiters = self.window.link(waiter, Waiters::default());
        self.misses.await_line(line, store, waiters, Slot::Buffer);
        let key = uncore.request(self.id, line, op, at)?;
        if self.misses.take_buffer(key, line) == Grant::Now {
            uncore.depart(key, at);
        }
        Ok(())
    }

    /// Complete a row that waits for nothing: when; `None` if it still waits or was complete before.
    #[inline]
    fn finish(&mut self, sequence: Sequence) -> Option<Time> {
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
    fn commit_all<U: Uncore>(&mut self, uncore: &mut U) -> Result<(), ModelError> {
        while let Some((sequence, complete)) = self.window.head() {
            self.commit.advance_to(complete);
            let at = self.commit.take();
            let entry = *self.window.entry(sequence);
            self.window.commit_head(at);
            if let Some(number) = entry.store {
                self.commit_store(number, entry.lines, at, uncore)?;
            }
            self.lines.pop(entry.lines);
            let counter =
                if entry.kernel { &mut self.stats.kernel_instructions } else { &mut self.stats.user_instructions };
            counter.increment();
        }
        Ok(())
    }

    /// A committed store asks for its lines.
    fn commit_store<U: Uncore>(
        &mut self,
        number: StoreNumber,
        lines: Span,
        at: Time,
        uncore: &mut U,
    ) -> Result<(), ModelError> {
        let (mut waiting, mut filled, mut index) = (0, at, 0);
        while let Some(access) = self.lines.get(lines, index) {
            index += 1;
            if !access.store {
                continue;
            }
            self.stats.stores.increment();
            if access.non_temporal {
                self.miss(access.line, Op::NonTemporal, Waiter::Store(number), at, uncore)?;
                waiting += 1;
                continue;
            }
            match self.fetch(access, Op::Own, Waiter::Store(number), at, uncore)? {
                Some(ready) => filled = filled.max(ready),
                None => waiting += 1,
            }
        }
        self.stores.commit(number, at, waiting, filled);
        Ok(())
    }
}
