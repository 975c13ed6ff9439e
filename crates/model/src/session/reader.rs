//! The reader turns the records of one vCPU into steps. It finds the instruction of each access, and where a block was cut.
//!
//! ```text
//!   Block 7, Access(2), Access(2), Access(5), Block 9     block 7 = i0 i1 i2* i3 i4 i5* i6
//!   -> i0, i1, i2 with 2 lines, i3, i4, i5 with 1 line, i6, then block 9
//! ```
//!
//! A fault ends a block in the middle, at the first instruction that had to touch memory and did not. An access to a device
//! also ends its block: QEMU translates the instruction again, alone, without entering it as a block (`cpu_io_recompile`,
//! CF_MEMI_ONLY), and continues behind it in another block.

use std::collections::VecDeque;
use std::sync::Arc;

use cxlab_access::record::{MemoryAccess, PAUSE_PS, Words};
use cxlab_access::{BlockId, Keep, Marker, Phase, Record, Vcpu};

use crate::addr::Hpa;
use crate::error::ModelError;
use crate::feed::{Block, Execution, Feed, Instruction, LineAccess, Outcome, Step};
use crate::request::CoreId;
use cxlab_kernel::Time;

/// What PAUSE makes a thread wait.
const PAUSE: Time = Time::from_ps(PAUSE_PS);

/// An answer that the core has given and nobody has been told yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Given {
    Sync { sequence: u64, ps: u64 },
    Clock { sequence: u64, ps: u64 },
    Sample { phase: Phase, position: u64, keep: Keep },
}

/// What a record stands behind: all but accesses say that the block before them has all of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bounds {
    Nothing,
    Block,
}

/// Where a reader is in a block.
#[derive(Clone, Copy, Debug)]
struct Place {
    block: BlockId,
    /// the next instruction
    next: u16,
    /// those before this one are executed and touch nothing, whatever comes
    plain_until: u16,
}

/// Reads records of one vCPU as steps.
#[derive(Default)]
pub struct Reader {
    /// records that have come and were not yet used
    inbox: VecDeque<Words>,
    /// records that have come in all
    came: u64,
    /// how many of the inbox are no accesses: a block is read only as far as one of them stands behind it
    bounds: usize,
    blocks: Vec<Arc<Block>>,
    at: Option<Place>,
    /// the last step's instruction in its block, and where it went if it is a branch
    executing: Option<(BlockId, u16)>,
    outcome: Option<Outcome>,
    accesses: Vec<LineAccess>,
    given: Option<Given>,
    ended: bool,
    /// it has halted, and others have gone on: nothing comes before one of them wakes it
    asleep: bool,
}

impl Reader {
    /// A record of this vCPU has come.
    #[inline]
    pub(super) fn take_in(&mut self, words: Words, bounds: Bounds) {
        self.bounds += bounds as usize;
        self.came += 1;
        // As two words: as a pair they would be read at once from where they have just been written one by one, and wait.
        let [first, second] = words;
        self.inbox.push_back([first, second]);
    }

    /// Records that have come so far.
    pub(super) fn came(&self) -> u64 {
        self.came
    }

    /// Of these, records that were used.
    pub(super) fn used(&self) -> u64 {
        self.came - self.inbox.len() as u64
    }

    /// A block was defined, for all vCPUs.
    pub(super) fn define(&mut self, block: Arc<Block>) {
        self.blocks.push(block);
    }

    /// Whether others have gone on since it halted.
    pub(super) fn sleep(&mut self, asleep: bool) {
        self.asleep = asleep;
    }

    /// Nothing more will come.
    pub(super) fn end(&mut self) {
        self.ended = true;
    }

    /// The clock read that came last is withdrawn: whether it had not been read yet.
    pub(super) fn withdraw(&mut self) -> bool {
        let is_read = |words: &Words| matches!(Record::decode(*words), Some(Record::ClockRead { .. }));
        if !self.inbox.back().is_some_and(is_read) {
            return false;
        }
        self.inbox.pop_back();
        self.came -= 1;
        self.bounds -= 1;
        if let Some(place) = &mut self.at {
            // What comes now is told anew.
            place.plain_until = 0;
        }
        true
    }

    /// Whether the next step has not come yet.
    #[inline]
    pub(super) fn is_starved(&self) -> bool {
        self.bounds == 0 && !self.ended && !self.asleep
    }

    /// The answer that was given since this was asked.
    pub(super) fn take_answer(&mut self) -> Option<Given> {
        self.given.take()
    }

    /// The next record's words. The end stands behind all that came, as often as it is asked for.
    #[inline]
    fn look(&self) -> Result<Words, ModelError> {
        match self.inbox.front() {
            Some(words) => Ok(*words),
            None if self.ended => Ok(Record::End.encode(Vcpu::default())),
            None => Err(ModelError::Stream { cause: "accesses stand where a block should end".into() }),
        }
    }

    /// The record that was looked at, which is no access, is used.
    #[inline]
    fn consume(&mut self) {
        if self.inbox.pop_front().is_some() {
            self.bounds -= 1;
        }
    }

    /// A step of the block that is being executed; `None` when it is over.
    #[inline]
    fn in_block(&mut self, place: Place) -> Result<Option<Step>, ModelError> {
        let Place { block: id, next, .. } = place;
        let Block { pc, ref instructions, ref plain_until, .. } = *self.blocks[id.0 as usize];
        let Some(instruction) = instructions.get(usize::from(next)) else { return Ok(None) };
        let (plain_until, end) = (plain_until[usize::from(next)], instructions.len() as u16);
        let branches = instruction.branch.is_some();
        let words = self.look()?;
        let access = Record::access_of(words).filter(|access| !access.device);
        if access.is_none() && (instruction.must_access || Record::block_of(words).is_none()) {
            return self.at_rare(place, words);
        }
        self.begin(id, next);
        let plain_until = match access {
            None => plain_until,
            Some(access) if access.instruction > next => access.instruction.min(end),
            Some(access) if access.instruction == next => {
                self.take_accesses(access, pc.wrapping_add(u64::from(next)))?;
                0
            }
            Some(access) => return Err(self.went_back(place, Record::Access(access))),
        };
        self.at = Some(Place { block: id, next: next + 1, plain_until });
        if branches {
            self.outcome = self.outcome(id)?;
        }
        Ok(Some(Step::Execute))
    }

    /// The same where neither an access to memory comes next nor, after an instruction that may go without one, a block.
    /// Of an instruction that branches nobody is told where to.
    fn at_rare(&mut self, place: Place, words: Words) -> Result<Option<Step>, ModelError> {
        let Place { block: id, next, .. } = place;
        let Block { pc, ref instructions, ref plain_until, .. } = *self.blocks[id.0 as usize];
        let (plain_until, end) = (plain_until[usize::from(next)], instructions.len() as u16);
        let Instruction { may_access, must_access, .. } = instructions[usize::from(next)];
        let record = decoded(words);
        let (step, plain_until) = match record {
            Record::Access(access) if may_access => {
                self.begin(id, next);
                self.take_accesses(access, pc.wrapping_add(u64::from(next)))?;
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
            Record::Invalidate { .. } | Record::Sync { .. } | Record::Device { .. } => return self.between().map(Some),
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
        let pc = self.blocks[block.0 as usize].pc;
        let cause = format!("block {} at {pc:#x} went back behind its instruction {next}: {record:?}", block.0);
        ModelError::Stream { cause }
    }

    /// Where the branch at the end of a block went: to the block that was entered next. An interrupt from the
    /// program into the kernel looks like a branch and is none.
    #[inline]
    fn outcome(&self, id: BlockId) -> Result<Option<Outcome>, ModelError> {
        let Some((next, _)) = Record::block_of(self.look()?) else { return Ok(None) };
        let block = &self.blocks[id.0 as usize];
        let Some(entered) = self.blocks.get(next.0 as usize) else { return Ok(None) };
        let same_side = entered.kernel == block.kernel;
        Ok(same_side.then_some(Outcome { next: block.end, target: entered.pc }))
    }

    /// The accesses of the instruction whose first one comes next: something stands behind them.
    #[inline]
    fn take_accesses(&mut self, first: MemoryAccess, place: u64) -> Result<(), ModelError> {
        let mut next = first;
        loop {
            self.inbox.pop_front();
            let MemoryAccess { store, device, page, .. } = next;
            let address = Hpa::new(next.physical);
            self.accesses.push(LineAccess { address, store, place, device, page });
            match Record::access_of(self.look()?) {
                Some(access) if access.instruction == first.instruction => next = access,
                _ => return Ok(()),
            }
        }
    }

    /// A record that is a step of its own.
    fn between(&mut self) -> Result<Step, ModelError> {
        let record = decoded(self.look()?);
        self.consume();
        Ok(match record {
            Record::Sync { sequence, .. } => Step::Sync { sequence },
            Record::Settle { sequence } => Step::Settle { sequence },
            Record::Idle { until_ps } => Step::Idle { until: Time::from_ps(until_ps) },
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
            | Record::Define { .. } => {
                return Err(ModelError::Stream { cause: format!("{record:?} stands outside a block") });
            }
        })
    }
}

fn decoded(words: Words) -> Record {
    Record::decode(words).expect("what is no record was refused when it came")
}

impl Feed for Reader {
    #[inline]
    fn next(&mut self) -> Result<Step, ModelError> {
        if let Some(place) = &mut self.at
            && place.next < place.plain_until
        {
            self.executing = Some((place.block, place.next));
            place.next += 1;
            self.accesses.clear();
            return Ok(Step::Execute);
        }
        if self.is_starved() {
            return Ok(Step::Starved);
        }
        if self.asleep && self.bounds == 0 && !self.ended {
            return Ok(Step::Asleep);
        }
        loop {
            if let Some(place) = self.at {
                if let Some(step) = self.in_block(place)? {
                    return Ok(step);
                }
                self.at = None;
                let block = &self.blocks[place.block.0 as usize];
                if block.pauses && usize::from(place.next) == block.instructions.len() {
                    return Ok(Step::Delay { span: PAUSE });
                }
            }
            self.accesses.clear();
            let words = self.look()?;
            let Some((block, from)) = Record::block_of(words) else {
                if !matches!(decoded(words), Record::Cut { .. }) {
                    return self.between();
                }
                // The block before it has ended there.
                self.consume();
                if self.is_starved() {
                    return Ok(Step::Starved);
                }
                continue;
            };
            self.consume();
            if block.0 as usize >= self.blocks.len() {
                return Err(ModelError::Stream { cause: format!("block {} was never defined", block.0) });
            }
            self.at = Some(Place { block, next: from, plain_until: 0 });
            if self.is_starved() {
                return Ok(Step::Starved);
            }
        }
    }

    #[inline]
    fn execution(&self) -> Execution<'_> {
        let (block, index) = self.executing.expect("the last step is to execute it");
        let Block { ref instructions, kernel, .. } = *self.blocks[block.0 as usize];
        Execution { instruction: &instructions[usize::from(index)], kernel, outcome: self.outcome }
    }

    #[inline]
    fn accesses(&self) -> &[LineAccess] {
        &self.accesses
    }

    fn instruction_address(&self) -> u64 {
        let Some((block, index)) = self.executing else { return 0 };
        let Block { pc, ref begins, .. } = *self.blocks[block.0 as usize];
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
