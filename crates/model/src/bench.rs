//! The bench: a machine driven by synthetic kernels, one point of a curve at a time.
//!
//! ```text
//!   Job (JSON) -> buffers: which lines of which nodes   -> kernels, one a core -> Machine -> Point (JSON)
//!                 job: what they do, checked                1 latency thread,
//!                                                           N load threads
//! ```
//!
//! A point runs from caches that are as the kernels leave them, through a ramp that is not counted, until enough
//! lines have moved. Points know nothing of each other, so a sweep runs them in parallel.
//!
//! Not modelled: TLB misses (buffers are of 2 MiB pages, placed at random), the operating system.

mod buffers;
mod embedding;
mod job;
mod kernels;
mod point;

use cxlab_kernel::{Stream, Time};

use crate::addr::Hpa;
use crate::config::Sourced;
use crate::error::ModelError;
use crate::frontend::{Action, Kernel, Synthetic};
use crate::machine::Machine;
use crate::{MachineSpec, request::NodeId};

use buffers::Frames;
use embedding::Embedding;
pub use job::{Instruction, Job, Mix, Pattern, Share, Store, StreamKernel, Work};
use kernels::{Chase, Memo, Thread, Traffic, Triad, Walk};
pub use point::{NodePoint, Point, PortPoint, SocketLinkPoint};

/// Not counted: several times the longest loaded latency of the field (EuroSys'24 figure 3: under 2 us).
const RAMP: Time = Time::from_ns(20_000);
/// Counted in pieces of this, until one of the two is reached.
const PIECE: Time = Time::from_ns(20_000);
const LEAST: Time = Time::from_ns(60_000);
const MOST: Time = Time::from_ns(400_000);
const ENOUGH_LINES: u64 = 120_000;
/// Batches that `memo` takes the median of (MICRO'23 takes 10,000 on a noisy machine).
const BATCHES: usize = 500;

type Threads = Vec<Synthetic<Thread>>;

/// Run one point.
///
/// # Errors
/// `ModelError::Inconsistent` names what of the job cannot be, and what is valid.
pub fn run(job: &Job) -> Result<Point, ModelError> {
    let mut spec = MachineSpec::load(&job.machine)?;
    if let Some(enabled) = job.prefetch {
        spec.host.prefetch.enabled = Sourced::new(enabled, "the bench's job");
    }
    let inconsistent = |cause| ModelError::Inconsistent { file: "bench".into(), cause };
    let shares = job.check(&spec).map_err(inconsistent)?;
    let mut frames = Frames::new(&spec, job.threads + 1);
    let mut threads = program(job, &spec, &shares, &mut frames);
    let mut machine = Machine::new(spec, threads.len() as u16, &frames.ranges())?;
    warm(&mut machine, &mut threads);
    match job.work {
        Work::Memo { .. } | Work::Walk { .. } => batches(&mut machine, &mut threads)?,
        Work::LoadedLatency { .. } | Work::Stream { .. } | Work::Embedding {} => steady(&mut machine, &mut threads)?,
    }
    Ok(Point::of(job, &machine, &threads, &shares))
}

/// What each core runs.
fn program(job: &Job, spec: &MachineSpec, shares: &[(NodeId, u32)], frames: &mut Frames) -> Threads {
    let mut buffer = || frames.buffer(shares);
    let mut threads = Vec::new();
    let mut add = |thread| threads.push(Synthetic::new(thread));
    let random = |number: u16| Stream::new(job.seed, &format!("thread {number}"));
    match job.work {
        Work::LoadedLatency { mix, store, pattern, latency_thread } => {
            if latency_thread {
                add(Thread::Chase(Chase::new(buffer(), random(0))));
            }
            for number in 1..=job.threads {
                let delay = spec.host.core.frequency.cycles(job.delay);
                let traffic = Traffic::new(buffer(), random(number), mix, store, pattern, delay);
                add(Thread::Traffic(traffic));
            }
        }
        Work::Stream { kernel } => {
            for _ in 0..job.threads {
                add(Thread::Triad(Triad::new(buffer(), kernel)));
            }
        }
        Work::Embedding {} => {
            for number in 0..job.threads {
                add(Thread::Embedding(Embedding::new(buffer(), random(number))));
            }
        }
        Work::Walk { size } => add(Thread::Walk(Walk::new(buffer(), random(0), size))),
        Work::Memo { instruction } => {
            add(Thread::Memo(Memo::new(buffer(), random(0), instruction, BATCHES)));
        }
    }
    threads
}

/// Leave the caches as the kernels do after a long time: full of the lines that they have stored to.
fn warm(machine: &mut Machine, threads: &mut Threads) {
    let host = &machine.spec().host;
    let lines = |bytes: u64| bytes / crate::addr::LINE_BYTES;
    if let [Synthetic { kernel: Thread::Walk(walk), .. }] = &mut threads[..] {
        // Each line drawn twelve times on average (one of 160,000 is not), or the LLC filled thrice.
        let held = lines(host.l2.capacity.get()) + lines(host.llc.capacity().get());
        for _ in 0..(walk.lines() * 12).min(held * 3) {
            machine.warm(0, walk.draw(), false);
        }
        return;
    }
    let storing: Vec<usize> = (0..threads.len()).filter(|thread| threads[*thread].kernel.stores()).collect();
    let Some(count) = std::num::NonZeroU64::new(storing.len() as u64) else { return };
    // Half as much again as the LLC holds: by then nearly every set of its hash is full (Poisson).
    let each = lines(host.l2.capacity.get()) + lines(host.llc.capacity().get()) * 3 / 2 / count;
    for _ in 0..each {
        for &thread in &storing {
            let (line, store) = loop {
                if let Some(touched) = touched(threads[thread].kernel.act()) {
                    break touched;
                }
            };
            machine.warm(thread, line, store);
        }
    }
}

fn touched(action: Action) -> Option<(Hpa, bool)> {
    match action {
        Action::Load(line) | Action::Chase(line) => Some((line, false)),
        Action::Store(line) => Some((line, true)),
        Action::NonTemporal(_) | Action::Delay(_) | Action::Fence | Action::Settle | Action::End => None,
    }
}

fn steady(machine: &mut Machine, threads: &mut Threads) -> Result<(), ModelError> {
    machine.run_until(threads, RAMP)?;
    machine.clear_stats(RAMP);
    let moved = |machine: &Machine| -> u64 {
        machine.nodes().map(|(stats, _)| stats.lines_read() + stats.write_backs.get()).sum()
    };
    let mut until = RAMP;
    while until - RAMP < LEAST || (until - RAMP < MOST && moved(machine) < ENOUGH_LINES) {
        until += PIECE;
        machine.run_until(threads, until)?;
    }
    machine.stop_counting(until);
    Ok(())
}

/// All batches, then the end.
fn batches(machine: &mut Machine, threads: &mut Threads) -> Result<(), ModelError> {
    machine.run(threads, |_| Ok(()))?;
    machine.drain(threads)?;
    machine.stop_counting(machine.last_event());
    Ok(())
}
