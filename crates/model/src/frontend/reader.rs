//! The reader: from records to steps. Which accesses belong to which instruction, and where a block was cut short.
//!
//! ```text
//!   Block 7, Access(2), Access(2), Access(5), Block 9     block 7 = i0 i1 i2* i3 i4 i5* i6
//!   -> i0, i1, i2 with 2 lines, i3, i4, i5 with 1 line, i6, then block 9
//! ```
//!
//! A fault ends a block in the middle: the first instruction that had to touch memory and did not is where.
//! So does an access to a device: QEMU translates its instruction once more, alone, without entering it as a
//! block (`cpu_io_recompile`, CF_MEMI_ONLY), and goes on behind it in another block.

use cxlab_access::record::{MemoryAccess, Words};
use cxlab_access::{BlockId, Marker, Record};

use super::{Block, Feed, Instruction, LineAccess, Outcome};
use crate::addr::Hpa;
use crate::error::ModelError;
use cxlab_kernel::Time;

/// What a core does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Execute; the lines it touches are the feed's `accesses`.
    /// `outcome` is where a branch went, if that is known.
    Execute {
        instruction: Instruction,
        kernel: bool,
        outcome: Option<Outcome>,
    },
    /// Execute an instruction that reads the clock, and answer its commit time.
    ReadClock {
        instruction: Instruction,
        kernel: bool,
        sequence: u64,
    },
    /// Answer the time here.
    Sync {
        sequence: u64,
    },
    /// Answer the time when all before is committed.
    Settle {
        sequence: u64,
    },
    /// Nothing happened until then.
    Idle {
        until: Time,
    },
    /// A device took this long while all waited.
    Device {
        service: Time,
    },
    /// All before is committed, and every store is in its cache or, past the caches, with its home agent.
    Fence,
    /// A loop that only lets time pass: nothing is dispatched for so long.
    Delay {
        span: Time,
    },
    Mark {
        marker: Marker,
    },
    End,
}

/// Where records come from and answers go to.
pub trait RecordSource {
    /// The next record's words; `None` when nothing more will come.
    fn words(&mut self) -> Result<Option<Words>, ModelError>;
    fn answer_sync(&mut self, sequence: u64, ps: u64) -> Result<(), ModelError>;
    fn answer_clock(&mut self, sequence: u64, ps: u64) -> Result<(), ModelError>;
}

/// Reads records of one vCPU as steps.
pub struct Reader<S> {
    source: S,
    blocks: Vec<Block>,
    /// block and next instruction within it
    at: Option<(BlockId, usize)>,
    /// a record that was looked at and not yet used
    ahead: Option<Record>,
    accesses: Vec<LineAccess>,
    ended: bool,
}

impl<S: RecordSource> Reader<S> {
    pub fn new(source: S) -> Self {
        Reader { source, blocks: Vec::new(), at: None, ahead: None, accesses: Vec::with_capacity(64), ended: false }
    }

    pub fn source(&self) -> &S {
        &self.source
    }

    pub fn into_source(self) -> S {
        self.source
    }

    #[inline]
    fn look(&mut self) -> Result<Record, ModelError> {
        if let Some(record) = self.ahead {
            return Ok(record);
        }
        let record = self.read()?;
        self.ahead = Some(record);
        Ok(record)
    }

    /// The next record that is no definition; definitions are taken in on the way.
    fn read(&mut self) -> Result<Record, ModelError> {
        loop {
            if self.ended {
                return Ok(Record::End);
            }
            let Some(words) = self.source.words()? else {
                self.ended = true;
                continue;
            };
            let damaged = || ModelError::Stream { cause: format!("{words:x?} is no record") };
            match Record::decode(words).ok_or_else(damaged)? {
                record @ Record::Define { block, pc, length } => {
                    self.define(block, pc, usize::from(length), record.payload_records())?;
                }
                Record::End => self.ended = true,
                record => return Ok(record),
            }
        }
    }

    fn define(&mut self, block: BlockId, pc: u64, length: usize, records: usize) -> Result<(), ModelError> {
        let cut = || ModelError::Stream { cause: format!("it ends within the definition of block {}", block.0) };
        let mut code = Vec::with_capacity(records * 16);
        for _ in 0..records {
            let words = self.source.words()?.ok_or_else(cut)?;
            code.extend(words.into_iter().flat_map(u64::to_le_bytes));
        }
        if block.0 as usize != self.blocks.len() {
            let cause = format!("block {} is defined where {} comes next", block.0, self.blocks.len());
            return Err(ModelError::Stream { cause });
        }
        self.blocks.push(Block::decode(pc, &code[..length]));
        Ok(())
    }

    /// A step of the block that is being executed; `None` when it is over.
    #[inline]
    fn in_block(&mut self, id: BlockId, index: usize) -> Result<Option<Step>, ModelError> {
        let Block { pc, kernel, ref instructions, .. } = self.blocks[id.0 as usize];
        let Some(&instruction) = instructions.get(index) else { return Ok(None) };
        self.accesses.clear();
        let here = |instruction: u16| usize::from(instruction) == index;
        let step = match self.look()? {
            Record::Access(access) if access.device && instruction.may_access => {
                self.take_accesses(access, pc + index as u64)?;
                self.at = None;
                return Ok(Some(Step::Execute { instruction, kernel, outcome: None }));
            }
            Record::Access(MemoryAccess { device: true, .. }) => Step::Execute { instruction, kernel, outcome: None },
            Record::Access(access) if here(access.instruction) => {
                self.take_accesses(access, pc + index as u64)?;
                Step::Execute { instruction, kernel, outcome: None }
            }
            Record::ClockRead { instruction: at, sequence } if here(at) => {
                self.ahead = None;
                Step::ReadClock { instruction, kernel, sequence }
            }
            Record::Access(MemoryAccess { instruction: at, .. }) | Record::ClockRead { instruction: at, .. }
                if usize::from(at) > index =>
            {
                Step::Execute { instruction, kernel, outcome: None }
            }
            record @ (Record::Access(_) | Record::ClockRead { .. }) => {
                let cause = format!("block {} at {pc:#x} went back behind its instruction {index}: {record:?}", id.0);
                return Err(ModelError::Stream { cause });
            }
            Record::Sync { .. } | Record::Device { .. } => return self.between().map(Some),
            Record::Mark { marker } => {
                // What detail ends with cuts its block; what is only told does not.
                if marker == Marker::RegionEnd || marker == Marker::ProgramEnd {
                    return Ok(None);
                }
                return self.between().map(Some);
            }
            _ if instruction.must_access => return Ok(None),
            _ => Step::Execute { instruction, kernel, outcome: None },
        };
        self.at = Some((id, index + 1));
        if instruction.branch.is_none() {
            return Ok(Some(step));
        }
        let outcome = self.outcome(id)?;
        Ok(Some(match step {
            Step::Execute { instruction, kernel, .. } => Step::Execute { instruction, kernel, outcome },
            other => other,
        }))
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
            self.ahead = None;
            self.accesses.push(LineAccess {
                line: Hpa::new(next.physical).line(),
                word: next.physical / 8,
                store: next.store,
                place,
                device: next.device,
                non_temporal: false,
            });
            match self.look()? {
                Record::Access(access) if access.instruction == first.instruction => next = access,
                _ => return Ok(()),
            }
        }
    }

    /// A record that is a step of its own.
    fn between(&mut self) -> Result<Step, ModelError> {
        let record = self.look()?;
        self.ahead = None;
        Ok(match record {
            Record::Sync { sequence } => Step::Sync { sequence },
            Record::Settle { sequence } => Step::Settle { sequence },
            Record::Idle { until_ps } => Step::Idle { until: Time::from_ps(until_ps) },
            Record::Device { service_ps } => Step::Device { service: Time::from_ps(service_ps) },
            Record::Mark { marker } => Step::Mark { marker },
            Record::End => Step::End,
            Record::Block { .. } | Record::Access(_) | Record::ClockRead { .. } | Record::Define { .. } => {
                return Err(ModelError::Stream { cause: format!("{record:?} stands outside a block") });
            }
        })
    }
}

impl<S: RecordSource> Feed for Reader<S> {
    #[inline]
    fn next(&mut self) -> Result<Step, ModelError> {
        loop {
            if let Some((id, index)) = self.at {
                if let Some(step) = self.in_block(id, index)? {
                    return Ok(step);
                }
                self.at = None;
            }
            self.accesses.clear();
            let Record::Block { block } = self.look()? else { return self.between() };
            self.ahead = None;
            if block.0 as usize >= self.blocks.len() {
                return Err(ModelError::Stream { cause: format!("block {} was never defined", block.0) });
            }
            self.at = Some((block, 0));
        }
    }

    fn accesses(&self) -> &[LineAccess] {
        &self.accesses
    }

    fn answer_sync(&mut self, sequence: u64, ps: u64) -> Result<(), ModelError> {
        self.source.answer_sync(sequence, ps)
    }

    fn answer_clock(&mut self, sequence: u64, ps: u64) -> Result<(), ModelError> {
        self.source.answer_clock(sequence, ps)
    }
}
