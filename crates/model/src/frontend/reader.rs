//! The reader: from the records of one vCPU to steps. Which accesses belong to which instruction, and where a block was
//! cut short.
//!
//! ```text
//!   Block 7, Access(2), Access(2), Access(5), Block 9     block 7 = i0 i1 i2* i3 i4 i5* i6
//!   -> i0, i1, i2 with 2 lines, i3, i4, i5 with 1 line, i6, then block 9
//! ```
//!
//! A fault ends a block in the middle: the first instruction that had to touch memory and did not is where.
//! So does an access to a device: QEMU translates its instruction once more, alone, without entering it as a
//! block (`cpu_io_recompile`, CF_MEMI_ONLY), and goes on behind it in another block.

use std::collections::VecDeque;
use std::sync::Arc;

use cxlab_access::record::{MemoryAccess, PAUSE_PS, Words};
use cxlab_access::{BlockId, Marker, Phase, Record};

use super::{Block, Execution, Feed, LineAccess, Outcome, Step};
use crate::addr::Hpa;
use crate::error::ModelError;
use crate::request::CoreId;
use cxlab_kernel::Time;

/// What PAUSE makes a thread wait.
const PAUSE: Time = Time::from_ps(PAUSE_PS);

/// An answer that the core has given and nobody has been told yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Given {
    Sync { sequence: u64, ps: u64 },
    Clock { sequence: u64, ps: u64 },
    Sample { phase: Phase, position: u64 },
}

/// Reads records of one vCPU as steps.
#[derive(Default)]
pub struct Reader {
    /// records that have come and were not yet looked at
    inbox: VecDeque<Words>,
    /// of these and the one ahead, how many are no accesses: a block is read only as far as one of them stands behind it
    bounds: usize,
    blocks: Vec<Arc<Block>>,
    /// block and next instruction within it
    at: Option<(BlockId, usize)>,
    /// a record that was looked at and not yet used
    ahead: Option<Record>,
    executing: Option<Execution>,
    accesses: Vec<LineAccess>,
    given: Option<Given>,
    ended: bool,
    /// it has halted, and others have gone on: nothing comes before one of them wakes it
    asleep: bool,
}

impl Reader {
    /// A record of this vCPU has come.
    #[inline]
    pub(super) fn take_in(&mut self, words: Words, record: Record) {
        self.bounds += usize::from(!matches!(record, Record::Access(_)));
        self.inbox.push_back(words);
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
        if self.inbox.back().is_some_and(is_read) {
            self.inbox.pop_back();
        } else if !matches!(self.ahead, Some(Record::ClockRead { .. })) {
            return false;
        } else {
            self.ahead = None;
        }
        self.bounds -= 1;
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

    #[inline]
    fn look(&mut self) -> Result<Record, ModelError> {
        if let Some(record) = self.ahead {
            return Ok(record);
        }
        let record = match self.inbox.pop_front() {
            Some(words) => Record::decode(words).expect("what is no record was refused when it came"),
            None if self.ended => Record::End,
            None => return Err(ModelError::Stream { cause: "accesses stand where a block should end".into() }),
        };
        self.ahead = Some(record);
        Ok(record)
    }

    /// The record that was looked at is used.
    #[inline]
    fn consume(&mut self) {
        let record = self.ahead.take();
        if !matches!(record, Some(Record::Access(_))) {
            // The end stands behind all that came, as often as it is asked for.
            self.bounds = self.bounds.saturating_sub(1);
        }
    }

    /// A step of the block that is being executed; `None` when it is over.
    #[inline]
    fn in_block(&mut self, id: BlockId, index: usize) -> Result<Option<Step>, ModelError> {
        let Block { pc, kernel, ref instructions, .. } = *self.blocks[id.0 as usize];
        let Some(instruction) = instructions.get(index) else { return Ok(None) };
        self.executing = Some(Execution { instruction: *instruction, kernel, outcome: None });
        let (may_access, must_access, branches) =
            (instruction.may_access, instruction.must_access, instruction.branch.is_some());
        self.accesses.clear();
        let here = |instruction: u16| usize::from(instruction) == index;
        let step = match self.look()? {
            Record::Access(access) if access.device && may_access => {
                self.take_accesses(access, pc + index as u64)?;
                self.at = None;
                return Ok(Some(Step::Execute));
            }
            Record::Access(MemoryAccess { device: true, .. }) => Step::Execute,
            Record::Access(access) if here(access.instruction) => {
                self.take_accesses(access, pc + index as u64)?;
                Step::Execute
            }
            Record::ClockRead { instruction: at, sequence } if here(at) => {
                self.consume();
                Step::ReadClock { sequence }
            }
            Record::Access(MemoryAccess { instruction: at, .. }) | Record::ClockRead { instruction: at, .. }
                if usize::from(at) > index =>
            {
                Step::Execute
            }
            Record::Invalidate { instruction: at, .. } if usize::from(at) > index => Step::Execute,
            Record::Invalidate { .. } => return self.between().map(Some),
            record @ (Record::Access(_) | Record::ClockRead { .. }) => {
                let cause = format!("block {} at {pc:#x} went back behind its instruction {index}: {record:?}", id.0);
                return Err(ModelError::Stream { cause });
            }
            Record::Sync { .. } | Record::Device { .. } => return self.between().map(Some),
            Record::Cut { instruction: before } if usize::from(before) <= index => return Ok(None),
            Record::Mark { marker } => {
                // What detail ends with cuts its block; what is only told does not.
                if marker == Marker::RegionEnd || marker == Marker::ProgramEnd {
                    return Ok(None);
                }
                return self.between().map(Some);
            }
            _ if must_access => return Ok(None),
            _ => Step::Execute,
        };
        self.at = Some((id, index + 1));
        if !branches {
            return Ok(Some(step));
        }
        let outcome = self.outcome(id)?;
        if let Some(executing) = &mut self.executing {
            executing.outcome = outcome;
        }
        Ok(Some(step))
    }

    /// Where the branch at the end of a block went: to the block that was entered next. An interrupt from the
    /// program into the kernel looks like a branch and is none.
    fn outcome(&mut self, id: BlockId) -> Result<Option<Outcome>, ModelError> {
        let Record::Block { block: next } = self.look()? else { return Ok(None) };
        let block = &self.blocks[id.0 as usize];
        let Some(entered) = self.blocks.get(next.0 as usize) else { return Ok(None) };
        let same_side = entered.kernel == block.kernel;
        Ok(same_side.then_some(Outcome { next: block.end, target: entered.pc }))
    }

    fn take_accesses(&mut self, first: MemoryAccess, place: u64) -> Result<(), ModelError> {
        let mut next = first;
        loop {
            self.consume();
            let MemoryAccess { store, device, page, .. } = next;
            let address = Hpa::new(next.physical);
            self.accesses.push(LineAccess { address, store, place, device, page });
            match self.look()? {
                Record::Access(access) if access.instruction == first.instruction => next = access,
                _ => return Ok(()),
            }
        }
    }

    /// A record that is a step of its own.
    fn between(&mut self) -> Result<Step, ModelError> {
        let record = self.look()?;
        self.consume();
        Ok(match record {
            Record::Sync { sequence, .. } => Step::Sync { sequence },
            Record::Settle { sequence } => Step::Settle { sequence },
            Record::Idle { until_ps } => Step::Idle { until: Time::from_ps(until_ps) },
            Record::Device { service_ps } => Step::Device { service: Time::from_ps(service_ps) },
            Record::Mark { marker } => Step::Mark { marker },
            Record::Sample { phase, position, .. } => Step::Sample { phase, position },
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

impl Feed for Reader {
    #[inline]
    fn next(&mut self) -> Result<Step, ModelError> {
        if self.is_starved() {
            return Ok(Step::Starved);
        }
        if self.asleep && self.bounds == 0 && !self.ended {
            return Ok(Step::Asleep);
        }
        loop {
            if let Some((id, index)) = self.at {
                if let Some(step) = self.in_block(id, index)? {
                    return Ok(step);
                }
                self.at = None;
                let block = &self.blocks[id.0 as usize];
                if block.pauses && index == block.instructions.len() {
                    return Ok(Step::Delay { span: PAUSE });
                }
            }
            self.accesses.clear();
            let block = match self.look()? {
                Record::Block { block } => block,
                // The block before it has ended there.
                Record::Cut { .. } => {
                    self.consume();
                    if self.is_starved() {
                        return Ok(Step::Starved);
                    }
                    continue;
                }
                _ => return self.between(),
            };
            self.consume();
            if block.0 as usize >= self.blocks.len() {
                return Err(ModelError::Stream { cause: format!("block {} was never defined", block.0) });
            }
            self.at = Some((block, 0));
            if self.is_starved() {
                return Ok(Step::Starved);
            }
        }
    }

    #[inline]
    fn execution(&self) -> &Execution {
        self.executing.as_ref().expect("the last step is to execute it")
    }

    #[inline]
    fn accesses(&self) -> &[LineAccess] {
        &self.accesses
    }

    fn answer_sync(&mut self, sequence: u64, ps: u64) -> Result<(), ModelError> {
        self.given = Some(Given::Sync { sequence, ps });
        Ok(())
    }

    fn answer_clock(&mut self, sequence: u64, ps: u64) -> Result<(), ModelError> {
        self.given = Some(Given::Clock { sequence, ps });
        Ok(())
    }

    fn reached(&mut self, phase: Phase, position: u64) {
        self.given = Some(Given::Sample { phase, position });
    }
}
