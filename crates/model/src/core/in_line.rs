//! The short way of an instruction. All earlier instructions are complete, so its operands are known and it is
//! committed at once.
//!
//! ```text
//!   no memory ------------------------.
//!   a store ---> its page known ------+-> ready -> ports -> complete -> commit       no row of the window is written
//!   a load  ---> L1, L2, store queue -'
//!            '-> beyond: its row waits in the window, and later instructions go the long way
//! ```
//!
//! The results are those of the long way (dispatch.rs). The long way serves instructions that wait, and cores that keep
//! a profile.

use cxlab_kernel::Time;

use super::cpi_stack::{Late, Oldest, Source};
use super::translate::Then;
use super::window::{Counts, Entry, Issued, Touched, Waiter};
use super::{Core, Pause, Uncore};
use crate::error::ModelError;
use crate::feed::{Instruction, LineAccess, Operands};
use crate::request::Op;

/// An instruction whose operands are known.
#[derive(Clone, Copy)]
pub(super) struct Known<'a> {
    pub instruction: &'a Instruction,
    pub operands: &'a Operands,
    pub counts: Counts,
}

/// The row of an instruction: its share of the width and its dispatch time.
#[derive(Clone, Copy)]
struct Row<'a> {
    known: Known<'a>,
    units: u8,
    at: Time,
}

/// When a row's operands are there, and the source of its wait.
#[derive(Clone, Copy)]
struct Ready {
    /// when its data's registers and its lines are there
    data: Time,
    all: Time,
    source: Source,
}

impl Core {
    /// Whether all dispatched instructions are complete, so only width and room can hold back the next instruction.
    #[inline]
    pub(super) fn goes_in_line(&mut self) -> bool {
        if self.serialise || self.profile.is_some() || !self.window.all_known() {
            return false;
        }
        if let Some(branch) = self.unguessed.take() {
            self.refill_behind(branch);
        }
        true
    }

    /// Dispatches an instruction, or returns why it cannot be dispatched yet.
    #[inline(always)]
    pub(super) fn dispatch_in_line<U: Uncore>(
        &mut self,
        known: Known<'_>,
        accesses: &[LineAccess],
        uncore: &mut U,
    ) -> Result<Option<Pause>, ModelError> {
        self.front.advance_to(self.window.room_behind_committed());
        match accesses {
            [] => {
                if let Some(pause) = self.is_behind(uncore) {
                    return Ok(Some(pause));
                }
                let row = self.take_slot(known, 0);
                let data = self.window.ready(known.operands.data, row.at);
                let all = self.window.ready(known.operands.address, data);
                self.complete_in_line(row, Ready { data, all, source: Source::None }, false, false);
                Ok(None)
            }
            [one] if !one.device && !one.store => self.load_in_line(known, *one, uncore),
            [one] if !one.device => self.store_in_line(known, *one, uncore),
            more => self.touch_in_line(known, more, uncore),
        }
    }

    /// Whether something comes before the next slot.
    #[inline]
    fn is_behind<U: Uncore>(&mut self, uncore: &mut U) -> Option<Pause> {
        let at = self.front.next();
        uncore.has_to_wait(self.id, at).then(|| {
            uncore.resume(self.id, at);
            Pause::Behind
        })
    }

    /// Waits for an entry of the store queue. Returns why the store cannot be dispatched yet, if it cannot.
    #[inline]
    fn make_room_to_store<U: Uncore>(&mut self, uncore: &mut U) -> Option<Pause> {
        match self.make_store_room() {
            Some(wait) => Some(Pause::Blocked(wait)),
            None => self.is_behind(uncore),
        }
    }

    /// Takes a slot of the front end, while the window is empty.
    #[inline(always)]
    fn take_slot<'a>(&mut self, known: Known<'a>, lines: usize) -> Row<'a> {
        let units = self.timing.micro_operations(known.instruction.work, lines);
        let at = self.front.take(units);
        if at > self.stack.charged() {
            self.stack.dispatched(at, known.counts.mode());
        }
        self.stack.late(Late::Width);
        Row { known, units, at }
    }

    /// When the registers of a row's address are there, and it may touch memory.
    #[inline(always)]
    fn address_ready(&self, row: &Row<'_>) -> Time {
        self.window.ready(row.known.operands.address, row.at).max(self.drained.at())
    }

    /// Executes and commits a row whose operands are known. Returns the time of its commit.
    #[inline(always)]
    fn complete_in_line(&mut self, row: Row<'_>, ready: Ready, load: bool, store: bool) -> Time {
        let Row { known: Known { instruction, operands, counts }, units, .. } = row;
        let complete = self.execute(instruction.class, ready.all, store) + self.timing.latency(instruction.class);
        self.window.set_known(operands, complete);
        self.commit.advance_to(complete);
        let at = self.commit.take(units);
        let oldest = Oldest { data_ready: ready.data, complete, source: ready.source, mode: counts.mode() };
        self.stack.committed(oldest, self.commit.now());
        self.count_committed(counts, units);
        self.window.pass(complete, at, load);
        at
    }

    /// Dispatches an instruction that loads from one line.
    #[inline]
    fn load_in_line<U: Uncore>(
        &mut self,
        known: Known<'_>,
        access: LineAccess,
        uncore: &mut U,
    ) -> Result<Option<Pause>, ModelError> {
        self.front.advance_to(self.window.load_room_behind_committed());
        if let Some(pause) = self.is_behind(uncore) {
            return Ok(Some(pause));
        }
        let row = self.take_slot(known, 1);
        let data = self.window.ready(known.operands.data, row.at);
        let address = self.address_ready(&row).max(self.lock_done().unwrap_or(Time::ZERO));
        let sequence = self.window.next();
        self.window.count_load();
        self.stats.loads.increment();
        let (at, l2_hits) = (self.ports.load(address), self.stats.l2_hits.get());
        let ready = match self.forwarded_in_line(access, at) {
            Some(ready) => Some(ready),
            None => self.reach(access, Op::Load, Some(Waiter::Data(sequence)), at, uncore)?,
        };
        let Some(ready) = ready else {
            let issued = Issued { data_ready: address, waits: 1, source: Source::Request, later: Time::ZERO };
            let touched = self.touched(known.instruction, true);
            self.wait_in_window(row, (address, data), issued, touched, &[access]);
            return Ok(None);
        };
        let source = if self.stats.l2_hits.get() > l2_hits { Source::L2 } else { Source::L1 };
        let data = data.max(address).max(ready);
        self.complete_in_line(row, Ready { data, all: data, source }, true, false);
        Ok(None)
    }

    /// Returns when a store of the queue gives a load its data. Every store is complete.
    #[inline]
    fn forwarded_in_line(&mut self, access: LineAccess, at: Time) -> Option<Time> {
        let store = self.forwarding.find(access.word()).filter(|store| self.stores.holds(store.number, at))?;
        self.stats.forwarded.increment();
        let complete =
            if self.window.has_forgotten(store.sequence) { None } else { self.window.complete(store.sequence) };
        Some(at.max(complete.unwrap_or(Time::ZERO)) + self.timing.l1)
    }

    /// Dispatches an instruction that stores to one line.
    #[inline]
    fn store_in_line<U: Uncore>(
        &mut self,
        known: Known<'_>,
        access: LineAccess,
        uncore: &mut U,
    ) -> Result<Option<Pause>, ModelError> {
        if let Some(pause) = self.make_room_to_store(uncore) {
            return Ok(Some(pause));
        }
        let row = self.take_slot(known, 1);
        let data = self.window.ready(known.operands.data, row.at);
        let address = self.address_ready(&row);
        let (sequence, number) = (self.window.next(), self.stores.dispatch());
        self.forwarding.stored(access.word(), sequence, number);
        let l2_hits = self.stats.l2_hits.get();
        let Some(translated) = self.translate(access, address, Then::Wake(Waiter::Data(sequence)), uncore)? else {
            let issued = Issued { data_ready: address, waits: 1, source: Source::Request, later: Time::ZERO };
            let touched = Touched { store: Some(number), ..self.touched(known.instruction, false) };
            self.wait_in_window(row, (address, data), issued, touched, &[access]);
            return Ok(None);
        };
        let data = data.max(address).max(translated);
        // A walk of the page tables may have found its entries in L2.
        let source = if self.stats.l2_hits.get() > l2_hits { Source::L2 } else { Source::L1 };
        let at = self.complete_in_line(row, Ready { data, all: data, source }, false, true);
        self.commit_plain_store(number, &[access], at, uncore)?;
        Ok(None)
    }

    fn touched(&self, instruction: &Instruction, load: bool) -> Touched {
        Touched { load, touch: instruction.touch, bytes: instruction.bytes, ..Touched::default() }
    }

    /// Dispatches an instruction that touches several lines, or a device's registers.
    #[inline(never)]
    fn touch_in_line<U: Uncore>(
        &mut self,
        known: Known<'_>,
        accesses: &[LineAccess],
        uncore: &mut U,
    ) -> Result<Option<Pause>, ModelError> {
        let (load, store) = (accesses.iter().any(|access| !access.store), accesses.iter().any(|access| access.store));
        if load {
            self.front.advance_to(self.window.load_room_behind_committed());
        }
        let pause = if store { self.make_room_to_store(uncore) } else { self.is_behind(uncore) };
        if pause.is_some() {
            return Ok(pause);
        }
        let row = self.take_slot(known, accesses.len());
        let data = self.window.ready(known.operands.data, row.at);
        let mut address = self.address_ready(&row);
        if load {
            address = address.max(self.lock_done().unwrap_or(Time::ZERO));
        }
        let sequence = self.window.next();
        let touched = self.enter_queues(sequence, known.instruction, accesses, load, store);
        let issued = self.issue(sequence, address, &touched, accesses, uncore)?;
        if issued.waits > 0 {
            self.wait_in_window(row, (address, data), issued, touched, accesses);
            return Ok(None);
        }
        let data = data.max(issued.data_ready);
        let at = self.complete_in_line(row, Ready { data, all: data, source: issued.source }, load, store);
        if let Some(number) = touched.store {
            self.commit_plain_store(number, accesses, at, uncore)?;
        }
        Ok(None)
    }

    /// Writes the row of an instruction whose line is in no cache of the core. It is the oldest row that waits.
    #[inline(never)]
    fn wait_in_window(
        &mut self,
        row: Row<'_>,
        (address_ready, data_ready): (Time, Time),
        issued: Issued,
        mut touched: Touched,
        accesses: &[LineAccess],
    ) {
        let Row { known: Known { instruction, counts, .. }, units, at } = row;
        let sequence = self.window.next();
        let mut entry = Entry::dispatched(at);
        (entry.address_ready, entry.data_ready) = (address_ready, data_ready);
        (entry.micro_operations, entry.counts, entry.class, entry.touches) = (units, counts, instruction.class, true);
        entry.latency = self.timing.latency(instruction.class);
        entry.issued(issued);
        self.window.set_writer(instruction.writes, sequence, None);
        touched.lines = self.lines.push(accesses);
        self.window.push(entry, None);
        *self.window.touched(sequence) = touched;
    }
}
