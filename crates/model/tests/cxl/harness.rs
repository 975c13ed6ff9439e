//! A way on a bench: a closed loop of accesses before the fabric, a media with one latency at its end.
//!
//! ```text
//!   window of accesses -> Fabric -> media: `latency`, at most one line each `gap` -> Fabric -> next access
//! ```

#![allow(dead_code)] // the tests and the examples each use a part

use cxlab_kernel::{EventQueue, Server, Stream, Time};
use cxlab_model::addr::Dpa;
use cxlab_model::check::Links;
use cxlab_model::config;
use cxlab_model::cxl::{CxlError, Lanes, LinkRate};
use cxlab_model::fabric::{Due, ExpanderSpec, ExpanderStats, Fabric, Occupancy, SwitchSpec, WayId};
use cxlab_model::mem::{self, Access, AccessKind, Driver, Extent, Stage, Tag, Wake};

/// A device file of the project.
pub fn device(name: &str) -> ExpanderSpec {
    config::device(name).unwrap_or_else(|error| panic!("{error}"))
}

/// Lines read to lines written.
#[derive(Clone, Copy, Debug)]
pub struct Mix {
    pub reads: u32,
    pub writes: u32,
}

/// The media: one latency, and at most one line each gap.
#[derive(Clone, Copy, Debug)]
pub struct Media {
    pub latency: Time,
    pub gap: Time,
}

impl Media {
    pub fn fixed(latency: Time) -> Media {
        Media { latency, gap: Time::ZERO }
    }
}

/// The media at work.
pub struct Store {
    media: Media,
    port: Server,
    /// answers at multiples of this only, so that responses are ready together
    align: Option<Time>,
    /// lines that were handed to it
    pub handed: u64,
}

impl Store {
    pub fn new(media: Media) -> Store {
        Store { media, port: Server::default(), align: None, handed: 0 }
    }
}

impl mem::Media for Store {
    fn arrive<D: Driver>(&mut self, now: Time, access: Access, driver: &mut D) {
        self.handed += 1;
        let done = self.port.reserve(now, self.media.gap) + self.media.latency;
        let done = self.align.map_or(done, |step| step * done.as_ps().div_ceil(step.as_ps()));
        driver.done(done, access.tag);
    }

    fn wake<D: Driver>(&mut self, _now: Time, wake: Wake, _driver: &mut D) {
        unreachable!("it never asks to be woken, but {wake:?} came")
    }
}

/// The next event on the bench.
#[derive(Clone, Copy, Debug)]
pub enum Event {
    Arrive(AccessKind, Tag),
    Fabric(Due),
    Done(Tag),
}

/// One access as the home agent sees it.
#[derive(Clone, Debug)]
pub struct Life {
    pub started: Time,
    pub stamps: Vec<(Stage, Time)>,
    pub ended: Time,
}

impl Life {
    /// Time spent in each stage, in order.
    pub fn stages(&self) -> Vec<(Stage, Time)> {
        let mut since = self.started;
        self.stamps.iter().map(|&(stage, at)| (stage, at - std::mem::replace(&mut since, at))).collect()
    }
}

/// The machine's side: events, and a record of lives where one is kept.
#[derive(Debug, Default)]
pub struct Machine {
    pub queue: EventQueue<Event>,
    /// by tag, if kept
    pub lives: Option<Vec<Life>>,
}

impl Driver<Due> for Machine {
    fn wake(&mut self, at: Time, wake: Due) {
        self.queue.schedule(at, Event::Fabric(wake));
    }

    fn stamp(&mut self, tag: Tag, stage: Stage, at: Time) {
        if let Some(lives) = &mut self.lives {
            lives[tag.0 as usize].stamps.push((stage, at));
        }
    }

    fn done(&mut self, at: Time, tag: Tag) {
        self.queue.schedule(at, Event::Done(tag));
    }
}

/// A fabric of one way.
pub struct Path {
    pub fabric: Fabric<Store>,
    pub way: WayId,
}

impl Path {
    pub fn stats(&self, elapsed: Time) -> ExpanderStats {
        self.fabric.stats(self.way, elapsed).expect("it leads over CXL")
    }

    pub fn occupancy(&self, now: Time) -> Occupancy {
        self.fabric.occupancy(self.way, now).expect("it leads over CXL")
    }

    pub fn retrain(&mut self, now: Time, lanes: Lanes, rate: LinkRate) -> Result<(), CxlError> {
        self.fabric.retrain(now, self.way, lanes, rate)
    }
}

/// Counts of a closed loop.
#[derive(Clone, Copy, Debug)]
pub struct Run {
    /// lines read while it was counted
    pub reads: u64,
    /// lines written while it was counted
    pub writes: u64,
    /// how long that was
    pub elapsed: Time,
    /// accesses altogether
    pub accesses: u64,
    /// events altogether
    pub events: u64,
}

impl Run {
    /// Reads and writes together.
    pub fn gb_s(&self) -> f64 {
        64.0 * (self.reads + self.writes) as f64 / self.elapsed.as_ns()
    }
}

/// Reads and writes in random order, in blocks of 32 times the mix.
struct Order {
    mix: Mix,
    /// reads and writes left of the block
    left: (u32, u32),
    stream: Stream,
}

impl Order {
    fn draw(&mut self) -> AccessKind {
        if self.left == (0, 0) {
            self.left = (32 * self.mix.reads, 32 * self.mix.writes);
        }
        let (reads, writes) = &mut self.left;
        if self.stream.below(u64::from(*reads + *writes)) < u64::from(*reads) {
            *reads -= 1;
            AccessKind::Read
        } else {
            *writes -= 1;
            AccessKind::Write
        }
    }
}

/// Tests check what the links do. `examples/speed.rs` measures the same bench without.
const CHECKED: bool = cfg!(test);

pub struct Bench {
    pub path: Path,
    pub machine: Machine,
    /// media answers at multiples of this only, so that responses are ready together
    pub align_media: Option<Time>,
    /// holds all that the links do to its rules
    links: Links,
}

impl Bench {
    pub fn new(spec: &ExpanderSpec, media: Media) -> Bench {
        Bench::behind(spec, &[], media)
    }

    /// A device behind switches.
    pub fn behind(spec: &ExpanderSpec, switches: &[SwitchSpec], media: Media) -> Bench {
        let mut fabric = Fabric::default();
        let errors = Stream::new(1, "flit errors");
        let way = fabric.add_expander(spec, switches, Store::new(media), errors);
        let way = way.unwrap_or_else(|error| panic!("{error}"));
        Bench::over(fabric, way)
    }

    /// A way whose hops are all there: its links are checked from here on.
    pub fn over(mut fabric: Fabric<Store>, way: WayId) -> Bench {
        let links =
            fabric.wires().into_iter().enumerate().map(|(link, wires)| (format!("link {link}"), wires)).collect();
        if CHECKED {
            fabric.keep_link_log();
        }
        let (machine, align_media, links) = (Machine::default(), None, Links::new(links));
        Bench { path: Path { fabric, way }, machine, align_media, links }
    }

    /// One access on a path at rest.
    pub fn alone(&mut self, kind: AccessKind) -> Life {
        self.together(&[(Time::ZERO, kind)]).remove(0)
    }

    /// Accesses that start at given times, in that order, with their stamps.
    pub fn together(&mut self, accesses: &[(Time, AccessKind)]) -> Vec<Life> {
        self.watch_timed(accesses, |_, _| {})
    }

    /// Accesses as in [`Bench::together`], with a look at every buffer after each event.
    pub fn watch(&mut self, accesses: &[(Time, AccessKind)], mut look: impl FnMut(Occupancy)) -> Vec<Life> {
        self.watch_timed(accesses, |_, seen| look(seen))
    }

    /// Accesses as in [`Bench::watch`], and the look has the time of the event.
    pub fn watch_timed(&mut self, accesses: &[(Time, AccessKind)], mut look: impl FnMut(Time, Occupancy)) -> Vec<Life> {
        let life = |&(started, _): &(Time, AccessKind)| Life { started, stamps: Vec::new(), ended: Time::ZERO };
        self.machine.lives = Some(accesses.iter().map(life).collect());
        for (index, (at, kind)) in accesses.iter().enumerate() {
            self.machine.queue.schedule(*at, Event::Arrive(*kind, Tag(index as u32)));
        }
        while !self.machine.queue.is_empty() {
            if let Some((at, Tag(tag))) = self.step() {
                self.machine.lives.as_mut().expect("lives are kept")[tag as usize].ended = at;
            }
            let now = self.machine.queue.now();
            look(now, self.path.occupancy(now));
        }
        self.check_at_rest();
        self.machine.lives.take().expect("lives are kept")
    }

    /// `window` accesses in flight until `accesses` have come; reads and writes in random order, in each block
    /// exactly as many as the mix has. Counted from when a tenth is done until the last comes.
    pub fn closed_loop(&mut self, window: u32, mix: Mix, accesses: u64) -> Run {
        let mut kinds = Vec::with_capacity(window as usize);
        let mut order = Order { mix, left: (0, 0), stream: Stream::new(1, "order") };
        for tag in 0..window {
            kinds.push(order.draw());
            self.arrive(Time::ZERO, Tag(tag), kinds[tag as usize]);
        }
        let (mut started, mut done, mut events, mut warm) = (u64::from(window), 0, 0, Time::ZERO);
        let mut run = Run { reads: 0, writes: 0, elapsed: Time::ZERO, accesses: 0, events: 0 };
        while !self.machine.queue.is_empty() {
            events += 1;
            let Some((now, tag)) = self.step() else { continue };
            let kind = &mut kinds[tag.0 as usize];
            done += 1;
            if done == accesses / 10 {
                warm = now;
            } else if done > accesses / 10 && started < accesses {
                match kind {
                    AccessKind::Read => run.reads += 1,
                    AccessKind::Write => run.writes += 1,
                }
                run.elapsed = now - warm;
            }
            if started < accesses {
                started += 1;
                *kind = order.draw();
                let kind = *kind;
                self.arrive(now, tag, kind);
            }
        }
        self.check_at_rest();
        Run { accesses: done, events, ..run }
    }

    /// Checks that the links have broken no rule since the last look.
    fn check(&mut self, now: Time) {
        if !CHECKED {
            return;
        }
        let fabric = &mut self.path.fabric;
        let events = fabric.take_link_log();
        let checked = events.into_iter().try_for_each(|event| self.links.take(event));
        checked.and_then(|()| self.links.settle(now)).unwrap_or_else(|broken| panic!("{broken:?}"));
    }

    /// Nothing is under way.
    fn check_at_rest(&mut self) {
        if !CHECKED {
            return;
        }
        self.check(Time::MAX);
        let now = self.machine.queue.now();
        let counted = self.links.slots(now, &self.path.fabric.slots());
        counted.and_then(|()| self.links.at_rest(now)).unwrap_or_else(|broken| panic!("{broken:?}"));
    }

    fn arrive(&mut self, now: Time, tag: Tag, kind: AccessKind) {
        let access = Access { dpa: Dpa::new(u64::from(tag.0) * 64), kind, tag };
        let Path { fabric, way } = &mut self.path;
        fabric.all_media()[0].align = self.align_media;
        fabric.enter(now, *way, access, Extent::Line, &mut self.machine);
    }

    /// Take one event; an access that is done with it, if one is.
    fn step(&mut self) -> Option<(Time, Tag)> {
        let (now, event) = self.machine.queue.pop()?;
        self.check(now);
        match event {
            Event::Arrive(kind, tag) => self.arrive(now, tag, kind),
            Event::Fabric(due) => self.path.fabric.wake(now, due, &mut self.machine),
            Event::Done(tag) => return Some((now, tag)),
        }
        None
    }
}
