//! A drive alone, and who drives it.

use std::collections::HashMap;

use cxlab_kernel::{Bandwidth, Bytes, EventQueue, Time};
use cxlab_model::addr::Dpa;
use cxlab_model::fact::Sourced;
use cxlab_model::media::flash::{Collector, Flash, FlashPart, FlashSpec, NamedPart, Precondition};
use cxlab_model::mem::{Access, AccessKind, Driver, Media, Tag, Wake};

pub const UNIT: u64 = 4096;

fn given<T>(value: T) -> Sourced<T> {
    Sourced::new(value, "the test")
}

/// A drive of one channel and one die, whose part is changed so.
pub fn spec(part: &str, change: impl FnOnce(&mut FlashPart)) -> FlashSpec {
    FlashSpec {
        part: given(NamedPart::load(part).unwrap().with(change)),
        channels: given(1),
        dies: given(1),
        over_provisioning: given(0.25),
        collector: given(Collector::Greedy),
        free_blocks: given(2),
        precondition: given(Precondition::Full),
        controller_latency: given(Time::from_ns(500)),
    }
}

/// A part with small blocks of pages of one unit, so that a test sees many of them.
pub fn small(part: &mut FlashPart) {
    (part.planes.value, part.pages.value, part.page.value) = (1, 256, Bytes::new(UNIT));
    part.bus.value = Bandwidth::from_bytes_per_second(1_000_000_000).unwrap();
}

/// A part as of [`small`], whose dies make way for reads in 5 us.
pub fn suspending(part: &mut FlashPart) {
    small(part);
    part.suspend = Some(given(Time::from_ns(5_000)));
}

/// The drive and its events.
pub struct Bench {
    pub flash: Flash,
    events: Events,
    next: u32,
}

#[derive(Default)]
struct Events {
    queue: EventQueue<Wake>,
    done: HashMap<Tag, Time>,
    now: Time,
}

impl Driver for Events {
    fn wake(&mut self, at: Time, wake: Wake) {
        self.queue.schedule(at, wake);
    }

    fn done(&mut self, at: Time, tag: Tag) {
        assert!(self.done.insert(tag, at).is_none(), "{tag:?} is done twice");
    }
}

impl Bench {
    pub fn new(spec: &FlashSpec, units: u64) -> Bench {
        let flash = Flash::new(spec, Bytes::new(units * UNIT), Bytes::new(UNIT)).unwrap();
        Bench { flash, events: Events::default(), next: 0 }
    }

    pub fn now(&self) -> Time {
        self.events.now
    }

    /// Asks for a unit at once.
    pub fn ask(&mut self, unit: u64, kind: AccessKind) -> Tag {
        let tag = Tag(self.next);
        self.next += 1;
        let now = self.events.now;
        self.flash.arrive(now, Access { dpa: Dpa::new(unit * UNIT), kind, tag }, &mut self.events);
        tag
    }

    /// Runs until the request is done; when it was.
    pub fn finish(&mut self, tag: Tag) -> Time {
        while !self.events.done.contains_key(&tag) {
            self.step();
        }
        let done = self.events.done.remove(&tag).unwrap();
        self.events.now = self.events.now.max(done);
        // Nothing may be left behind the present.
        while self.events.queue.next_at().is_some_and(|at| at <= self.events.now) {
            self.step();
        }
        done
    }

    /// Runs for so long.
    pub fn pass(&mut self, long: Time) {
        let until = self.events.now + long;
        while self.events.queue.next_at().is_some_and(|at| at <= until) {
            self.step();
        }
        self.events.now = until;
    }

    /// Runs until nothing is left to do.
    pub fn drain(&mut self) {
        while self.events.queue.next_at().is_some() {
            self.step();
        }
    }

    fn step(&mut self) {
        let (at, wake) = self.events.queue.pop().expect("what was asked of a drive is done some time");
        self.events.now = self.events.now.max(at);
        self.flash.wake(at, wake, &mut self.events);
    }
}
