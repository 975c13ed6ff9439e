//! A guest: one stream of records, live or recorded, and a reader for each of its vCPUs.
//!
//! ```text
//!   source: v0 v0 v0 v1 v1 v0 ...  -->  reader 0 --> core 0
//!      ^                           \->  reader 1 --> core 1
//!      +------------- answers --------------+
//! ```
//!
//! The machine stops if a core lacks its next step. So the result does not depend on which process is faster.
//! If the guest itself waits for an answer, the machine continues up to the time of that core. The answer can lie beyond
//! the time of another vCPU. Then it is deferred: the guest lets that vCPU run and asks again.
//! A phase of warming never reaches the cores. It is read here once the cores have come to its beginning.

mod answers;
mod checks;
mod definitions;
mod phases;
mod replaced;
mod retired;

use std::sync::Arc;

use cxlab_access::record::Words;
use cxlab_access::ring::{Behind, Reply};
use cxlab_access::{Forget, Mapping, Marker, PageId, Phase, Record, Vcpu};
use cxlab_kernel::Time;

use self::answers::{Questions, Syncs};
use self::replaced::Replaced;
use self::retired::Retired;
use super::blocks::Blocks;
use super::reader::{Bounds, Reader, Rest};
use super::warming::Warming;
use crate::drive::Command;
use crate::error::ModelError;
use crate::feed::Block;
use crate::machine::{Lacking, Machine, Stop};
use crate::summary::Windows;

/// Source of records, which takes answers.
pub trait RecordSource {
    /// The next record's words; `None` when nothing more will come.
    fn words(&mut self) -> Result<Option<Words>, ModelError>;
    /// Reads the next words without waiting for them.
    fn words_at_hand(&mut self) -> Result<Option<Words>, ModelError>;
    /// A device has done the request of this number: the next answer says so.
    fn request_done(&mut self, number: u32);
    /// A vCPU was idle or waited for a device for so long in all: the next answer says so.
    fn slept(&mut self, vcpu: Vcpu, ps: u64);
    fn answer_sync(&mut self, vcpu: Vcpu, sequence: u64, ps: u64) -> Result<(), ModelError>;
    fn answer_clock(&mut self, sequence: u64, ps: u64) -> Result<(), ModelError>;
    /// The answer would need what another vCPU does before.
    fn put_off(&mut self, reply: Reply, sequence: u64, behind: Behind);
    /// Whether the producer waits for answers, or all is there already.
    fn is_recorded_elsewhere(&self) -> bool;
    /// Share of all records that was read, 0 to 1. `None` if nobody knows how many will come.
    fn share_read(&self) -> Option<f64>;
}

/// Records that are read ahead at once.
const BATCH: usize = 4096;

/// A source and its readers.
pub struct Guest<S> {
    source: S,
    readers: Vec<Reader>,
    /// those that records may still name
    blocks: Blocks<Arc<Block>>,
    retired: Retired,
    warming: Warming,
    /// windows of a sampled run
    windows: Option<Windows>,
    /// the first region of detail has begun: what was warmed before is no part of it
    region_begun: bool,
    /// warming begins behind what was read: the cores have not come there yet
    warming_ahead: bool,
    /// pages told so far
    pages: u32,
    /// those of them that the machine does not know yet
    new_pages: Vec<(PageId, Mapping)>,
    /// requests to the disk that it does not know yet
    new_commands: Vec<(u32, Command)>,
    /// all are idle until a device has done something, or a timer rings: how long is not known yet
    rests: bool,
    replaced: Replaced,
    syncs: Syncs,
    /// of each vCPU, the last sync point that its core has come to, and when `[ps]`
    synced: Vec<Option<(u64, u64)>>,
    clock: Questions,
    /// who asked for the clock last
    asker: usize,
    /// the last time that was told where all was committed `[ps]`; an idle span begins there
    committed_ps: u64,
    /// what the stream says of time in all: idle spans of warming, and devices' service
    told: Time,
    /// who has executed the last block, and who has halted, as far as the stream was read
    speaker: usize,
    halted: Vec<bool>,
    /// who sleeps was told again, or all have ended
    sleep_told: bool,
}

impl<S: RecordSource> Guest<S> {
    pub fn new(source: S, vcpus: u16) -> Guest<S> {
        let readers = (0..vcpus).map(|_| Reader::default()).collect();
        Guest {
            source,
            readers,
            blocks: Blocks::default(),
            retired: Retired::default(),
            warming: Warming::new(vcpus),
            windows: None,
            region_begun: false,
            warming_ahead: false,
            pages: 0,
            new_pages: Vec::new(),
            new_commands: Vec::new(),
            rests: false,
            replaced: Replaced::default(),
            syncs: Syncs::new(vcpus),
            synced: vec![None; vcpus.into()],
            clock: Questions::default(),
            asker: 0,
            committed_ps: 0,
            told: Time::ZERO,
            speaker: 0,
            halted: vec![false; vcpus.into()],
            sleep_told: false,
        }
    }

    pub fn source(&self) -> &S {
        &self.source
    }

    pub fn into_source(self) -> S {
        self.source
    }

    /// Executed blocks, each as it was translated. Without a profile it has only the latest.
    pub fn blocks(&self) -> impl Iterator<Item = &Block> {
        self.blocks.iter().map(Arc::as_ref)
    }

    /// Instructions that were executed without time, of user mode and of the kernel.
    #[must_use]
    pub fn warmed(&self) -> [u64; 2] {
        self.warming.instructions
    }

    /// Time that the machine has run. Windows tell the time of a sampled run. `None` if no window stands for a part
    /// that was not timed.
    #[must_use]
    pub fn elapsed(&self, machine: &Machine) -> Option<Time> {
        match &self.windows {
            Some(windows) => windows.elapsed(machine, self.warmed()),
            None => (self.warmed() == [0; 2]).then(|| machine.now()),
        }
    }

    /// Whether windows stand for the whole.
    #[must_use]
    pub fn is_sampled(&self) -> bool {
        self.windows.is_some()
    }

    /// Run the machine until the program ends; `look` sees it and the guest at each answer.
    pub fn run(
        &mut self,
        machine: &mut Machine,
        mut look: impl FnMut(&Machine, &Self) -> Result<(), ModelError>,
    ) -> Result<(), ModelError> {
        let mut asleep_before = false;
        loop {
            let lacking = if self.waits() { Lacking::Before } else { Lacking::Stop };
            match machine.go(&mut self.readers, lacking)? {
                Stop::Answered => {
                    self.tell(machine)?;
                    look(machine, self)?;
                }
                Stop::Starved(lacking) if self.waits() => self.put_off(machine, usize::from(lacking.0)),
                stop @ (Stop::Starved(_) | Stop::Asleep) => {
                    let read = self.read(stop)?;
                    self.tell_machine(machine)?;
                    let asleep = stop == Stop::Asleep && !read;
                    if asleep && asleep_before {
                        let cause = "all vCPUs have halted where one of them goes on".into();
                        return Err(ModelError::Stream { cause });
                    }
                    asleep_before = asleep;
                }
                Stop::Ended => return self.tell(machine),
            }
        }
    }

    /// Read until the core that has stopped the machine has what it lacks, or any core if all sleep. Then read what is at hand.
    /// Returns whether some core lacked anything.
    fn read(&mut self, stop: Stop) -> Result<bool, ModelError> {
        let lacking = match stop {
            Stop::Starved(core) => usize::from(core.0)..usize::from(core.0) + 1,
            _ => 0..self.readers.len(),
        };
        let starved: u64 = lacking.filter(|vcpu| self.readers[*vcpu].is_starved()).map(|vcpu| 1 << vcpu).sum();
        if starved == 0 {
            return Ok(false);
        }
        if self.warming_ahead {
            return Err(ModelError::Stream { cause: "warming begins where a vCPU has not halted".into() });
        }
        self.sleep_told = false;
        let mut goes_on = self.goes_on();
        while goes_on {
            let Some(words) = self.source.words()? else {
                self.end();
                return Ok(true);
            };
            goes_on = self.take_in(words)?;
            // A record feeds its own vCPU, and who sleeps lacks nothing. To ask all of them for each record takes long.
            let fed_by = |vcpu: usize| starved >> vcpu & 1 == 1 && !self.readers[vcpu].is_starved();
            let index = Vcpu::of(words).index();
            if fed_by(index) || std::mem::take(&mut self.sleep_told) && (0..self.readers.len()).any(fed_by) {
                break;
            }
        }
        for _ in 0..BATCH {
            if !goes_on {
                break;
            }
            let Some(words) = self.source.words_at_hand()? else { break };
            goes_on = self.take_in(words)?;
        }
        Ok(true)
    }

    /// Whether something comes before the cores have done what was read.
    fn goes_on(&self) -> bool {
        !self.waits() && !self.warming_ahead
    }

    /// The number of a record's vCPU, and the record.
    #[inline]
    fn decode(&self, words: Words) -> Result<(usize, Record), ModelError> {
        let index = Vcpu::of(words).index();
        let damaged = || ModelError::Stream { cause: format!("{words:x?} is no record") };
        let record = Record::decode(words).ok_or_else(damaged)?;
        self.check_vcpu(Vcpu::of(words), record)?;
        Ok((index, record))
    }

    /// A record has come: whether another may, before the cores have done what was read.
    #[inline(always)]
    fn take_in(&mut self, words: Words) -> Result<bool, ModelError> {
        let index = Vcpu::of(words).index();
        if index < self.readers.len() {
            if let Some(access) = Record::access_of(words) {
                self.check_page(access)?;
                self.readers[index].take_in(words, Bounds::Nothing);
                return Ok(true);
            }
            if Record::block_of(words).is_some() {
                self.speak(index);
                self.readers[index].take_in(words, Bounds::Block);
                return Ok(true);
            }
        }
        self.take_in_rare(words)
    }

    #[inline(never)]
    fn take_in_rare(&mut self, words: Words) -> Result<bool, ModelError> {
        let (index, record) = self.decode(words)?;
        match record {
            Record::Define { .. } | Record::Page { .. } => {
                self.define(record)?;
                return Ok(true);
            }
            Record::Sync { sequence, lag } => self.syncs.wait_for(index, sequence.saturating_sub(lag.into())),
            Record::Drain { sequence, .. } => self.syncs.wait_for(index, sequence),
            Record::ClockRead { sequence, .. } | Record::Settle { sequence } => {
                (self.clock.awaited, self.asker) = (sequence, index);
            }
            Record::Halt => {
                self.halted[index] = true;
                self.let_sleep(index);
            }
            Record::Wake { woken } => {
                self.check_vcpu(woken, record)?;
                self.check_awake(index, record)?;
                self.halted[woken.index()] = false;
                self.let_sleep(woken.index());
            }
            Record::Mark { marker } => {
                self.speak(index);
                if marker == Marker::RegionBegin && !self.region_begun {
                    (self.region_begun, self.windows, self.warming.instructions) = (true, None, [0; 2]);
                }
            }
            Record::Invalidate { forget: Forget::Page(page), .. } => self.check_told(page)?,
            Record::Idle { until_ps } => self.idle(until_ps)?,
            Record::Rest { until_ps, .. } => self.rest(until_ps)?,
            Record::Disk { .. } => self.define_command(record)?,
            Record::File { service_ps, .. } => self.check_time(service_ps)?,
            Record::Device { service_ps } => {
                self.check_time(service_ps)?;
                self.check_stands(record)?;
            }
            Record::Sample { phase, .. } => self.warming_ahead = phase == Phase::Warming,
            Record::End => self.end(),
            _ => {}
        }
        self.readers[index].take_in(words, Bounds::Block);
        if record == (Record::Mark { marker: Marker::ProgramEnd }) {
            self.end();
        }
        Ok(self.goes_on())
    }

    /// A vCPU executes.
    #[inline]
    fn speak(&mut self, index: usize) {
        if index != self.speaker {
            let before = std::mem::replace(&mut self.speaker, index);
            self.let_sleep(before);
            self.let_sleep(index);
        }
    }

    /// Lets a vCPU sleep if it has halted and is not the speaker. The speaker's records say when one wakes.
    fn let_sleep(&mut self, index: usize) {
        self.sleep_told = true;
        self.readers[index].rest(match (self.halted[index], index == self.speaker) {
            (false, _) => Rest::Awake,
            (true, true) => Rest::Last,
            (true, false) => Rest::Asleep,
        });
    }

    /// Whether it has halted, and others have gone on.
    fn sleeps(&self, index: usize) -> bool {
        self.halted[index] && index != self.speaker
    }

    /// No vCPU will do anything more.
    fn end(&mut self) {
        self.sleep_told = true;
        self.readers.iter_mut().for_each(Reader::end);
    }
}
