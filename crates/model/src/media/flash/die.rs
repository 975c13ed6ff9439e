//! A die: one operation at a time, reads before programs, programs before collection.
//!
//! ```text
//!   read:     [tR] -> bus -> done            program: bus -> [tPROG]           copy: [tR] -> bus, then a program
//!   write:    write buffer -> done, programmed when a stripe is full           erase: [tBERS]
//! ```
//!
//! Collection is preempted: after each of its operations a read or a program that waits goes first. If a write waits for room,
//! reads and what makes room take turns.
//!
//! If the part can suspend, a read does not wait for the end of a program or an erase: the operation stops, the reads that wait
//! are served, and it goes on with what was left. While a write waits for room nothing is suspended, so that it gets some.
//!
//! Not modelled: reads of several planes at once, retries of reads.

use std::collections::VecDeque;

use cxlab_kernel::{Server, Time};

use super::ftl::{Copied, Copies, Ftl, Stripe, Writer};
use super::geometry::{BlockId, Geometry, Logical};
use super::operation::{Kind, Operation};
use super::stats::FlashStats;
use crate::mem::{Driver, Tag, Wake};

/// Stripes of a die that are in the write buffer before hosts have to wait.
const BUFFERED: usize = 2;

/// How long the operations of a drive take.
#[derive(Clone, Copy, Debug)]
pub struct Times {
    pub read: Time,
    pub program: Time,
    pub erase: Time,
    /// until a program or an erase has made way for a read; none: it does not
    pub suspend: Option<Time>,
    /// of a unit on the bus
    pub transfer: Time,
    /// of the controller, for each request
    pub controller: Time,
}

/// What a die needs of its drive for a step.
pub struct Drive<'a> {
    pub geometry: &'a Geometry,
    pub times: &'a Times,
    pub bus: &'a mut Server,
    pub stats: &'a mut FlashStats,
    pub log: &'a mut Option<Vec<Operation>>,
}

/// A request of the host that waits.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    tag: Tag,
    unit: Logical,
    since: Time,
}

/// What a die is doing.
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
    /// what is left of it
    left: Time,
}

/// State of a die.
#[derive(Clone, Debug)]
pub struct Die {
    number: u32,
    pub ftl: Ftl,
    busy: Option<Busy>,
    /// when its operation ends; a suspended operation wakes the die earlier, and that wake is ignored
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

    /// The host reads a unit.
    pub fn read<D: Driver>(&mut self, now: Time, tag: Tag, unit: Logical, mut drive: Drive<'_>, driver: &mut D) {
        self.reads.push_back(Waiting { tag, unit, since: now });
        self.suspend(now, &mut drive, driver);
        self.proceed(now, &mut drive, driver);
    }

    /// The host writes a unit.
    pub fn write<D: Driver>(&mut self, now: Time, tag: Tag, unit: Logical, mut drive: Drive<'_>, driver: &mut D) {
        self.writes.push_back(Waiting { tag, unit, since: now });
        self.accept(now, &mut drive, driver);
        self.proceed(now, &mut drive, driver);
    }

    /// Its operation, or the transfer after it, has ended.
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

    /// Stops a program or an erase for the read that has come, if that is sooner than its end.
    fn suspend<D: Driver>(&mut self, now: Time, drive: &mut Drive<'_>, driver: &mut D) {
        let Some(takes) = drive.times.suspend else { return };
        let long = match self.busy {
            Some(Busy::Programming(_)) => drive.times.program,
            Some(Busy::Erasing(_)) => drive.times.erase,
            _ => return,
        };
        // A program's data are still on the bus.
        let has_begun = now + long >= self.until;
        if !has_begun || now + takes >= self.until || !self.writes.is_empty() {
            return;
        }
        let operation = self.busy.take().expect("it was looked at");
        self.suspended = Some(Suspended { operation, left: self.until - now });
        drive.stats.suspended.increment();
        self.begin(now + takes, Busy::Suspending, driver);
    }

    /// Goes on with what was suspended.
    fn resume<D: Driver>(&mut self, now: Time, driver: &mut D) -> bool {
        let Some(Suspended { operation, left }) = self.suspended.take() else { return false };
        self.begin(now + left, operation, driver);
        true
    }

    /// Takes in writes for which there is room.
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

    /// Begins what comes next, if the die is idle.
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

    /// Begins what hosts that write wait for: collection where no erased block is left, else a program.
    fn begin_for_writes<D: Driver>(&mut self, now: Time, drive: &mut Drive<'_>, driver: &mut D) -> bool {
        if self.ftl.has_room(Writer::Host) {
            self.begin_program(now, drive, driver);
        } else {
            self.begin_collection(now, drive, driver);
        }
        self.busy.is_some()
    }

    /// Begins the next read that needs the cells; those that the write buffer answers are done.
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

    /// Begins an erase or the copies of a page; programs that collection waits for go first.
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
            // The block that was chosen had no valid unit.
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
    /// Units go over the bus, after those that came first: when the last one is over.
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
