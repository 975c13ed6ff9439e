//! A device cache as a station of a device, with media of one latency.

use cxlab_kernel::{Bytes, EventQueue, Stream, Time};
use cxlab_model::addr::Dpa;
use cxlab_model::config;
use cxlab_model::fabric::device_cache::{CachePolicy, CachePrefetch, Index, Start};
use cxlab_model::fabric::{DeviceCacheSpec, DeviceCacheStats, Due, Fabric, WayId, WriteLogStats};
use cxlab_model::fact::Sourced;
use cxlab_model::mem::{Access, AccessKind, Driver, Extent, Media, Tag, Wake};

pub const DRAM: Time = Time::from_ns(50);
pub const FLASH: Time = Time::from_ns(70_000);
pub const LOOK_UP: Time = Time::from_ns(20);
pub const PAGE: u64 = 4096;

/// A media of one latency, which writes down what comes to it; the flash is asked for pages.
pub struct Fixed {
    latency: Time,
    pub accesses: Vec<(Time, AccessKind, u64)>,
}

impl Fixed {
    fn new(latency: Time) -> Fixed {
        Fixed { latency, accesses: Vec::new() }
    }

    pub fn count(&self, kind: AccessKind) -> usize {
        self.accesses.iter().filter(|(_, of, _)| *of == kind).count()
    }
}

impl Media for Fixed {
    fn arrive<D: Driver>(&mut self, now: Time, access: Access, driver: &mut D) {
        self.accesses.push((now, access.kind, access.dpa.get()));
        driver.done(now + self.latency, access.tag);
    }

    fn wake<D: Driver>(&mut self, _now: Time, wake: Wake, _driver: &mut D) {
        unreachable!("it never asks to be woken, but {wake:?} came")
    }
}

#[derive(Clone, Copy)]
pub enum Event {
    Fabric(Due),
    Done(Tag),
}

#[derive(Default)]
pub struct Host {
    pub queue: EventQueue<Event>,
}

impl Driver<Due> for Host {
    fn wake(&mut self, at: Time, wake: Due) {
        self.queue.schedule(at, Event::Fabric(wake));
    }

    fn done(&mut self, at: Time, tag: Tag) {
        self.queue.schedule(at, Event::Done(tag));
    }
}

pub fn given<T>(value: T) -> Sourced<T> {
    Sourced::new(value, "the test")
}

pub fn spec(change: impl FnOnce(&mut DeviceCacheSpec)) -> DeviceCacheSpec {
    let mut spec = DeviceCacheSpec {
        capacity: given(Bytes::mib(1)),
        line: given(Bytes::new(PAGE)),
        ways: given(8),
        index: given(Index::Modulo),
        policy: given(CachePolicy::Lru),
        prefetch: given(CachePrefetch::None),
        mshrs: given(4),
        look_up: given(LOOK_UP),
        start: given(Start::Empty),
        write_log: None,
    };
    change(&mut spec);
    spec
}

pub struct Bench {
    pub fabric: Fabric<Fixed>,
    way: WayId,
    pub host: Host,
}

impl Bench {
    /// A device whose DRAM is all it has.
    pub fn without_cache() -> Bench {
        let device = config::device("a1000").unwrap();
        let mut fabric = Fabric::default();
        let way = fabric.add_expander(&device, &[], Fixed::new(DRAM), Stream::new(0, "errors")).unwrap();
        Bench { fabric, way, host: Host::default() }
    }

    pub fn new(spec: &DeviceCacheSpec) -> Bench {
        let mut bench = Bench::without_cache();
        let capacity = config::device("a1000").unwrap().capacity();
        bench.fabric.put_cache(bench.way, spec, capacity, Fixed::new(FLASH)).unwrap();
        bench
    }

    /// A request alone: how long it takes.
    pub fn alone(&mut self, dpa: u64, kind: AccessKind) -> Time {
        let begun = self.host.queue.now();
        self.ask(dpa, kind, 0);
        let done = self.run();
        done.last().expect("a request is done").1 - begun
    }

    pub fn ask(&mut self, dpa: u64, kind: AccessKind, tag: u32) {
        self.ask_for(dpa, kind, Extent::Line, tag);
    }

    pub fn ask_for(&mut self, dpa: u64, kind: AccessKind, extent: Extent, tag: u32) {
        let access = Access { dpa: Dpa::new(dpa), kind, tag: Tag(tag) };
        self.fabric.enter(self.host.queue.now(), self.way, access, extent, &mut self.host);
    }

    /// Until nothing is left to do: who was done, and when.
    pub fn run(&mut self) -> Vec<(Tag, Time)> {
        let mut done = Vec::new();
        while let Some((now, event)) = self.host.queue.pop() {
            match event {
                Event::Fabric(due) => self.fabric.wake(now, due, &mut self.host),
                Event::Done(tag) => done.push((tag, now)),
            }
        }
        done
    }

    pub fn stats(&self) -> DeviceCacheStats {
        self.fabric.stats(self.way, Time::from_ns(1)).unwrap().device_cache.unwrap()
    }

    pub fn log(&self) -> WriteLogStats {
        self.fabric.stats(self.way, Time::from_ns(1)).unwrap().write_log.unwrap().0
    }

    pub fn flash(&self) -> &Fixed {
        self.fabric.flash(self.way).unwrap()
    }

    pub fn dram(&self) -> &Fixed {
        self.fabric.media(self.way)
    }
}
