//! A die: one operation at a time, reads before programs, programs before collection.
//!
//! ```text
//!   read:     [tR] -> bus -> done            program: bus -> [tPROG]           copy: [tR] -> bus, then a program
//!   write:    write buffer -> done, programmed when a stripe is full           erase: [tBERS]
//! ```
//!
//! Collection is preempted: after each of its operations, a waiting read or program goes first. If a write waits for
//! room, reads take turns with the programs and the collection that make room.
//!
//! If the part can suspend, a read does not wait for the end of a program or an erase. The operation stops, the waiting
//! reads are served, and the operation goes on with its remaining time. While a write waits for room nothing is
//! suspended, so that the write gets room.
//!
//! Not modelled: reads of several planes at once, retries of reads.

use std::collections::VecDeque;

use cxlab_kernel::{Server, Time};

use super::ftl::{Copied, Copies, Ftl, Stripe, Writer};
use super::geometry::{BlockId, Geometry, Logical};
use super::operation::{Kind, Operation};
use super::stats::FlashStats;
use crate::mem::{Driver, Tag, Wake};

/// Stripes of a die in the write buffer before hosts have to wait.
const BUFFERED: usize = 2;

/// Times of a drive's operations.
#[derive(Clone, Copy, Debug)]
pub struct Times {
    pub read: Time,
    pub program: Time,
    pub erase: Time,
    /// until a program or an erase has made way for a read; `None` if it does not make way
    pub suspend: Option<Time>,
    /// transfer of a unit over the bus
    pub transfer: Time,
    /// latency of the controller, for each request
    pub controller: Time,
}

/// Parts of the drive that a die needs for a step.
pub struct Drive<'a> {
    pub geometry: &'a Geometry,
    pub times: &'a Times,
    pub bus: &'a mut Server,
    pub stats: &'a mut FlashStats,
    pub log: &'a mut Option<Vec<Operation>>,
}

/// A waiting request of the host.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    tag: Tag,
    unit: Logical,
    since: Time,
}

/// The present operation of a die.
#[derive(Clone, Debug)]
enum Busy {
    Sensing(Waiting),
    Sending,
    Programming(Stripe),
    Erasing(BlockId),
    SensingCopies(Copies),
    SendingCopies(Copies),
    Suspending,
}

/// A program or an erase that made way for reads.
#[derive(Clone, Debug)]
struct Suspended {
    operation: Busy,
    /// its remaining time
    left: Time,
}

/// State of a die.
#[derive(Clone, Debug)]
pub struct Die {
    number: u32,
    pub ftl: Ftl,
    busy: Option<Busy>,
    /// when the operation ends; a suspended operation wakes the die earlier, and that wake is ignored
    until: Time,
    suspended: Option<Suspended>,
    reads: VecDeque<Waiting>,
    writes: VecDeque<Waiting>,
    programs: VecDeque<Stripe>,
    /// whether the last operation was a read of the host
    after_read: bool,
}

impl Die {
    pub fn new(number: u32, ftl: Ftl) -> Die {
        let (reads, writes, programs) = (VecDeque::new(), VecDeque::new(), VecDeque::new());
        let until = Time::ZERO;
        Die { number, ftl, busy: None, until, suspended: None, reads, writes, programs, after_read: false }
    }

    /// Takes a read of a unit from the host.
    pub fn read<D: Driver>(&mut self, now: Time, tag: Tag, unit: Logical, mut drive: Drive<'_>, driver: &mut D) {
        self.reads.push_back(Waiting { tag, unit, since: now });
        self.suspend(now, &mut drive, driver);
        self.proceed(now, &mut drive, driver);
    }

    /// Takes a write of a unit from the host.
    pub fn write<D: Driver>(&mut self, now: Time, tag: Tag, unit: Logical, mut drive: Drive<'_>, driver: &mut D) {
        self.writes.push_back(Waiting { tag, unit, since: now });
        self.accept(now, &mut drive, driver);
        self.proceed(now, &mut drive, driver);
    }

    /// Ends the operation, or the transfer after it.
    pub fn wake<D: Driver>(&mut self, now: Time, mut drive: Drive<'_>, driver: &mut D) {
        if now < self.until {
            return;
        }
        let Some(busy) = self.busy.take() else { return };
        match busy {
            Busy::Sensing(Waiting { tag, since, .. }) => {
                let end = drive.transfer(now, 1);
                let done = end + drive.times.controller;
                drive.stats.read_latency.record(done - since);
                driver.done(done, tag);
                self.begin(end, Busy::Sending, driver);
            }
            Busy::Sending | Busy::Suspending => {}
            Busy::Programming(stripe) => self.ftl.programmed(stripe),
            Busy::Erasing(block) => self.ftl.erased(block),
            Busy::SensingCopies(copies) => {
                let end = drive.transfer(now, copies.units.len() as u32);
                self.begin(end, Busy::SendingCopies(copies), driver);
            }
            Busy::SendingCopies(copies) => self.store(&copies, drive.stats),
        }
        self.accept(now, &mut drive, driver);
        self.proceed(now, &mut drive, driver);
    }

    /// Stops a program or an erase for a read that has come, if stopping is sooner than the operation's end.
    fn suspend<D: Driver>(&mut self, now: Time, drive: &mut Drive<'_>, driver: &mut D) {
        let Some(takes) = drive.times.suspend else { return };
        let long = match self.busy {
            Some(Busy::Programming(_)) => drive.times.program,
            Some(Busy::Erasing(_)) => drive.times.erase,
            _ => return,
        };
        // Before that, the program's data are still on the bus.
        let has_begun = now + long >= self.until;
        if !has_begun || now + takes >= self.until || !self.writes.is_empty() {
            return;
        }
        let operation = self.busy.take().expect("it was looked at");
        self.suspended = Some(Suspended { operation, left: self.until - now });
        drive.stats.suspended.increment();
        self.begin(now + takes, Busy::Suspending, driver);
    }

    /// Resumes the suspended operation, if there is one.
    fn resume<D: Driver>(&mut self, now: Time, driver: &mut D) -> bool {
        let Some(Suspended { operation, left }) = self.suspended.take() else { return false };
        self.begin(now + left, operation, driver);
        true
    }

    /// Takes in the writes for which there is room.
    fn accept<D: Driver>(&mut self, now: Time, drive: &mut Drive<'_>, driver: &mut D) {
        while self.programs.len() < BUFFERED && self.ftl.has_room(Writer::Host) {
            let Some(Waiting { tag, unit, since }) = self.writes.pop_front() else { return };
            let done = now + drive.times.controller;
            drive.stats.host_units.increment();
            drive.stats.write_latency.record(done - since);
            self.programs.extend(self.ftl.write(unit, Writer::Host));
            driver.done(done, tag);
        }
    }

    /// Begins the next operation, if the die is idle.
    fn proceed<D: Driver>(&mut self, now: Time, drive: &mut Drive<'_>, driver: &mut D) {
        if self.busy.is_some() {
            return;
        }
        let pressing = !self.writes.is_empty() && (self.after_read || self.reads.is_empty());
        if pressing && self.resume(now, driver) {
            return;
        }
        if pressing && self.begin_for_writes(now, drive, driver) {
            return;
        }
        if self.begin_read(now, drive, driver) || self.resume(now, driver) {
            return;
        }
        if self.programs.is_empty() {
            self.begin_collection(now, drive, driver);
        } else {
            self.begin_program(now, drive, driver);
        }
    }

    /// Begins the operation that waiting writes need. It is collection if no erased block is left, and otherwise a
    /// program.
    fn begin_for_writes<D: Driver>(&mut self, now: Time, drive: &mut Drive<'_>, driver: &mut D) -> bool {
        if self.ftl.has_room(Writer::Host) {
            self.begin_program(now, drive, driver);
        } else {
            self.begin_collection(now, drive, driver);
        }
        self.busy.is_some()
    }

    /// Begins the next read that needs the cells. Reads that the write buffer answers are done at once.
    fn begin_read<D: Driver>(&mut self, now: Time, drive: &mut Drive<'_>, driver: &mut D) -> bool {
        while let Some(waiting) = self.reads.pop_front() {
            let slot = self.ftl.slot(waiting.unit);
            if self.ftl.is_programmed(slot) {
                if self.ftl.collects() {
                    drive.stats.preempted.increment();
                }
                drive.stats.reads.increment();
                let (stripe, plane) = (drive.geometry.stripe(slot.place), drive.geometry.plane(slot.place));
                drive.note(now, self.number, Kind::Read { block: slot.block, stripe, plane });
                self.begin(now + drive.times.read, Busy::Sensing(waiting), driver);
                return true;
            }
            let done = now + drive.times.controller;
            drive.stats.buffer_hits.increment();
            drive.stats.read_latency.record(done - waiting.since);
            driver.done(done, waiting.tag);
        }
        false
    }

    fn begin_program<D: Driver>(&mut self, now: Time, drive: &mut Drive<'_>, driver: &mut D) {
        let Some(stripe) = self.programs.pop_front() else { return };
        drive.stats.programs.increment();
        drive.note(now, self.number, Kind::Program { block: stripe.block, stripe: stripe.number });
        let sent = drive.transfer(now, drive.geometry.units_per_stripe());
        self.begin(sent + drive.times.program, Busy::Programming(stripe), driver);
    }

    /// Begins an erase or the copies of a page. Programs that collection waits for go first.
    fn begin_collection<D: Driver>(&mut self, now: Time, drive: &mut Drive<'_>, driver: &mut D) {
        if let Some(block) = self.ftl.next_erase() {
            self.begin_erase(now, block, drive, driver);
        } else if !self.programs.is_empty() {
            self.begin_program(now, drive, driver);
        } else if let Some(copies) = self.ftl.next_copies() {
            drive.stats.copy_reads.increment();
            let Copies { block, stripe, plane, .. } = copies;
            drive.note(now, self.number, Kind::Read { block, stripe, plane });
            self.begin(now + drive.times.read, Busy::SensingCopies(copies), driver);
        } else if let Some(block) = self.ftl.next_erase() {
            // The chosen block had no valid unit.
            self.begin_erase(now, block, drive, driver);
        }
    }

    fn begin_erase<D: Driver>(&mut self, now: Time, block: BlockId, drive: &mut Drive<'_>, driver: &mut D) {
        drive.stats.erases.increment();
        drive.note(now, self.number, Kind::Erase { block });
        self.begin(now + drive.times.erase, Busy::Erasing(block), driver);
    }

    /// Writes copies to their new places.
    fn store(&mut self, copies: &Copies, stats: &mut FlashStats) {
        for unit in &copies.units {
            if let Copied::Moved(stripe) = self.ftl.copy(copies.block, *unit) {
                stats.copied_units.increment();
                self.programs.extend(stripe);
            }
        }
    }

    fn begin<D: Driver>(&mut self, end: Time, busy: Busy, driver: &mut D) {
        self.after_read = matches!(busy, Busy::Sensing(_) | Busy::Sending);
        (self.busy, self.until) = (Some(busy), end);
        driver.wake(end, Wake::Channel(self.number));
    }
}

impl Drive<'_> {
    /// Moves units over the bus, after earlier transfers. Returns when the last unit is over.
    fn transfer(&mut self, now: Time, units: u32) -> Time {
        let long = self.times.transfer * u64::from(units);
        self.bus.reserve(now, long) + long
    }

    fn note(&mut self, at: Time, die: u32, kind: Kind) {
        if let Some(log) = self.log {
            log.push(Operation { at, die, kind });
        }
    }
}
