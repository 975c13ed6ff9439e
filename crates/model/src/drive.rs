//! A drive: an NVMe SSD that moves pages between its flash and the memory of the machine while programs run on.
//!
//! ```text
//!   read:   command -> units -> flash --unit--> link --> lines to the channels of their nodes --\
//!   write:  command -> units -> link <-- lines from the channels --> flash's write buffer -------> done, with the last unit
//! ```
//!
//! A command is cut into units of 4 KiB. They go to the dies side by side, and the command is done with the last one. The
//! link's two directions serve units in their order. Lines enter the fabric beside those of the cores.
//!
//! Not modelled: a limit of commands (the guest's queue has one), the lines of queue entries, and caches on the way
//! of a line. A line comes from its memory and goes there.

mod command;
mod stats;

use cxlab_kernel::statistic::Entry;
use cxlab_kernel::{Bandwidth, Bytes, Key, Server, Slab, Time};
use rustc_hash::FxHashMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::addr::{Dpa, Hpa};
use crate::fact::Sourced;
use crate::media::flash::{Flash, FlashError, FlashSpec};
use crate::mem::{Access, AccessKind, Done, Driver, Media, Tag, Wake};

pub use command::{Command, UNIT_BYTES};
pub use stats::DriveStats;

/// A drive as its file describes it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DriveSpec {
    /// the model's name
    pub name: String,
    /// one sentence for people
    pub description: String,
    /// what the host sees `[B]`
    pub capacity: Sourced<Bytes>,
    /// what the drive moves to or from the host `[GB/s]`
    pub link: Sourced<Bandwidth>,
    /// behind the controller
    pub flash: FlashSpec,
}

impl DriveSpec {
    /// # Errors
    /// [`FlashError`] names the parameter that cannot be, and what is valid.
    pub fn check(&self) -> Result<(), FlashError> {
        self.flash.geometry(*self.capacity, Bytes::new(UNIT_BYTES)).map(drop)
    }

    /// Time that a read of a unit keeps its die: the cells, and the bus of the channel.
    #[must_use]
    pub fn die_time(&self) -> Time {
        self.flash.die_time(Bytes::new(UNIT_BYTES))
    }
}

/// The next event of a drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Due {
    /// the host has rung for the command of this number
    Begin(u32),
    /// the flash asked to be woken
    Flash(Wake),
    /// the flash has read or taken over a unit
    Flashed(Tag),
    /// a unit's lines go to memory, or come from there
    Moves(Tag),
    /// a line of a unit is in memory, or has come from there
    Line(Tag),
    /// all lines of a unit have crossed the link to the drive
    Crossed(Tag),
}

/// The surroundings of a drive: a clock, and memory.
pub trait Around {
    /// [`Drive::step`] is called with `due` at `at`.
    fn wake(&mut self, at: Time, due: Due);

    /// A line enters the fabric; its end is [`Due::Line`] with this tag.
    fn access(&mut self, now: Time, line: Hpa, kind: AccessKind, tag: Tag);
}

/// A command under way.
#[derive(Clone, Debug)]
struct Active {
    number: u32,
    since: Time,
    /// units that are not done
    left: usize,
    /// somebody else has answered it: it needs the link no more
    answered: bool,
}

/// A unit under way.
#[derive(Clone, Debug)]
struct Moving {
    command: Key<Active>,
    kind: AccessKind,
    dpa: Dpa,
    bytes: Bytes,
    lines: Vec<Hpa>,
    /// lines that are not done
    left: usize,
    /// when it has crossed the link to the drive
    crossed: Time,
}

/// State of a drive.
#[derive(Clone)]
pub struct Drive {
    flash: Flash,
    link: Bandwidth,
    to_host: Server,
    to_drive: Server,
    /// commands told and not begun, by their numbers
    told: FxHashMap<u32, Command>,
    active: Slab<Active>,
    moving: Slab<Moving>,
    /// commands
    done: Done,
    stats: DriveStats,
}

/// The flash asks the drive; the drive asks what is around it.
struct Desk<'a, A>(&'a mut A);

impl<A: Around> Driver for Desk<'_, A> {
    fn wake(&mut self, at: Time, wake: Wake) {
        self.0.wake(at, Due::Flash(wake));
    }

    fn done(&mut self, at: Time, tag: Tag) {
        self.0.wake(at, Due::Flashed(tag));
    }
}

impl Drive {
    /// A drive at rest.
    ///
    /// # Errors
    /// [`FlashError`] names the parameter that cannot be, and what is valid.
    pub fn new(spec: &DriveSpec) -> Result<Drive, FlashError> {
        Ok(Drive {
            flash: Flash::new(&spec.flash, *spec.capacity, Bytes::new(UNIT_BYTES))?,
            link: *spec.link,
            to_host: Server::default(),
            to_drive: Server::default(),
            told: FxHashMap::default(),
            active: Slab::new(),
            moving: Slab::new(),
            done: Done::default(),
            stats: DriveStats::default(),
        })
    }

    /// Takes a command that the host has written. It begins with [`Due::Begin`]. Returns whether its number is new among
    /// the commands that have not begun.
    pub fn tell(&mut self, number: u32, command: Command) -> bool {
        self.told.insert(number, command).is_none()
    }

    /// Lets go of the link: all that is under way was answered while the machine's time stood still.
    pub fn answered_meanwhile(&mut self) {
        self.active.iter_mut().for_each(|active| active.answered = true);
        self.to_host.release();
        self.to_drive.release();
    }

    /// Whether it was ever asked for anything.
    #[must_use]
    pub fn is_used(&self) -> bool {
        self.done.count().0 > 0 || !self.active.is_empty()
    }

    /// Commands done so far, and when the last one was.
    #[must_use]
    pub fn done(&self) -> (u64, Time) {
        self.done.count()
    }

    /// The numbers of the commands that were done since this was last asked, in their order.
    pub fn take_news(&mut self) -> Vec<u32> {
        self.done.take_news()
    }

    /// Let statistics begin here.
    pub fn clear_stats(&mut self) {
        self.stats = DriveStats::default();
        self.flash.clear_stats();
        self.to_host.clear_busy();
        self.to_drive.clear_busy();
    }

    #[must_use]
    pub fn stats(&self) -> &DriveStats {
        &self.stats
    }

    /// Statistics of the flash over `elapsed`.
    #[must_use]
    pub fn flash_report(&self, elapsed: Time) -> Vec<Entry> {
        self.flash.report(elapsed)
    }

    /// Handles an event that has come due. Returns the lines that memory has anew: no cache has them any more.
    pub fn step<A: Around>(&mut self, now: Time, due: Due, around: &mut A) -> Vec<Hpa> {
        match due {
            Due::Begin(number) => self.begin(now, number, around),
            Due::Flash(wake) => self.flash.wake(now, wake, &mut Desk(around)),
            Due::Flashed(tag) => self.flashed(now, tag, around),
            Due::Moves(tag) => return self.move_lines(now, tag, around),
            Due::Line(tag) => self.line_done(now, tag, around),
            Due::Crossed(tag) => self.store(now, tag, around),
        }
        Vec::new()
    }

    fn begin<A: Around>(&mut self, now: Time, number: u32, around: &mut A) {
        let Command { kind, units } = self.told.remove(&number).expect("a command is told before it begins");
        let command = self.active.insert(Active { number, since: now, left: units.len(), answered: false });
        for unit in units {
            let left = unit.lines.len();
            let command::Unit { dpa, bytes, lines } = unit;
            let tag = Tag(self.moving.insert(Moving { command, kind, dpa, bytes, lines, left, crossed: now }).index());
            match kind {
                AccessKind::Read => self.flash.arrive(now, Access { dpa, kind, tag }, &mut Desk(around)),
                AccessKind::Write => {
                    let long = bytes / self.link;
                    let start = self.to_drive.reserve(now, long);
                    self.moving[Key::from_index(tag.0)].crossed = start + long;
                    around.wake(start, Due::Moves(tag));
                }
            }
        }
    }

    fn flashed<A: Around>(&mut self, now: Time, tag: Tag, around: &mut A) {
        let Moving { command, kind, bytes, .. } = self.moving[Key::from_index(tag.0)];
        match kind {
            AccessKind::Read if self.active[command].answered => around.wake(now, Due::Moves(tag)),
            AccessKind::Read => {
                let long = bytes / self.link;
                around.wake(self.to_host.reserve(now, long) + long, Due::Moves(tag));
            }
            AccessKind::Write => self.unit_done(now, tag),
        }
    }

    /// Moves a unit's lines: to memory if the flash has read them, from memory if the flash is to take them over.
    fn move_lines<A: Around>(&mut self, now: Time, tag: Tag, around: &mut A) -> Vec<Hpa> {
        let moving = &mut self.moving[Key::from_index(tag.0)];
        let (lines, of_memory) = match moving.kind {
            AccessKind::Read => (std::mem::take(&mut moving.lines), AccessKind::Write),
            AccessKind::Write => (std::mem::take(&mut moving.lines), AccessKind::Read),
        };
        for line in &lines {
            around.access(now, *line, of_memory, tag);
        }
        if of_memory == AccessKind::Write { lines } else { Vec::new() }
    }

    fn line_done<A: Around>(&mut self, now: Time, tag: Tag, around: &mut A) {
        let moving = &mut self.moving[Key::from_index(tag.0)];
        moving.left -= 1;
        if moving.left > 0 {
            return;
        }
        match moving.kind {
            AccessKind::Read => self.unit_done(now, tag),
            AccessKind::Write => around.wake(now.max(moving.crossed), Due::Crossed(tag)),
        }
    }

    fn store<A: Around>(&mut self, now: Time, tag: Tag, around: &mut A) {
        let Moving { dpa, kind, .. } = self.moving[Key::from_index(tag.0)];
        self.flash.arrive(now, Access { dpa, kind, tag }, &mut Desk(around));
    }

    fn unit_done(&mut self, now: Time, tag: Tag) {
        let Moving { command: key, kind, bytes, .. } = self.moving.remove(Key::from_index(tag.0));
        let command = &mut self.active[key];
        command.left -= 1;
        let last = command.left == 0;
        self.stats.moved(kind, bytes);
        if last {
            let Active { number, since, .. } = self.active.remove(key);
            self.stats.served(kind, now - since);
            self.done.add(now, number);
        }
    }
}
