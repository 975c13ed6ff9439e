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
mod order;
mod point;
mod round;
mod traffic;

use cxlab_kernel::{Stream, Time};

use crate::addr::{Hpa, LINE_BYTES, LINES_PER_PAGE};
use crate::core::Core;
use crate::error::ModelError;
use crate::fact::Sourced;
use crate::feed::{Action, Kernel, Synthetic};
use crate::machine::Machine;
use crate::{MachineSpec, request::NodeId};

use crate::translation::AddressSpace;
use buffers::Frames;
use embedding::Embedding;
pub use job::{ChaseOrder, Instruction, Isa, Job, Mix, Pages, Pattern, Share, Store, StreamKernel, Work};
use kernels::{Chase, Memo, Thread, Triad, Walk};
use order::Order;
pub use point::{NodePoint, Point, PortPoint, SocketLinkPoint};
use round::Round;
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

/// Arrays of more than so many LLCs leave nothing in it for the next round. With 15 ways and a mean of 30 lines a
/// set, one set in 1,700 keeps its lines (Poisson).
const MOST_ARRAYS: u64 = 2;

/// Rounds through arrays after which the LLC keeps the same share of them in each round. Under QLRU the share of hits
/// rises from 34 % in the second round to 57 % in the 13th, and stays there. Source:
/// crates/model/src/cache/replacement/qlru.rs, with 15 ways and a mean of 16.7 lines a set.
const ROUNDS: u32 = 13;

type Threads = Vec<Synthetic<Thread>>;

/// Run one point.
///
/// # Errors
/// `ModelError::Inconsistent` names what of the job cannot be, and what is valid.
pub fn run(job: &Job) -> Result<Point, ModelError> {
    let mut spec = MachineSpec::load_with(&job.machine, &job.set)?;
    if let Some(enabled) = job.prefetch {
        spec.host.prefetch.enabled = Sourced::new(enabled, "the bench's job");
    }
    let inconsistent = |cause| ModelError::Inconsistent { file: "bench".into(), cause };
    let shares = job.check(&spec).map_err(inconsistent)?;
    let working_set = job.working_set(&spec, &shares).map_err(inconsistent)?;
    let mut frames = Frames::new(&spec, job.buffers(), working_set);
    let space = frames.space(job.page_tables(&spec).map_err(inconsistent)?, job.pages.size());
    let threads = program(job, &spec, (&shares, working_set), &mut frames);
    let mut threads: Threads = threads.into_iter().map(|thread| thread.within(space.clone())).collect();
    let mut machine = Machine::new(spec, threads.len() as u16, &frames.ranges())?;
    machine.set_page_tables(space.tables);
    if job.check {
        machine.keep_checks();
    }
    if working_set.is_some() {
        warm_device_caches(&mut machine, &threads);
    }
    warm(&mut machine, &mut threads);
    warm_tables(&mut machine, &threads, &space, job.seed);
    let moved = match job.work {
        Work::Memo { .. } | Work::Walk { .. } => batches(&mut machine, &mut threads)?,
        Work::LoadedLatency { .. } | Work::Stream { .. } | Work::Embedding {} => {
            let span = if working_set.is_some() { Span::OF_FLASH } else { Span::OF_DRAM };
            steady(&mut machine, &mut threads, span)?
        }
    };
    let point = Point::of(job, &machine, &threads, &shares, moved);
    Ok(Point { checked: machine.finish_checks()?, ..point })
}

/// Program of each core.
fn program(
    job: &Job,
    spec: &MachineSpec,
    (shares, working_set): (&[(NodeId, u32)], Option<u64>),
    frames: &mut Frames,
) -> Threads {
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
                let delay = spec.host.core.frequency.cycles(job.delay);
                let loaded = buffer(Traffic::LINES);
                let stored = (mix.writes > 0).then(|| buffer(Traffic::LINES));
                let order = Order::of(pattern, &shuffled);
                let traffic = Traffic::new(loaded, stored, random(number), order, (mix, store, isa), delay);
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

/// Leave the devices' caches as the threads do after two rounds over their buffers, all at one speed.
fn warm_device_caches(machine: &mut Machine, threads: &Threads) {
    let rounds: Vec<Round<'_>> = threads.iter().flat_map(|thread| thread.kernel.rounds()).collect();
    let pages = rounds.iter().map(|round| round.lines / LINES_PER_PAGE).max().unwrap_or(0);
    for page in 0..2 * pages {
        for round in &rounds {
            let line = round.page(page);
            let logged = machine.warm_device_cache(line, round.stores);
            if logged && round.reads {
                // The log has the line; its page came when the store read it.
                machine.warm_device_cache(line, false);
            }
        }
    }
}

/// A load thread whose lines come into the caches.
fn cached(kernel: &Thread) -> Option<&Traffic> {
    match kernel {
        Thread::Traffic(traffic) if traffic.loads() || traffic.stores() => Some(traffic),
        _ => None,
    }
}

/// Leaves the caches as the kernels do after a long time. They are full of the lines that the kernels have stored to.
/// If the LLC keeps some loaded lines until their thread comes round, they hold those too.
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
    let (near, held) = (lines(host.l2.capacity.get()), lines(host.llc.capacity().get()));
    let arrays: u64 = threads.iter().filter_map(|thread| cached(&thread.kernel)).map(Traffic::lines).sum();
    let kept = (1..=MOST_ARRAYS * held).contains(&arrays);
    let fills = |kernel: &Thread| kernel.stores() || (kept && cached(kernel).is_some());
    warm_l2(machine, threads, near, fills);
    let filling: Vec<usize> = (0..threads.len()).filter(|thread| fills(&threads[*thread].kernel)).collect();
    let Some(count) = std::num::NonZeroU64::new(filling.len() as u64) else { return };
    // Half as much again as the LLC holds: by then nearly every set of its hash is full (Poisson).
    let far = if kept { arrays } else { held * 3 / 2 } / count;
    let next = |threads: &mut Threads, thread: usize| {
        std::iter::repeat_with(|| touched(threads[thread].kernel.act())).flatten().next().expect("a kernel goes on")
    };
    if kept {
        let round = (0..far).flat_map(|_| &filling).map(|&thread| next(threads, thread)).collect();
        machine.warm_llc_in_rounds(round, ROUNDS);
    } else {
        for &thread in (0..far).flat_map(|_| &filling) {
            let (line, store) = next(threads, thread);
            machine.warm_llc(line, store);
        }
    }
    for &thread in (0..near).flat_map(|_| &filling) {
        let (line, store) = next(threads, thread);
        machine.warm(thread, line, store);
    }
}

/// Fill L2 of load threads that only load, so that each line they bring has a victim; `fills` says who fills the LLC too.
fn warm_l2(machine: &mut Machine, threads: &mut Threads, lines: u64, fills: impl Fn(&Thread) -> bool) {
    for (core, thread) in threads.iter_mut().enumerate() {
        let Thread::Traffic(traffic) = &thread.kernel else { continue };
        if fills(&thread.kernel) {
            continue;
        }
        let mut left = lines * traffic.accesses();
        while left > 0 {
            let action = thread.kernel.act();
            if let Some((line, store)) = touched(action) {
                machine.warm(core, line, store);
            }
            left -= u64::from(!matches!(action, Action::Delay(_)));
        }
    }
}

/// The line that an access is the first one to.
fn touched(action: Action) -> Option<(Hpa, bool)> {
    let first = |address: Hpa| address == address.line();
    match action {
        Action::Load(line) | Action::Chase(line) => first(line).then_some((line, false)),
        Action::Store(line) => first(line).then_some((line, true)),
        Action::NonTemporal(_)
        | Action::NonTemporalHalf(_)
        | Action::Flush(_)
        | Action::Delay(_)
        | Action::Fence
        | Action::Settle
        | Action::End => None,
    }
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
