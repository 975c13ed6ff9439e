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
//! Buffers are of pages of 2 MiB unless a job asks for 4 KiB; page tables are on a node of their own. Not modelled: the
//! operating system.

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

use crate::translation::AddressSpace;
use buffers::Frames;
use embedding::Embedding;
pub use job::{Instruction, Isa, Job, Mix, Pages, Pattern, Share, Store, StreamKernel, Work};
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
const BATCHES: usize = 4000;

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
    let space = frames.space(job.page_tables(&spec).map_err(inconsistent)?, job.pages.size());
    let threads = program(job, &spec, &shares, &mut frames);
    let mut threads: Threads = threads.into_iter().map(|thread| thread.within(space.clone())).collect();
    let mut machine = Machine::new(spec, threads.len() as u16, &frames.ranges())?;
    machine.set_page_tables(space.tables);
    warm(&mut machine, &mut threads);
    warm_tables(&mut machine, &threads, &space, job.seed);
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
        Work::Memo { instruction, isa } => {
            add(Thread::Memo(Memo::new(buffer(), random(0), instruction, isa, BATCHES)));
        }
    }
    threads
}

/// Leave the page tables where accesses all over the buffers leave them after a long time, with lines of data between.
fn warm_tables(machine: &mut Machine, threads: &Threads, space: &AddressSpace, seed: u64) {
    let mut random = Stream::new(seed, "page tables");
    for (core, thread) in threads.iter().enumerate() {
        // Each line of entries is met four times in the mean: one in fifty (e^-4) never.
        for _ in 0..4 * space.tables.lines_for(thread.kernel.lines()) {
            let line = thread.kernel.anywhere(&mut random);
            for entry in space.entries(line) {
                machine.warm(core, entry.line(), false);
            }
            machine.warm(core, line, false);
        }
    }
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
    let (far, near) = (lines(host.llc.capacity().get()) * 3 / 2 / count, lines(host.l2.capacity.get()));
    for number in 0..far + near {
        for &thread in &storing {
            let (line, store) = loop {
                if let Some(touched) = touched(threads[thread].kernel.act()) {
                    break touched;
                }
            };
            if number < far {
                machine.warm_llc(line, store);
            } else {
                machine.warm(thread, line, store);
            }
        }
    }
}

fn touched(action: Action) -> Option<(Hpa, bool)> {
    match action {
        Action::Load(line) | Action::Chase(line) => Some((line, false)),
        Action::Store(line) => Some((line, true)),
        Action::NonTemporal(_)
        | Action::NonTemporalHalf(_)
        | Action::Flush(_)
        | Action::Delay(_)
        | Action::Fence
        | Action::Settle
        | Action::End => None,
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
