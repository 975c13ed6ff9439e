//! The window: one row of time stamps for each instruction between dispatch and commit.
//!
//! ```text
//!   entry: address ready --loads issue--> data ready --latency--> complete --in order--> commit
//!             ^ waits for registers          ^ waits for registers and lines
//! ```
//!
//! A row's times outlive its commit by a window's length, because the instruction that takes its place asks for the commit
//! time. A waiter for an unknown value is in a list that hangs on the producer.

use std::num::NonZeroU32;

use cxlab_kernel::Time;

use super::cpi_stack::{Mode, Source};
use super::forward::LastStore;
use super::lines::Span;
use super::order::{Sequence, StoreNumber};
use crate::feed::{Class, Operands, RegisterSet, Touch};

/// A waiter for a value, and its use of the value.
#[derive(Clone, Copy, Debug)]
pub enum Waiter {
    Address(Sequence),
    Data(Sequence),
    Store(StoreNumber),
    /// a flush or write-back that waits for its line
    Flush(StoreNumber),
    /// a walk of the page tables, by its place
    Walk(usize),
}

/// A list of waiters, in the arena of the window.
#[derive(Clone, Copy, Debug, Default)]
pub struct Waiters(Option<NonZeroU32>);

#[derive(Clone, Copy, Debug)]
struct Link {
    waiter: Waiter,
    next: Waiters,
}

/// When an instruction is done. An instruction asks for it one window later.
#[derive(Clone, Copy, Debug, Default)]
struct Done {
    complete: Option<Time>,
    /// valid once the instruction is committed; zero for the rows before the first instruction
    commit: Time,
}

/// An instruction that was not complete at its dispatch, or was not alone in the window.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// the latest known time of the address registers
    pub address_ready: Time,
    /// the latest known time of the other operands and lines
    pub data_ready: Time,
    /// from operands to result
    pub latency: Time,
    pub waiters: Waiters,
    /// number of address registers whose values are not known
    pub address_waits: u32,
    /// number of other operands and lines that are not known
    pub data_waits: u32,
    pub class: Class,
    /// units of the width of dispatch and of commit
    pub micro_operations: u8,
    pub counts: Counts,
    /// whether it has lines, or an entry of a queue: see [`Touched`]
    pub touches: bool,
    /// source of its data
    pub source: Source,
}

/// How a committed row is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counts {
    User,
    Kernel,
    /// a later part of an instruction that repeats
    Part,
}

impl Counts {
    /// How an instruction, or its first part, is counted.
    pub fn of(kernel: bool) -> Counts {
        if kernel { Counts::Kernel } else { Counts::User }
    }

    /// The processor's mode, if the row has one.
    #[inline]
    pub fn mode(self) -> Option<Mode> {
        match self {
            Counts::User => Some(Mode::User),
            Counts::Kernel => Some(Mode::Kernel),
            Counts::Part => None,
        }
    }
}

/// Result of a row's look-ups.
pub struct Issued {
    /// when the lines known by now are there
    pub data_ready: Time,
    /// number of lines that are not known
    pub waits: u32,
    pub source: Source,
    /// extra latency of the result, for data that a store hands on once the store is complete
    pub later: Time,
}

/// Memory accesses of an instruction of the window.
#[derive(Clone, Copy, Debug, Default)]
pub struct Touched {
    pub lines: Span,
    pub load: bool,
    pub store: Option<StoreNumber>,
    /// the last earlier store to the word that its first load reads
    pub source: Option<LastStore>,
    pub touch: Touch,
    /// size of its memory operand `[B]`
    pub bytes: u8,
}

/// Sources of the registers' values.
#[derive(Clone, Debug)]
struct Registers {
    /// when each value is there, unless it is pending
    ready: [Time; RegisterSet::PLACES],
    /// registers whose last writer was not complete at its dispatch
    pending: RegisterSet,
    /// the last writer of each pending register
    writers: [Sequence; RegisterSet::COUNT],
}

impl Default for Registers {
    fn default() -> Registers {
        let (ready, writers) = ([Time::ZERO; RegisterSet::PLACES], [0; RegisterSet::COUNT]);
        Registers { ready, pending: RegisterSet::default(), writers }
    }
}

/// Rows of time stamps.
#[derive(Clone, Debug)]
pub struct Window {
    ring: Box<[Entry]>,
    done: Box<[Done]>,
    touched: Box<[Touched]>,
    size: u64,
    next: Sequence,
    committed: Sequence,
    registers: Registers,
    /// commit times of the last loads
    load_commits: Box<[Time]>,
    loads_dispatched: u64,
    loads_committed: u64,
    /// place of the load that is one queue's length before the next load
    dispatch_place: usize,
    /// place of the next load's commit time
    commit_place: usize,
    links: Vec<Link>,
    free: Waiters,
}

const EMPTY: Entry = Entry {
    address_ready: Time::ZERO,
    data_ready: Time::ZERO,
    latency: Time::ZERO,
    waiters: Waiters(None),
    address_waits: 0,
    data_waits: 0,
    class: Class::Move,
    micro_operations: 1,
    counts: Counts::User,
    touches: false,
    source: Source::None,
};

impl Entry {
    /// A row of which only the dispatch time is known.
    pub fn dispatched(at: Time) -> Entry {
        Entry { address_ready: at, data_ready: at, ..EMPTY }
    }

    /// Adds the results of the row's look-ups.
    #[inline]
    pub fn issued(&mut self, found: Issued) {
        let Issued { data_ready, waits, source, later } = found;
        self.data_ready = self.data_ready.max(data_ready);
        self.data_waits += waits;
        self.latency += later;
        self.source = source;
    }

    /// When the known operands and lines are there.
    #[inline]
    pub fn ready(&self) -> Time {
        self.data_ready.max(self.address_ready)
    }

    /// Whether an operand or a line of the row is not known.
    #[inline]
    pub fn waits(&self) -> bool {
        self.address_waits > 0 || self.data_waits > 0
    }
}

impl Window {
    pub fn new(size: u32, load_queue: u32) -> Window {
        let rows = (size as usize).next_power_of_two();
        Window {
            ring: vec![EMPTY; rows].into(),
            // Twice the window: a row keeps its commit time until the instruction one window later has asked for it.
            done: vec![Done::default(); 2 * rows].into(),
            touched: vec![Touched::default(); rows].into(),
            size: u64::from(size),
            next: 0,
            committed: 0,
            registers: Registers::default(),
            load_commits: vec![Time::ZERO; load_queue as usize].into(),
            loads_dispatched: 0,
            loads_committed: 0,
            dispatch_place: 0,
            commit_place: 0,
            links: Vec::with_capacity(1024),
            free: Waiters(None),
        }
    }

    #[inline]
    pub fn entry(&mut self, sequence: Sequence) -> &mut Entry {
        let place = sequence as usize & (self.ring.len() - 1);
        &mut self.ring[place]
    }

    #[inline]
    fn done(&mut self, sequence: Sequence) -> &mut Done {
        let place = sequence as usize & (self.done.len() - 1);
        &mut self.done[place]
    }

    /// When the row is complete, if that is known.
    #[inline]
    pub fn complete(&mut self, sequence: Sequence) -> Option<Time> {
        self.done(sequence).complete
    }

    #[inline]
    pub fn set_complete(&mut self, sequence: Sequence, at: Time) {
        self.done(sequence).complete = Some(at);
    }

    /// Memory accesses of a row that touches memory.
    #[inline]
    pub fn touched(&mut self, sequence: Sequence) -> &mut Touched {
        let place = sequence as usize & (self.touched.len() - 1);
        &mut self.touched[place]
    }

    /// Number of loads committed since the beginning.
    pub fn loads_committed(&self) -> u64 {
        self.loads_committed
    }

    #[inline]
    pub fn all_committed(&self) -> bool {
        self.committed == self.next
    }

    /// Whether the row is the oldest: all earlier rows are committed, and this one is not.
    #[inline]
    pub fn is_oldest(&self, sequence: Sequence) -> bool {
        self.committed == sequence
    }

    /// Number of rows committed since the beginning.
    pub fn committed(&self) -> Sequence {
        self.committed
    }

    /// The instruction that was dispatched last.
    pub fn last(&self) -> Sequence {
        self.next - 1
    }

    /// Whether a later instruction has taken the row of this one.
    #[inline]
    pub fn has_forgotten(&self, sequence: Sequence) -> bool {
        self.next - sequence >= self.done.len() as u64
    }

    /// When the next instruction finds a free row; `None` if that is not known yet.
    #[inline]
    pub fn room_at(&mut self) -> Option<Time> {
        // The rows before the first instruction were committed at the beginning.
        let before = self.next.wrapping_sub(self.size);
        (self.next - self.committed < self.size).then(|| self.done(before).commit)
    }

    /// When the next instruction finds a free row, if all rows are committed.
    #[inline]
    pub fn room_behind_committed(&mut self) -> Time {
        let before = self.next.wrapping_sub(self.size);
        self.done(before).commit
    }

    /// When the next load finds a free entry of the load queue; `None` if that is not known yet.
    #[inline]
    pub fn load_room_at(&self) -> Option<Time> {
        let length = self.load_commits.len() as u64;
        let Some(before) = self.loads_dispatched.checked_sub(length) else { return Some(Time::ZERO) };
        (before < self.loads_committed).then(|| self.load_commits[self.dispatch_place])
    }

    /// When the next load finds a free entry of the load queue, if all rows are committed.
    #[inline]
    pub fn load_room_behind_committed(&self) -> Time {
        self.load_commits[self.dispatch_place]
    }

    /// Adds a new row at the end.
    #[inline]
    pub fn push(&mut self, row: Entry, complete: Option<Time>) {
        let sequence = self.next;
        self.next += 1;
        *self.entry(sequence) = row;
        self.done(sequence).complete = complete;
    }

    /// Counts an instruction that is complete and committed without a row.
    #[inline]
    pub fn pass(&mut self, complete: Time, commit: Time, load: bool) {
        let sequence = self.next;
        self.next += 1;
        *self.done(sequence) = Done { complete: Some(complete), commit };
        self.committed = self.next;
        if load {
            self.commit_load(commit);
        }
    }

    /// Whether all rows are complete, so that all registers are known.
    #[inline]
    pub fn all_known(&mut self) -> bool {
        if !self.all_committed() {
            return false;
        }
        if !self.registers.pending.is_empty() {
            self.settle_registers();
        }
        true
    }

    #[inline(never)]
    fn settle_registers(&mut self) {
        for register in self.registers.pending {
            let settled = self.pending_value(register);
            debug_assert!(settled.is_ok(), "all rows are complete");
        }
    }

    /// When the values of these registers are there, not before `since`. All registers are known.
    #[inline]
    pub fn ready<const N: usize>(&self, registers: [u8; N], since: Time) -> Time {
        let place = |register: u8| usize::from(register) % RegisterSet::PLACES;
        registers.into_iter().fold(since, |ready, register| ready.max(self.registers.ready[place(register)]))
    }

    /// Writes these registers with a row that is complete at this time. All registers are known.
    #[inline]
    pub fn set_known(&mut self, operands: &Operands, complete: Time) {
        for register in operands.writes {
            self.registers.ready[usize::from(register) % RegisterSet::PLACES] = complete;
        }
    }

    /// Number of rows that are told apart, committed or not.
    pub fn rows(&self) -> usize {
        self.done.len()
    }

    /// The waiters of a list, from the latest to the first.
    pub fn each(&self, list: Waiters) -> impl Iterator<Item = Waiter> + '_ {
        let link = |list: Waiters| list.0.map(|place| self.links[place.get() as usize - 1]);
        std::iter::successors(link(list), move |of| link(of.next)).map(|of| of.waiter)
    }

    /// The number that the next row will have.
    #[inline]
    pub fn next(&self) -> Sequence {
        self.next
    }

    #[inline]
    pub fn count_load(&mut self) {
        self.loads_dispatched += 1;
        self.dispatch_place = self.behind(self.dispatch_place);
    }

    /// The next place in the ring of loads.
    #[inline]
    fn behind(&self, place: usize) -> usize {
        if place + 1 == self.load_commits.len() { 0 } else { place + 1 }
    }

    /// The oldest row, if it is complete and not committed.
    #[inline]
    pub fn head(&mut self) -> Option<(Sequence, Time)> {
        if self.committed == self.next {
            return None;
        }
        let head = self.committed;
        self.complete(head).map(|complete| (head, complete))
    }

    /// Commits the oldest row.
    #[inline]
    pub fn commit_head(&mut self, at: Time, load: bool) {
        let head = self.committed;
        self.done(head).commit = at;
        if load {
            self.commit_load(at);
        }
        self.committed += 1;
    }

    #[inline]
    fn commit_load(&mut self, at: Time) {
        self.load_commits[self.commit_place] = at;
        self.commit_place = self.behind(self.commit_place);
        self.loads_committed += 1;
    }

    /// When the register's value is there. `Err` names the row to wait for.
    #[inline]
    pub fn value(&mut self, register: usize) -> Result<Time, Sequence> {
        if self.registers.pending.contains(register) {
            return self.pending_value(register);
        }
        Ok(self.registers.ready[register])
    }

    /// When the value of a pending register is there: its writer was not complete at dispatch.
    fn pending_value(&mut self, register: usize) -> Result<Time, Sequence> {
        let writer = self.registers.writers[register];
        let ready = if self.has_forgotten(writer) {
            // The writer was committed a window ago.
            Time::ZERO
        } else {
            self.complete(writer).ok_or(writer)?
        };
        self.registers.pending.remove(register);
        self.registers.ready[register] = ready;
        Ok(ready)
    }

    /// Notes the last writer of these registers: a row that is complete at this time, or is not complete yet.
    #[inline]
    pub fn set_writer(&mut self, registers: RegisterSet, sequence: Sequence, complete: Option<Time>) {
        match complete {
            Some(at) => {
                self.registers.pending = self.registers.pending.without(registers);
                registers.for_each(|register| self.registers.ready[register] = at);
            }
            None => {
                self.registers.pending = self.registers.pending.with(registers);
                registers.for_each(|register| self.registers.writers[register] = sequence);
            }
        }
    }

    /// Puts a waiter in front of a list. Returns the new list.
    pub fn link(&mut self, waiter: Waiter, next: Waiters) -> Waiters {
        let link = Link { waiter, next };
        if let Some(place) = self.free.0 {
            let index = place.get() as usize - 1;
            self.free = self.links[index].next;
            self.links[index] = link;
            return Waiters(Some(place));
        }
        self.links.push(link);
        Waiters(NonZeroU32::new(self.links.len() as u32))
    }

    /// Takes the first waiter off a list. Returns the waiter and the rest of the list.
    pub fn unlink(&mut self, list: Waiters) -> Option<(Waiter, Waiters)> {
        let place = list.0?;
        let index = place.get() as usize - 1;
        let Link { waiter, next } = self.links[index];
        self.links[index].next = self.free;
        self.free = Waiters(Some(place));
        Some((waiter, next))
    }

    /// Lets `waiter` wait for the result of `producer`.
    pub fn wait_for(&mut self, producer: Sequence, waiter: Waiter) {
        let list = self.entry(producer).waiters;
        let list = self.link(waiter, list);
        self.entry(producer).waiters = list;
    }
}
