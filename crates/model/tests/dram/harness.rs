//! A driver for one memory: open arrivals or a closed loop of so many accesses in flight.

use cxlab_kernel::{EventQueue, Stream, Time};
use cxlab_model::addr::{Dpa, LINE_BYTES};
use cxlab_model::media::Memory;
use cxlab_model::mem::{Access, AccessKind, Driver, Media, Tag, Wake};

#[derive(Clone, Copy, Debug)]
enum Event {
    Arrive(Access),
    Wake(Wake),
    Done(Tag),
}

struct Queue(EventQueue<Event>);

impl Driver for Queue {
    fn wake(&mut self, at: Time, wake: Wake) {
        self.0.schedule(at, Event::Wake(wake));
    }

    fn done(&mut self, at: Time, tag: Tag) {
        self.0.schedule(at, Event::Done(tag));
    }
}

/// When an access came and when it was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Life {
    pub access: Access,
    pub arrived: Time,
    pub done: Time,
}

impl Life {
    pub fn latency(&self) -> Time {
        self.done - self.arrived
    }
}

pub fn read(line: u64) -> (u64, AccessKind) {
    (line, AccessKind::Read)
}

pub fn write(line: u64) -> (u64, AccessKind) {
    (line, AccessKind::Write)
}

fn access(index: usize, (line, kind): (u64, AccessKind)) -> Access {
    Access { dpa: Dpa::new(line * LINE_BYTES), kind, tag: Tag(index as u32) }
}

/// Bring each access at its time; what became of each, in their order.
pub fn open(memory: &mut Memory, arrivals: &[(Time, (u64, AccessKind))]) -> Vec<Life> {
    let mut queue = Queue(EventQueue::new());
    for (index, (at, what)) in arrivals.iter().enumerate() {
        queue.0.schedule(*at, Event::Arrive(access(index, *what)));
    }
    let mut done = vec![None; arrivals.len()];
    run(memory, &mut queue, &mut done, &mut |_, _| None);
    let lives = arrivals.iter().zip(&done).enumerate();
    lives
        .map(|(index, ((arrived, what), done))| Life {
            access: access(index, *what),
            arrived: *arrived,
            done: done.expect("every access is done"),
        })
        .collect()
}

/// Keep `in_flight` accesses from `stream` in the memory until all are done.
pub fn closed(memory: &mut Memory, in_flight: usize, stream: &[(u64, AccessKind)]) -> Vec<Life> {
    let mut queue = Queue(EventQueue::new());
    let mut arrived = vec![Time::ZERO; stream.len()];
    for (index, what) in stream.iter().enumerate().take(in_flight) {
        queue.0.schedule(Time::ZERO, Event::Arrive(access(index, *what)));
    }
    let mut next = in_flight.min(stream.len());
    let mut done = vec![None; stream.len()];
    run(memory, &mut queue, &mut done, &mut |now, _| {
        let following = stream.get(next).map(|what| access(next, *what))?;
        arrived[next] = now;
        next += 1;
        Some(following)
    });
    let lives = stream.iter().zip(&done).zip(&arrived).enumerate();
    lives
        .map(|(index, ((what, done), arrived))| Life {
            access: access(index, *what),
            arrived: *arrived,
            done: done.expect("every access is done"),
        })
        .collect()
}

fn run(
    memory: &mut Memory,
    queue: &mut Queue,
    done: &mut [Option<Time>],
    after: &mut dyn FnMut(Time, Tag) -> Option<Access>,
) {
    let mut left = done.len();
    while left > 0 {
        let (now, event) = queue.0.pop().expect("a memory with work left asks to be woken");
        match event {
            Event::Arrive(access) => memory.arrive(now, access, queue),
            Event::Wake(wake) => memory.wake(now, wake, queue),
            Event::Done(tag) => {
                assert_eq!(done[tag.0 as usize].replace(now), None, "{tag:?} was done twice");
                left -= 1;
                if let Some(following) = after(now, tag) {
                    memory.arrive(now, following, queue);
                }
            }
        }
    }
}

/// Lines `0..count`, all read.
pub fn sequential_reads(count: u64) -> Vec<(u64, AccessKind)> {
    (0..count).map(read).collect()
}

/// `reads` streams that read and `writes` streams that write, in turn, each through memory of its own.
pub fn sequential_mix(count: u64, reads: u64, writes: u64) -> Vec<(u64, AccessKind)> {
    let streams = reads + writes;
    let apart = (1 << 24) + 64 * 37; // not the same bank
    (0..count)
        .map(|step| {
            let (stream, line) = (step % streams, step / streams);
            let line = stream * apart + line;
            if stream < reads { read(line) } else { write(line) }
        })
        .collect()
}

/// `count` lines at random below `lines`; of each `reads + writes`, `reads` are read.
pub fn random_mix(count: u64, lines: u64, reads: u64, writes: u64) -> Vec<(u64, AccessKind)> {
    let mut stream = Stream::new(7, "random mix");
    (0..count)
        .map(|_| {
            let line = stream.below(lines);
            if stream.below(reads + writes) < reads { read(line) } else { write(line) }
        })
        .collect()
}

/// Bytes done a second over the middle half of the run, where it neither fills nor drains `[GB/s]`.
pub fn steady_gb_s(lives: &[Life]) -> f64 {
    let mut done: Vec<Time> = lives.iter().map(|life| life.done).collect();
    done.sort_unstable();
    let (from, to) = (done.len() / 4, done.len() * 3 / 4);
    ((to - from) as u64 * LINE_BYTES) as f64 / (done[to] - done[from]).as_ns()
}
