//! The bench: a machine driven by synthetic kernels, one point of a curve at a time.
//!
//! ```text
//!   Job (JSON) -> buffers: which lines of which nodes   -> kernels, one a core -> Machine -> Point (JSON)
//!                 job: what they do, checked                1 latency thread,
//!                                                           N load threads
//! ```
//!
//! A point runs from caches that are as the kernels leave them, through a ramp that is not counted, until enough
//! lines have moved. Points know nothing of each other, so a sweep runs them in parallel. Points that differ in their delay
//! only start from copies of one warmed machine.
//!
//! Buffers are of pages of 2 MiB unless a job asks for 4 KiB; page tables are on a node of their own. Not modelled: the
//! operating system.

mod buffers;
mod embedding;
mod job;
mod kernels;
mod order;
mod point;
mod round;
mod sweep;
mod traffic;
mod warming;

use cxlab_kernel::{Stream, Time};

use crate::addr::LINE_BYTES;
use crate::core::Core;
use crate::error::ModelError;
use crate::fact::Sourced;
use crate::feed::Synthetic;
use crate::machine::Machine;
use crate::{MachineSpec, request::NodeId};

use buffers::Frames;
use embedding::Embedding;
pub use job::{ChaseOrder, Instruction, Isa, Job, Mix, Pages, Pattern, Share, Store, StreamKernel, Work};
use kernels::{Chase, Memo, Thread, Triad, Walk};
use order::Order;
pub use point::{NodePoint, Point, PortPoint, SocketLinkPoint};
pub use sweep::{Told, sweep};
use traffic::Traffic;

/// Length of a point's run.
#[derive(Clone, Copy)]
struct Span {
    /// not counted
    ramp: Time,
    /// counted in pieces of this, until enough lines have moved or the most has passed
    piece: Time,
    least: Time,
    most: Time,
}

impl Span {
    /// The ramp is several times the longest loaded latency of the field (EuroSys'24 figure 3: under 2 us).
    const OF_DRAM: Span = Span::new(20_000, 20_000, 60_000, 400_000);
    /// Span if lines come from flash: tens of reads that wait for each other, and thousands of counted pages.
    const OF_FLASH: Span = Span::new(1_000_000, 500_000, 4_000_000, 20_000_000);

    const fn new(ramp: u64, piece: u64, least: u64, most: u64) -> Span {
        let [ramp, piece, least, most] =
            [Time::from_ns(ramp), Time::from_ns(piece), Time::from_ns(least), Time::from_ns(most)];
        Span { ramp, piece, least, most }
    }
}

const ENOUGH_LINES: u64 = 120_000;
/// Batches that `memo` takes the median of (MICRO'23 takes 10,000 on a noisy machine).
const BATCHES: usize = 4000;

type Threads = Vec<Synthetic<Thread>>;

/// Run one point.
///
/// # Errors
/// `ModelError::Inconsistent` names what of the job cannot be, and what is valid.
pub fn run(job: &Job) -> Result<Point, ModelError> {
    Warmed::new(job)?.run(job.delay)
}

/// A job's machine and its threads when all caches are warm and no time has passed. The state does not depend on the delay.
/// So all points of a sweep of the delay start from one.
#[derive(Clone)]
struct Warmed {
    job: Job,
    /// the nodes of the placement by their numbers
    shares: Vec<(NodeId, u32)>,
    span: Span,
    machine: Machine,
    threads: Threads,
}

impl Warmed {
    fn new(job: &Job) -> Result<Warmed, ModelError> {
        let mut spec = MachineSpec::load_with(&job.machine, &job.set)?;
        if let Some(enabled) = job.prefetch {
            spec.host.prefetch.enabled = Sourced::new(enabled, "the bench's job");
        }
        let inconsistent = |cause| ModelError::Inconsistent { file: "bench".into(), cause };
        let shares = job.check(&spec).map_err(inconsistent)?;
        let working_set = job.working_set(&spec, &shares).map_err(inconsistent)?;
        let mut frames = Frames::new(&spec, job.buffers(), working_set);
        let space = frames.space(job.page_tables(&spec).map_err(inconsistent)?, job.pages.size());
        let threads = program(job, (&shares, working_set), &mut frames);
        let mut threads: Threads = threads.into_iter().map(|thread| thread.within(space.clone())).collect();
        let mut machine = Machine::new(spec, threads.len() as u16, &frames.ranges())?;
        machine.set_page_tables(space.tables);
        if job.check {
            machine.keep_checks();
        }
        if working_set.is_some() {
            warming::warm_device_caches(&mut machine, &threads);
        }
        warming::warm(&mut machine, &mut threads);
        warming::warm_tables(&mut machine, &threads, &space, job.seed);
        ModelError::of_broken_order().map_or(Ok(()), Err)?;
        let span = if working_set.is_some() { Span::OF_FLASH } else { Span::OF_DRAM };
        Ok(Warmed { job: job.clone(), shares, span, machine, threads })
    }

    /// Runs the point with this delay.
    fn run(mut self, delay: u64) -> Result<Point, ModelError> {
        self.machine.goes_on_here();
        self.job.delay = delay;
        let Warmed { job, shares, span, mut machine, mut threads } = self;
        let delay = machine.spec().host.core.frequency.cycles(delay);
        for thread in &mut threads {
            if let Thread::Traffic(traffic) = &mut thread.kernel {
                traffic.wait_between(delay);
            }
        }
        let moved = match job.work {
            Work::Memo { .. } | Work::Walk { .. } => batches(&mut machine, &mut threads)?,
            Work::LoadedLatency { .. } | Work::Stream { .. } | Work::Embedding {} => {
                steady(&mut machine, &mut threads, span)?
            }
        };
        let point = Point::of(&job, &machine, &threads, &shares, moved);
        Ok(Point { checked: machine.finish_checks()?, ..point })
    }
}

/// Program of each core.
fn program(job: &Job, (shares, working_set): (&[(NodeId, u32)], Option<u64>), frames: &mut Frames) -> Threads {
    let each = working_set.map(|all| all / u64::from(job.buffers()) / LINE_BYTES);
    let mut buffer = |most| frames.buffer(shares, each.unwrap_or(most));
    let mut threads = Vec::new();
    let mut add = |thread| threads.push(Synthetic::new(thread));
    let random = |number: u16| Stream::new(job.seed, &format!("thread {number}"));
    match job.work {
        Work::LoadedLatency { mix, store, pattern, latency_thread, chase, isa } => {
            let shuffled = Order::random(&mut Stream::new(job.seed, "random order"));
            if latency_thread {
                add(Thread::Chase(match chase {
                    ChaseOrder::Blocks => Chase::in_blocks(buffer(Chase::MOST_LINES), shuffled.clone(), random(0)),
                    ChaseOrder::Buffer => Chase::over_buffer(buffer(Chase::MOST_LINES), random(0)),
                }));
            }
            for number in 1..=job.threads {
                let loaded = buffer(Traffic::LINES);
                let stored = (mix.writes > 0).then(|| buffer(Traffic::LINES));
                let order = Order::of(pattern, &shuffled);
                let traffic = Traffic::new(loaded, stored, random(number), order, (mix, store, isa));
                add(Thread::Traffic(traffic));
            }
        }
        Work::Stream { kernel } => {
            for _ in 0..job.threads {
                add(Thread::Triad(Triad::new(buffer(u64::MAX), kernel)));
            }
        }
        Work::Embedding {} => {
            for number in 0..job.threads {
                add(Thread::Embedding(Embedding::new(buffer(u64::MAX), random(number))));
            }
        }
        Work::Walk { size } => add(Thread::Walk(Walk::new(buffer(u64::MAX), random(0), size))),
        Work::Memo { instruction, isa } => {
            add(Thread::Memo(Memo::new(buffer(u64::MAX), random(0), instruction, isa, BATCHES)));
        }
    }
    threads
}

/// Lines that all threads have read or written, by their own account.
fn lines_moved(machine: &Machine, threads: &Threads) -> u64 {
    let of = |(core, thread): (&Core, &Synthetic<Thread>)| {
        thread.kernel.lines_moved(core.loads_committed(), core.stats.stores.get())
    };
    machine.cores().iter().zip(threads).map(of).sum()
}

/// Run until enough lines have moved: those that the threads moved while that was counted.
fn steady(machine: &mut Machine, threads: &mut Threads, span: Span) -> Result<u64, ModelError> {
    machine.run_until(threads, span.ramp)?;
    machine.clear_stats(span.ramp);
    let before = lines_moved(machine, threads);
    let mut until = span.ramp;
    let enough = |machine: &Machine, threads: &Threads| lines_moved(machine, threads) - before >= ENOUGH_LINES;
    let counted = |until: Time| until - span.ramp;
    while counted(until) < span.least || (counted(until) < span.most && !enough(machine, threads)) {
        until += span.piece;
        machine.run_until(threads, until)?;
    }
    machine.stop_counting(until);
    Ok(lines_moved(machine, threads) - before)
}

/// All batches, then the end.
fn batches(machine: &mut Machine, threads: &mut Threads) -> Result<u64, ModelError> {
    machine.run(threads, |_| Ok(()))?;
    machine.drain(threads)?;
    machine.stop_counting(machine.last_event());
    Ok(lines_moved(machine, threads))
}
