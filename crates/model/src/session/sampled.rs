//! A recorded guest, sampled: a full-detail trace told as a live guest would have told it under `--sample`.
//!
//! ```text
//!   trace: B a a B a Sync B ClockRead ...      warming:  B a . B . .... B ...   questions and lines just told are left out
//!                                              detail:   B a a B a Sync B ...   as it is, numbered anew
//! ```
//!
//! Idle spans keep their recorded length, whether a timer or the drive has ended them. The drive's commands take bandwidth only
//! in detail. Not modelled: what the guest would have done at other times of its clock; its timers ring where they rang.
//! One vCPU.

use std::collections::VecDeque;
use std::path::Path;

use cxlab_access::record::Words;
use cxlab_access::ring::{Behind, Reply};
use cxlab_access::trace::{Completeness, Entry, TraceReader};
use cxlab_access::{BlockId, LineFilter, Marker, Phase, Progress, Record, Schedule, Vcpu};

use super::RecordSource;
use super::payload::payload;
use crate::addr::LINE_BYTES;
use crate::error::ModelError;
use crate::feed::{Block, Work};

/// A trace and where it is in its schedule.
pub struct Sampled {
    trace: TraceReader,
    progress: Progress,
    filter: LineFilter,
    /// records to tell before the trace is read on
    pending: VecDeque<Words>,
    /// those that were defined, and the one that is executed
    blocks: Vec<Block>,
    block: BlockId,
    /// a region has begun, or the way to it: its phase is told with its first block
    begins: bool,
    /// idle time of this phase of warming `[ps]`
    idle_ps: u64,
    /// the answer that was recorded last, and the one that the model has given to a question for the clock `[ps]`
    recorded_ps: u64,
    given_ps: u64,
    /// all are idle until the next answer says how long
    rests: bool,
    /// questions told so far
    syncs: u64,
    clock_reads: u64,
}

/// The only vCPU, which all records belong to.
const ONLY: Vcpu = Vcpu::new(0);

impl Sampled {
    pub fn open(path: &Path, schedule: Schedule) -> Result<Sampled, ModelError> {
        Ok(Sampled {
            trace: TraceReader::open(path)?,
            progress: Progress::new(schedule),
            filter: LineFilter::default(),
            pending: VecDeque::new(),
            blocks: Vec::new(),
            block: BlockId(0),
            begins: false,
            idle_ps: 0,
            recorded_ps: 0,
            given_ps: 0,
            rests: false,
            syncs: 0,
            clock_reads: 0,
        })
    }

    /// The recorder's description of the run.
    #[must_use]
    pub fn description(&self) -> &str {
        self.trace.description()
    }

    /// Whether the recorded run was stopped before its own end.
    #[must_use]
    pub fn was_cut_short(&self) -> bool {
        self.trace.completeness() == Completeness::CutShort
    }

    fn tell(&mut self, record: Record) {
        self.pending.push_back(record.encode(ONLY));
    }

    fn sample(&mut self, phase: Phase) {
        let idle_ps = std::mem::take(&mut self.idle_ps);
        let (position, keep) = (self.progress.position(), self.progress.take_keep());
        self.tell(Record::Sample { phase, position, keep, idle_ps });
    }

    /// A phase follows another: warming begins and ends with detail that nobody counts.
    fn follow(&mut self, before: Phase, phase: Phase) {
        let warms = (before == Phase::Warming) != (phase == Phase::Warming);
        if warms && before != Phase::Detailed && phase != Phase::Detailed {
            self.sample(Phase::Detailed);
        }
        self.sample(phase);
        if phase == Phase::Warming {
            self.filter.forget();
        }
    }

    /// A record of the trace: what of it is told.
    fn take_in(&mut self, words: Words) -> Result<(), ModelError> {
        let damaged = || ModelError::Stream { cause: format!("{words:x?} is no record") };
        let record = Record::decode(words).ok_or_else(damaged)?;
        if let Record::Access(access) = record
            && self.repeats(access.instruction)
        {
            let before = self.progress.phase();
            let line = access.physical / LINE_BYTES;
            if let (_, Some(phase)) = self.progress.repeat(access.instruction.into(), line, access.store) {
                let instruction = access.instruction;
                if before != Phase::Warming {
                    // What it does next stands behind the phase.
                    self.tell(Record::Cut { instruction });
                }
                self.follow(before, phase);
                self.tell(Record::Block { block: self.block, from: instruction });
            }
        }
        match record {
            Record::Define { pc, length, .. } => self.define(words, pc, usize::from(length), record.payload_records()),
            Record::Page { .. } => self.copy(words, record.payload_records(), "the definition of a page").map(drop),
            Record::Block { block, .. } => self.enter(block),
            Record::Disk { .. } => self.ask_disk(words, record.payload_records()),
            // The waits keep their recorded length.
            Record::File { .. } => Ok(()),
            Record::Rest { .. } => {
                self.rests = true;
                Ok(())
            }
            Record::Sample { .. } => Err(ModelError::Stream { cause: "the recorded run was sampled already".into() }),
            Record::Mark { marker } => {
                self.mark(marker);
                Ok(())
            }
            Record::End => {
                self.sample(Phase::Detailed);
                self.tell(record);
                Ok(())
            }
            _ if self.progress.phase() == Phase::Warming => {
                self.warm(record);
                Ok(())
            }
            _ => {
                self.detail(record);
                Ok(())
            }
        }
    }

    fn define(&mut self, words: Words, pc: u64, length: usize, records: usize) -> Result<(), ModelError> {
        let code = self.copy(words, records, "the definition of a block")?;
        self.blocks.push(Block::decode(pc, &code[..length]));
        Ok(())
    }

    /// Whether this instruction of the block may repeat.
    fn repeats(&self, instruction: u16) -> bool {
        let block = self.blocks.get(self.block.0 as usize);
        let code = block.and_then(|block| block.instructions.get(usize::from(instruction)));
        code.is_some_and(|code| code.work == Work::String)
    }

    /// Tell a record and its payload as they are.
    fn copy(&mut self, words: Words, records: usize, what: &str) -> Result<Vec<u8>, ModelError> {
        self.pending.push_back(words);
        payload(records, &what, || {
            let words = self.trace.next_entry()?.and_then(Entry::words);
            self.pending.extend(words);
            Ok(words)
        })
    }

    /// Tell the drive's command where instructions are timed.
    fn ask_disk(&mut self, words: Words, records: usize) -> Result<(), ModelError> {
        let before = self.pending.len();
        self.copy(words, records, "a command to the disk")?;
        if self.progress.phase() == Phase::Warming {
            self.pending.truncate(before);
        }
        Ok(())
    }

    /// The recorded answer to a question. If all rested, it says until when.
    fn recorded_answer(&mut self, ps: u64) {
        let before_ps = std::mem::replace(&mut self.recorded_ps, ps);
        if !std::mem::take(&mut self.rests) {
            return;
        }
        let rested_ps = ps.saturating_sub(before_ps);
        if self.progress.phase() == Phase::Warming {
            self.tell(Record::Rested { span_ps: rested_ps });
        } else {
            // The recording says how long, whatever the drive does here.
            self.tell(Record::Rest { until_ps: self.given_ps + rested_ps, done: u32::MAX });
            self.clock_reads += 1;
            self.tell(Record::Settle { sequence: self.clock_reads });
        }
    }

    fn enter(&mut self, block: BlockId) -> Result<(), ModelError> {
        let undefined = || ModelError::Stream { cause: format!("block {} was never defined", block.0) };
        let length = self.blocks.get(block.0 as usize).ok_or_else(undefined)?.instructions.len() as u64;
        self.block = block;
        if std::mem::take(&mut self.begins) {
            self.sample(self.progress.phase());
        }
        let before = self.progress.phase();
        if let Some(phase) = self.progress.enter(length) {
            // The target of the last branch is told before the phase.
            self.tell(Record::Block { block, from: 0 });
            self.tell(Record::Cut { instruction: 0 });
            self.follow(before, phase);
        }
        self.tell(Record::Block { block, from: 0 });
        Ok(())
    }

    fn mark(&mut self, marker: Marker) {
        let record = Record::Mark { marker };
        match marker {
            // The program's start stands ahead of a region, too, where nothing is executed between the two.
            Marker::ProgramStart | Marker::RegionBegin => {
                self.tell(record);
                self.begins = true;
            }
            Marker::ProgramEnd | Marker::RegionEnd => {
                self.begins = false;
                self.sample(Phase::Detailed);
                self.tell(record);
            }
            Marker::Counters | Marker::FromOutput | Marker::Booted | Marker::Checkpoint => {}
        }
    }

    fn warm(&mut self, record: Record) {
        match record {
            Record::Access(access)
                if !access.device && self.filter.lets_pass(access.physical / LINE_BYTES, access.store) =>
            {
                self.tell(record);
            }
            Record::Device { .. } | Record::Invalidate { .. } => self.tell(record),
            Record::Idle { until_ps } => self.idle_ps += until_ps.saturating_sub(self.recorded_ps),
            _ => {}
        }
    }

    fn detail(&mut self, record: Record) {
        let told = match record {
            Record::Sync { lag, .. } => {
                self.syncs += 1;
                Record::Sync { sequence: self.syncs, lag }
            }
            Record::Drain { owns, .. } => {
                self.syncs += 1;
                Record::Drain { sequence: self.syncs, owns }
            }
            Record::ClockRead { instruction, .. } => {
                self.clock_reads += 1;
                Record::ClockRead { instruction, sequence: self.clock_reads }
            }
            Record::Settle { .. } => {
                self.clock_reads += 1;
                Record::Settle { sequence: self.clock_reads }
            }
            // It stands behind a question that all was committed for, and that the model has answered by now.
            Record::Idle { until_ps } => {
                Record::Idle { until_ps: self.given_ps + until_ps.saturating_sub(self.recorded_ps) }
            }
            other => other,
        };
        self.tell(told);
    }
}

impl RecordSource for Sampled {
    fn words(&mut self) -> Result<Option<Words>, ModelError> {
        loop {
            if let Some(words) = self.pending.pop_front() {
                return Ok(Some(words));
            }
            match self.trace.next_entry()? {
                None => return Ok(None),
                Some(Entry::Answer(ps)) => self.recorded_answer(ps),
                Some(Entry::Words(words)) => self.take_in(words)?,
            }
        }
    }

    fn words_at_hand(&mut self) -> Result<Option<Words>, ModelError> {
        self.words()
    }

    fn request_done(&mut self, _number: u32) {}

    fn slept(&mut self, _vcpu: Vcpu, _ps: u64) {}

    fn put_off(&mut self, _reply: Reply, _sequence: u64, _behind: Behind) {}

    fn is_recorded_elsewhere(&self) -> bool {
        // An idle span is told by the answer to the question before it.
        false
    }

    fn share_read(&self) -> Option<f64> {
        Some(self.trace.share_read())
    }

    fn answer_sync(&mut self, _vcpu: Vcpu, _sequence: u64, _ps: u64) -> Result<(), ModelError> {
        Ok(())
    }

    fn answer_clock(&mut self, _sequence: u64, ps: u64) -> Result<(), ModelError> {
        self.given_ps = ps;
        Ok(())
    }
}
