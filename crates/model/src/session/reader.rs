//! The reader turns the records of one vCPU into steps. It finds the instruction of each access, and where a block was cut.
//!
//! ```text
//!   Block 7, Access(2), Access(2), Access(5), Block 9     block 7 = i0 i1 i2* i3 i4 i5* i6
//!   -> i0, i1, i2 with 2 lines, i3, i4, i5 with 1 line, i6, then block 9
//! ```
//!
//! A fault ends a block in the middle, at the first instruction that had to touch memory and did not. An access to a
//! device also ends its block. QEMU translates the instruction again, alone, without entering it as a block
//! (`cpu_io_recompile`, CF_MEMI_ONLY), and continues behind it in another block.

use std::sync::Arc;

use cxlab_access::record::{MemoryAccess, PAUSE_PS, Words};
use cxlab_access::{BlockId, Keep, Marker, Phase, Record, Vcpu};

use super::blocks::Blocks;
use super::inbox::Inbox;
use crate::addr::{Hpa, LINE_BYTES};
use crate::error::ModelError;
use crate::feed::{Block, Executes, Execution, Feed, Instruction, LineAccess, Outcome, Step};
use crate::request::CoreId;
use cxlab_kernel::Time;

/// Time that PAUSE makes a thread wait.
const PAUSE: Time = Time::from_ps(PAUSE_PS);

/// An answer that the core has given and nobody has been told yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Given {
    Sync { sequence: u64, ps: u64 },
    Clock { sequence: u64, ps: u64 },
    Sample { phase: Phase, position: u64, keep: Keep },
}

/// The part of the stream that must be complete before a record. Only accesses come within a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bounds {
    Nothing,
    Block,
}

/// Takes the next instruction, and no other.
struct Next;

impl Executes for Next {
    type Stop = ();

    fn plain(&mut self, _: Execution<'_>) -> Result<Option<()>, ModelError> {
        Ok(Some(()))
    }

    fn touching(&mut self, _: Execution<'_>, _: &[LineAccess]) -> Result<Option<()>, ModelError> {
        Ok(Some(()))
    }
}

/// Place of a reader in a block.
#[derive(Clone, Copy, Debug)]
struct Place {
    block: BlockId,
    /// the next instruction
    next: u16,
    /// those before this one are executed and touch nothing, whatever comes
    plain_until: u16,
}

/// Whether a vCPU has halted, by all that was read so far.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Rest {
    /// it goes on, or another one has woken it by now
    #[default]
    Awake,
    /// it has halted, and nobody has gone on since: its records say who wakes first
    Last,
    /// it has halted, and others have gone on: nothing comes before one of them wakes it
    Asleep,
}

/// Reads records of one vCPU as steps.
#[derive(Default)]
pub struct Reader {
    /// records that have come and were not yet used
    inbox: Inbox,
    /// records that have come in all
    came: u64,
    /// how many of the inbox are no accesses: a block is read only as far as one of them stands behind it
    bounds: usize,
    blocks: Blocks<Arc<Block>>,
    at: Option<Place>,
    /// the last step's instruction in its block, and where it went if it is a branch
    executing: Option<(BlockId, u16)>,
    outcome: Option<Outcome>,
    accesses: Vec<LineAccess>,
    given: Option<Given>,
    ended: bool,
    rest: Rest,
}

impl Reader {
    /// A record of this vCPU has come.
    #[inline]
    pub(super) fn take_in(&mut self, words: Words, bounds: Bounds) {
        self.bounds += bounds as usize;
        self.came += 1;
        self.inbox.push_back(words);
    }

    /// Records that have come so far.
    pub(super) fn came(&self) -> u64 {
        self.came
    }

    /// Records that were used, of those that came.
    pub(super) fn used(&self) -> u64 {
        self.came - self.inbox.len() as u64
    }

    /// A block was defined, for all vCPUs.
    pub(super) fn define(&mut self, block: Arc<Block>) {
        self.blocks.push(block);
    }

    /// Whether it is in this block or in a later one, or in none, and has used so many records.
    pub(super) fn is_past(&mut self, first: BlockId, came: u64) -> bool {
        // A block that is over stays only until the next record shows that.
        let blocks = &self.blocks;
        let is_over = |at: &Place| {
            let block = &blocks[at.block];
            !block.pauses && usize::from(at.next) >= block.instructions.len()
        };
        self.at = self.at.filter(|at| !is_over(at));
        let is_in = |block: BlockId| block.0 >= first.0;
        // Once it is in another block, the last step's instruction was dispatched.
        let is_there = match self.at {
            Some(at) => is_in(at.block),
            None => self.executing.is_none_or(|(block, _)| is_in(block)),
        };
        self.used() >= came && is_there
    }

    /// No block before this one is named again.
    pub(super) fn drop_before(&mut self, block: BlockId) {
        self.blocks.drop_before(block);
    }

    /// Whether it has halted, by what was read last.
    pub(super) fn rest(&mut self, rest: Rest) {
        self.rest = rest;
    }

    /// Nothing more will come.
    pub(super) fn end(&mut self) {
        self.ended = true;
    }

    /// The clock read that came last is withdrawn: whether it had not been read yet.
    pub(super) fn withdraw(&mut self) -> bool {
        let is_read = |words: Words| matches!(Record::decode(words), Some(Record::ClockRead { .. }));
        if !self.inbox.back().is_some_and(is_read) {
            return false;
        }
        self.inbox.pop_back();
        self.came -= 1;
        self.bounds -= 1;
        if let Some(place) = &mut self.at {
            // The next records are told anew.
            place.plain_until = 0;
        }
        true
    }

    /// Whether the next step has not come yet.
    #[inline]
    pub(super) fn is_starved(&self) -> bool {
        self.bounds == 0 && !self.ended && self.rest != Rest::Asleep
    }

    /// The answer that was given since this was asked.
    pub(super) fn take_answer(&mut self) -> Option<Given> {
        self.given.take()
    }

    #[inline]
    fn look(&self) -> Result<Words, ModelError> {
        front(&self.inbox, self.ended)
    }

    /// The record that was looked at, which is no access, is used.
    #[inline]
    fn consume(&mut self) {
        if self.inbox.pop_front() {
            self.bounds -= 1;
        }
    }

    /// The block that comes next is entered, if one does and the one before is over: whether it is.
    #[inline]
    fn enter_next(&mut self) -> bool {
        if let Some(Place { block, next, .. }) = self.at {
            let block = &*self.blocks[block];
            if block.pauses || usize::from(next) < block.instructions.len() {
                return false;
            }
        }
        let Some((block, next)) = self.inbox.front().and_then(Record::block_of) else { return false };
        if self.blocks.get(block).is_none() {
            return false;
        }
        self.consume();
        self.at = Some(Place { block, next, plain_until: 0 });
        true
    }

    /// A step of the block that is being executed, where what comes next is rare; `None` when it is over. Of an instruction that
    /// branches nobody is told where to.
    fn in_block(&mut self, place: Place) -> Result<Option<Step>, ModelError> {
        let Place { block: id, next, .. } = place;
        let Block { pc, ref instructions, ref plain_until, .. } = *self.blocks[id];
        let Some(Instruction { may_access, must_access, .. }) = instructions.get(usize::from(next)).copied() else {
            return Ok(None);
        };
        let (plain_until, end) = (plain_until[usize::from(next)], instructions.len() as u16);
        let record = decoded(self.look()?);
        let (step, plain_until) = match record {
            Record::Access(access) if !access.device && access.instruction < next => {
                return Err(self.went_back(place, record));
            }
            Record::Access(access) if may_access => {
                self.begin(id, next);
                let place = pc.wrapping_add(u64::from(next));
                take_accesses(&mut self.inbox, self.ended, (access.instruction, place), &mut self.accesses)?;
                self.at = None;
                return Ok(Some(Step::Execute));
            }
            Record::Access(_) => (Step::Execute, 0),
            Record::ClockRead { instruction: at, sequence } if at == next => {
                self.consume();
                (Step::ReadClock { sequence }, 0)
            }
            Record::ClockRead { instruction: at, .. } | Record::Invalidate { instruction: at, .. } if at > next => {
                (Step::Execute, at.min(end))
            }
            Record::ClockRead { .. } => return Err(self.went_back(place, record)),
            Record::Invalidate { .. }
            | Record::Sync { .. }
            | Record::Drain { .. }
            | Record::Device { .. }
            | Record::Disk { .. }
            | Record::File { .. } => {
                return self.between().map(Some);
            }
            Record::Cut { instruction: before } if before <= next => return Ok(None),
            Record::Mark { marker } => {
                // What detail ends with cuts its block; what is only told does not.
                if marker == Marker::RegionEnd || marker == Marker::ProgramEnd {
                    return Ok(None);
                }
                return self.between().map(Some);
            }
            _ if must_access => return Ok(None),
            Record::Cut { instruction: before } => (Step::Execute, plain_until.min(before)),
            _ => (Step::Execute, plain_until),
        };
        self.begin(id, next);
        self.at = Some(Place { block: id, next: next + 1, plain_until });
        Ok(Some(step))
    }

    /// This instruction is the step's; it touches nothing so far.
    #[inline]
    fn begin(&mut self, block: BlockId, instruction: u16) {
        (self.executing, self.outcome) = (Some((block, instruction)), None);
        self.accesses.clear();
    }

    #[cold]
    fn went_back(&self, Place { block, next, .. }: Place, record: Record) -> ModelError {
        let pc = self.blocks[block].pc;
        let cause = format!("block {} at {pc:#x} went back behind its instruction {next}: {record:?}", block.0);
        ModelError::Stream { cause }
    }

    /// The next step, where it is none that `ahead` knows; `None` if that may know the next.
    fn next_rare(&mut self) -> Result<Option<Step>, ModelError> {
        if self.is_starved() {
            return Ok(Some(Step::Starved { awake: self.rest == Rest::Awake }));
        }
        if self.rest == Rest::Asleep && self.bounds == 0 && !self.ended {
            return Ok(Some(Step::Asleep));
        }
        if let Some(place) = self.at {
            let step = self.in_block(place)?;
            if step.is_some() {
                return Ok(step);
            }
            self.at = None;
            let block = &self.blocks[place.block];
            if block.pauses && usize::from(place.next) == block.instructions.len() {
                return Ok(Some(Step::Delay { span: PAUSE }));
            }
        }
        self.accesses.clear();
        let words = self.look()?;
        match Record::block_of(words) {
            Some((block, _)) if self.blocks.get(block).is_none() => Err(ModelError::Stream {
                cause: format!("block {} was never defined, or QEMU has thrown it away", block.0),
            }),
            // It is entered by `ahead`.
            Some(_) => Ok(None),
            // The block before it has ended there.
            None if matches!(decoded(words), Record::Cut { .. }) => {
                self.consume();
                Ok(None)
            }
            None => self.between().map(Some),
        }
    }

    /// A record that is a step of its own.
    fn between(&mut self) -> Result<Step, ModelError> {
        let record = decoded(self.look()?);
        if matches!(record, Record::Halt | Record::Sample { .. }) {
            // It may stay there for long.
            self.executing = None;
        }
        let step = match record {
            Record::Sync { sequence, .. } => Step::Sync { sequence },
            Record::Drain { sequence, owns: None } => Step::SyncDrained { sequence },
            Record::Drain { sequence, owns: Some(line) } => {
                Step::SyncOwning { sequence, line: Hpa::new(line.get() * LINE_BYTES) }
            }
            Record::Settle { sequence } => Step::Settle { sequence },
            Record::Idle { until_ps } => Step::Idle { until: Time::from_ps(until_ps) },
            Record::Rest { until_ps, done } => Step::Rest { until: Time::from_ps(until_ps), done: done.into() },
            Record::Disk { number, .. } => Step::Disk { number },
            Record::File { number, service_ps } => Step::File { number, service: Time::from_ps(service_ps) },
            Record::Device { service_ps } => Step::Device { service: Time::from_ps(service_ps) },
            Record::Mark { marker } => Step::Mark { marker },
            Record::Sample { phase, position, keep, .. } => Step::Sample { phase, position, keep },
            Record::Halt => Step::Halt,
            Record::Wake { woken } => Step::Wake { woken: CoreId(woken.index() as u16) },
            Record::Invalidate { forget, .. } => Step::Invalidate { forget },
            Record::End => Step::End,
            Record::Cut { .. }
            | Record::Block { .. }
            | Record::Access(_)
            | Record::ClockRead { .. }
            | Record::Page { .. }
            | Record::Rested { .. }
            | Record::Define { .. } => {
                return Err(ModelError::Stream { cause: format!("{record:?} stands outside a block") });
            }
        };
        // Only now: an access is refused above, and does not count as a bound.
        self.consume();
        Ok(step)
    }
}

/// The next record's words. The end stands behind all that came, as often as it is asked for.
#[inline]
fn front(inbox: &Inbox, ended: bool) -> Result<Words, ModelError> {
    match inbox.front() {
        Some(words) => Ok(words),
        None if ended => Ok(Record::End.encode(Vcpu::default())),
        None => Err(ModelError::Stream { cause: "accesses stand where a block should end".into() }),
    }
}

/// The first instruction from `next` on of which what comes next does not say that it touches nothing and does not branch.
#[inline]
fn first_not_plain(block: &Block, next: u16, words: Words) -> u16 {
    match Record::access_of(words) {
        Some(access) if !access.device => access.instruction.min(block.instructions.len() as u16),
        None if Record::block_of(words).is_some() => block.plain_until.get(usize::from(next)).copied().unwrap_or(0),
        _ => 0,
    }
}

#[inline]
fn line_of(access: MemoryAccess, place: u64) -> LineAccess {
    let MemoryAccess { store, device, page, physical, .. } = access;
    LineAccess { address: Hpa::new(physical), store, place, device, page }
}

/// The accesses of an instruction that come next, as far as they are its own: what stands behind them.
fn take_accesses(
    inbox: &mut Inbox,
    ended: bool,
    (instruction, place): (u16, u64),
    accesses: &mut Vec<LineAccess>,
) -> Result<Words, ModelError> {
    loop {
        let words = front(inbox, ended)?;
        match Record::access_of(words) {
            Some(access) if access.instruction == instruction => accesses.push(line_of(access, place)),
            _ => return Ok(words),
        }
        inbox.pop_front();
    }
}

/// Target of the branch at the end of a block: the block that is entered next. An interrupt from the program into the
/// kernel looks like a branch and is none.
#[inline]
fn where_to(block: &Block, blocks: &Blocks<Arc<Block>>, next: Words) -> Option<Outcome> {
    let (next, _) = Record::block_of(next)?;
    let entered = blocks.get(next)?;
    (entered.kernel == block.kernel).then_some(Outcome { next: block.end, target: entered.pc })
}

fn decoded(words: Words) -> Record {
    Record::decode(words).expect("what is no record was refused when it came")
}

impl Feed for Reader {
    #[inline]
    fn next(&mut self) -> Result<Step, ModelError> {
        loop {
            if self.ahead(&mut Next)?.is_some() {
                return Ok(Step::Execute);
            }
            if let Some(step) = self.next_rare()? {
                return Ok(step);
            }
        }
    }

    #[inline(always)]
    fn ahead<E: Executes>(&mut self, executes: &mut E) -> Result<Option<E::Stop>, ModelError> {
        if self.at.is_none() && !self.enter_next() {
            return Ok(None);
        }
        loop {
            let Reader { inbox, bounds, blocks, at, executing, outcome, accesses, ended, .. } = self;
            let Some(Place { block: id, mut next, mut plain_until }) = *at else { return Ok(None) };
            let block = &*blocks[id];
            let (is_told, kernel) = (*bounds > 0 || *ended, block.kernel);
            loop {
                if next >= plain_until && is_told {
                    plain_until = first_not_plain(block, next, front(inbox, *ended)?);
                }
                while next < plain_until {
                    let instruction = &block.instructions[usize::from(next)];
                    next += 1;
                    let stop = executes.plain(Execution { instruction, kernel, outcome: None })?;
                    if stop.is_some() {
                        *at = Some(Place { block: id, next, plain_until });
                        (*executing, *outcome) = (Some((id, next - 1)), None);
                        accesses.clear();
                        return Ok(stop);
                    }
                }
                *at = Some(Place { block: id, next, plain_until });
                let Some(instruction) = block.instructions.get(usize::from(next)).filter(|_| is_told) else { break };
                let mut words = front(inbox, *ended)?;
                let (mut line, mut more) = (None, false);
                if let Some(access) = Record::access_of(words) {
                    if access.device || access.instruction != next {
                        return Ok(None);
                    }
                    let place = block.pc.wrapping_add(u64::from(next));
                    line = Some(line_of(access, place));
                    inbox.pop_front();
                    words = front(inbox, *ended)?;
                    more = Record::access_of(words).is_some_and(|access| access.instruction == next);
                    if more {
                        accesses.clear();
                        accesses.extend(line);
                        words = take_accesses(inbox, *ended, (next, place), accesses)?;
                    }
                } else if instruction.must_access || Record::block_of(words).is_none() {
                    return Ok(None);
                }
                next += 1;
                let went = if instruction.branch.is_some() { where_to(block, blocks, words) } else { None };
                let lines = if more { &accesses[..] } else { line.as_slice() };
                let stop = executes.touching(Execution { instruction, kernel, outcome: went }, lines)?;
                if stop.is_some() {
                    if !more {
                        accesses.clear();
                        accesses.extend(line);
                    }
                    *at = Some(Place { block: id, next, plain_until: 0 });
                    (*executing, *outcome) = (Some((id, next - 1)), went);
                    return Ok(stop);
                }
                plain_until = 0;
            }
            if !is_told || !self.enter_next() {
                return Ok(None);
            }
        }
    }

    #[inline]
    fn execution(&self) -> Execution<'_> {
        let (block, index) = self.executing.expect("the last step is to execute it");
        let Block { ref instructions, kernel, .. } = *self.blocks[block];
        Execution { instruction: &instructions[usize::from(index)], kernel, outcome: self.outcome }
    }

    #[inline]
    fn accesses(&self) -> &[LineAccess] {
        &self.accesses
    }

    fn instruction_address(&self) -> u64 {
        let Some((block, index)) = self.executing else { return 0 };
        let Block { pc, ref begins, .. } = *self.blocks[block];
        pc.wrapping_add(u64::from(begins[usize::from(index)]))
    }

    fn answer_sync(&mut self, sequence: u64, ps: u64) -> Result<(), ModelError> {
        self.given = Some(Given::Sync { sequence, ps });
        Ok(())
    }

    fn answer_clock(&mut self, sequence: u64, ps: u64) -> Result<(), ModelError> {
        self.given = Some(Given::Clock { sequence, ps });
        Ok(())
    }

    fn reached(&mut self, phase: Phase, position: u64, keep: Keep) {
        self.given = Some(Given::Sample { phase, position, keep });
    }
}
