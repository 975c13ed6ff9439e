//! A core: an out-of-order window as a scoreboard of time stamps.
//!
//! ```text
//!   Step -> front (width a cycle) -> window: ready, complete, commit ----> store queue -> L1
//!             ^ waits for a free        | addresses known: loads issue
//!             | window entry            v
//!                            L1, L2 inline; a miss takes a fill buffer and leaves for the home agent,
//!                            what depends on it is parked until it returns
//! ```
//!
//! The core resolves hits in line. Only misses are events. The core never runs past an event that is due, so its
//! requests leave in order of time. A row of the window stands for a whole instruction. Not modelled: the wrong path
//! behind a branch, and the micro-operations of an instruction.

mod arrival;
mod coming;
mod commit;
mod cpi_stack;
mod dispatch;
mod drained;
mod forward;
mod front;
mod in_line;
mod issue;
mod lines;
mod locked;
mod memory;
mod misses;
mod order;
mod ports;
mod posted;
mod predictor;
mod prefetch;
mod profile;
mod refusals;
mod spec;
mod stats;
mod stores;
mod timing;
mod translate;
mod uncore;
mod window;
mod write_combining;

use std::collections::VecDeque;

use cxlab_access::{Marker, Phase};
use cxlab_kernel::Time;

use crate::cache::{Prefetchers, Private};
use crate::error::ModelError;
use crate::feed::{Branch, Executes, Execution, Feed, LineAccess, Outcome, Step, Work};
use crate::request::{CoreId, Op, Request};

use cpi_stack::CpiStack;
pub use cpi_stack::{Cause, Mode, TimeStack};
use drained::Drained;
use forward::Forwarding;
use front::{Front, Slots};
use in_line::Known;
use lines::Lines;
use locked::LockedRows;
use misses::Misses;
use ports::ExecutionPorts;
use posted::Posted;
use predictor::Predictor;
pub use profile::{Context, Counted, FirstTouch, Pages, Profile, Site, Subject};
use refusals::Refusals;
pub use spec::{CoreParts, CoreSpec, LatencySpec, MicroOperationsSpec, PortSpec, PortsSpec};
pub use stats::{CoreStats, TimeSpent};
use stores::StoreQueue;
use timing::Timing;
use translate::Translation;
pub use translate::TranslationStats;
pub use uncore::Uncore;
use window::{Counts, Waiters, Window};
use write_combining::WriteCombining;

/// Why a core waits for an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    ReorderBuffer,
    LoadQueue,
    StoreQueue,
    /// all earlier instructions must be committed
    Commit,
    /// all earlier stores must have left the core
    Stores,
    /// a mispredicted branch must be complete
    Branch,
}

/// Why [`Core::run`] returned. A word-sized tag lets `Option<Pause>` be written and read at one width.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum Pause {
    /// an event is due before the core's next instruction; the core will be resumed
    Behind,
    /// the core can do nothing before a request returns
    Blocked(Wait),
    /// a question was answered: the whole machine can be looked at now
    Answered,
    /// the core told another core, which had halted, to go on; this core goes on too
    Wakes(CoreId),
    /// the next step has not come yet
    Starved,
    /// the core waits for an interrupt
    Halted,
    /// the program or the stream of steps has ended
    Ended,
}

/// One core and its own caches.
#[derive(Clone)]
pub struct Core {
    id: CoreId,
    timing: Timing,
    front: Front,
    commit: Slots,
    ports: ExecutionPorts,
    window: Window,
    lines: Lines,
    /// lines of a row whose loads are looked up after its dispatch; the allocation is reused
    issuing: Vec<LineAccess>,
    stores: StoreQueue,
    forwarding: Forwarding,
    predictor: Predictor,
    /// a mispredicted branch: nothing is dispatched before the branch is complete and the front end is refilled
    unguessed: Option<order::Sequence>,
    misses: Misses,
    combining: WriteCombining,
    posted: Posted,
    caches: Private,
    translation: Translation,
    locked: LockedRows,
    drained: Drained,
    prefetch: Option<Prefetchers>,
    /// how often prefetchers of L1, and those of L2, find no room in detail
    refusals_near: Refusals,
    refusals_ahead: Refusals,
    in_hand: Option<Step>,
    /// when the wait for an interrupt began
    halted: Option<Time>,
    /// interrupts that came before their halts were reached, in the order of the stream
    woken_early: VecDeque<Time>,
    /// lines dispatched so far for the instruction in hand, if it repeats
    repeated: usize,
    /// the last instruction repeats; if it comes again, QEMU has returned to it and it goes on
    repeating: bool,
    /// the instruction dispatched last must be committed before the next one is dispatched
    serialise: bool,
    /// a phase of warming comes next, and all other cores have been allowed to go on
    let_others_go: bool,
    spent: TimeSpent,
    stack: CpiStack,
    /// lists of waiters to wake, each with its time; the allocation is reused
    awake: Vec<(Waiters, Time)>,
    /// present only if a profile was requested
    profile: Option<Box<Profile>>,
    pub stats: CoreStats,
}

/// A core and its surroundings, while a feed hands it instructions.
struct Ahead<'a, U> {
    core: &'a mut Core,
    uncore: &'a mut U,
}

impl<U: Uncore> Executes for Ahead<'_, U> {
    type Stop = Pause;

    #[inline(always)]
    fn plain(&mut self, execution: Execution<'_>) -> Result<Option<Pause>, ModelError> {
        self.core.execute_step(execution, &[], self.uncore)
    }

    #[inline(always)]
    fn touching(&mut self, execution: Execution<'_>, accesses: &[LineAccess]) -> Result<Option<Pause>, ModelError> {
        self.core.execute_step(execution, accesses, self.uncore)
    }
}

impl Core {
    pub fn new(id: CoreId, parts: CoreParts<'_>) -> Result<Core, String> {
        let timing = Timing::new(parts);
        Ok(Core {
            id,
            front: Front::new(timing.period, *parts.core.dispatch_width),
            commit: Slots::new(timing.period, *parts.core.commit_width),
            ports: ExecutionPorts::new(parts.ports, timing.period),
            window: Window::new(*parts.core.reorder_buffer, *parts.core.load_queue),
            lines: Lines::default(),
            issuing: Vec::new(),
            stores: StoreQueue::new(*parts.core.store_queue, timing.period),
            forwarding: Forwarding::new(),
            predictor: Predictor::new(),
            unguessed: None,
            misses: Misses::new(*parts.core.fill_buffers, *parts.prefetch.superqueue),
            combining: WriteCombining::new(*parts.core.write_combining_buffers),
            posted: Posted::default(),
            locked: LockedRows::default(),
            drained: Drained::default(),
            caches: Private::new(parts.l1, parts.l2)?,
            translation: Translation::new(parts),
            prefetch: parts.prefetch.enabled.then(|| Prefetchers::new(parts.prefetch)),
            refusals_near: Refusals::default(),
            refusals_ahead: Refusals::default(),
            timing,
            in_hand: None,
            halted: None,
            woken_early: VecDeque::new(),
            repeated: 0,
            repeating: false,
            serialise: false,
            let_others_go: false,
            spent: TimeSpent::default(),
            stack: CpiStack::new(),
            awake: Vec::new(),
            profile: None,
            stats: CoreStats::default(),
        })
    }

    /// Time that the core has reached. The next instruction is dispatched no earlier.
    #[must_use]
    pub fn now(&self) -> Time {
        self.front.now().max(self.commit.now())
    }

    #[must_use]
    pub fn spent(&self) -> TimeSpent {
        self.spent
    }

    /// Where the core's time went, in a machine that has reached `until`.
    #[must_use]
    pub fn time_stack(&self, until: Time) -> TimeStack {
        self.stack.until(self.now(), until)
    }

    /// Starts all counts again at zero.
    pub fn clear_stats(&mut self) {
        self.stats = CoreStats::default();
        self.stack.clear();
    }

    /// How long it was idle until `now`.
    #[must_use]
    pub fn idle(&self, now: Time) -> Time {
        self.spent.idle + self.halted.map_or(Time::ZERO, |since| now.since(since))
    }

    /// An interrupt ends a halt at `at`. Returns whether it ends the present halt; if not, it will end a later one.
    pub(crate) fn end_halt(&mut self, at: Time, now: Time) -> bool {
        let Some(since) = self.halted.take() else {
            self.woken_early.push_back(at);
            return false;
        };
        self.spent.idle += at.since(since);
        // The past is fixed: the core cannot go on before `now`.
        self.go_idle(at.max(now));
        true
    }

    /// Idles until `until`, because no step comes before then. The idle time of a halted core is counted when it is
    /// woken.
    fn idle_until(&mut self, until: Time) {
        if self.halted.is_none() {
            self.spent.idle += until.since(self.front.now());
        }
        self.go_idle(until);
    }

    /// Idles until `until`, because a device has not answered before then. Of a halted core, this part is no longer counted
    /// when it is woken.
    fn rest_until(&mut self, until: Time) {
        let now = self.front.now();
        let until = until.max(now);
        if let Some(since) = &mut self.halted {
            self.spent.idle += now.since(*since);
            *since = until;
        }
        self.spent.io += until.since(now);
        self.front.advance_to(until);
        self.stack.io(now, until);
    }

    fn go_idle(&mut self, until: Time) {
        self.stack.charge(Cause::Dispatch, self.front.now());
        self.front.advance_to(until);
        self.stack.idle(self.front.now());
    }

    /// The earliest time at which the next instruction can be dispatched.
    pub(crate) fn next_slot(&self) -> Time {
        self.front.next()
    }

    /// Takes back a clock read, which the core asks for again later. No step comes before all earlier instructions have
    /// committed. Otherwise two cores that read the clock at once would wait for each other.
    pub(crate) fn withdraw(&mut self) {
        if self.in_hand.take_if(|step| matches!(step, Step::ReadClock { .. } | Step::Settle { .. })).is_some() {
            self.in_hand = Some(Step::Drain);
        }
    }

    /// Number of loads committed since the beginning.
    #[must_use]
    pub fn loads_committed(&self) -> u64 {
        self.window.loads_committed()
    }

    /// Number of misses that waited for a fill buffer.
    #[must_use]
    pub fn fill_buffer_waits(&self) -> u64 {
        self.misses.buffers.waits()
    }

    /// Number of fill buffers in use.
    #[must_use]
    pub fn fill_buffers_held(&self) -> u32 {
        self.misses.buffers.held()
    }

    /// Teaches the predictor what a branch did, functionally.
    #[inline]
    pub(crate) fn learn(&mut self, branch: Branch, outcome: Outcome) {
        self.predictor.guessed(branch, outcome);
    }

    /// Runs until an event is due, the core must wait for a miss, or the program ends.
    pub fn run<F: Feed, U: Uncore>(&mut self, feed: &mut F, uncore: &mut U) -> Result<Pause, ModelError> {
        loop {
            let step = match self.in_hand.take() {
                Some(step) => step,
                None => {
                    if let Some(pause) = self.run_ahead(feed, uncore)? {
                        return Ok(pause);
                    }
                    feed.next()?
                }
            };
            if let Some(pause) = self.take(step, feed, uncore)? {
                return Ok(pause);
            }
        }
    }

    /// Executes instructions as long as the feed knows the next one at once.
    fn run_ahead<F: Feed, U: Uncore>(&mut self, feed: &mut F, uncore: &mut U) -> Result<Option<Pause>, ModelError> {
        if self.halted.is_some() || self.profile.is_some() {
            return Ok(None);
        }
        let pause = feed.ahead(&mut Ahead { core: self, uncore })?;
        if pause.is_some() {
            self.in_hand = Some(Step::Execute);
        }
        Ok(pause)
    }

    /// Executes an instruction. If it is a branch, the core learns its outcome. Returns why the instruction cannot be
    /// executed yet, if so.
    #[inline(always)]
    fn execute_step<U: Uncore>(
        &mut self,
        Execution { instruction, kernel, outcome }: Execution<'_>,
        accesses: &[LineAccess],
        uncore: &mut U,
    ) -> Result<Option<Pause>, ModelError> {
        let counts = Counts::of(kernel);
        let pause = match &instruction.operands {
            Some(operands) if self.goes_in_line() => {
                self.repeating = false;
                self.dispatch_in_line(Known { instruction, operands, counts }, accesses, uncore)?
            }
            None if instruction.work == Work::String => self.repeat(instruction, kernel, accesses, uncore)?,
            _ => {
                self.repeating = false;
                self.dispatch(instruction, counts, accesses, uncore)?
            }
        };
        if let (None, Some(branch), Some(outcome)) = (pause, instruction.branch, outcome) {
            self.branch(branch, outcome);
        }
        Ok(pause)
    }

    fn take<F: Feed, U: Uncore>(
        &mut self,
        step: Step,
        feed: &mut F,
        uncore: &mut U,
    ) -> Result<Option<Pause>, ModelError> {
        match step {
            // A core that was woken and has done nothing since can halt anew. Its first halt must end first.
            Step::Execute
            | Step::ReadClock { .. }
            | Step::Device { .. }
            | Step::Disk { .. }
            | Step::File { .. }
            | Step::Halt
            | Step::Sample { .. }
                if self.halted.is_some() =>
            {
                self.in_hand = Some(step);
                return Ok(Some(Pause::Halted));
            }
            // Others see these steps, in the order of time.
            Step::Sync { .. }
            | Step::Settle { .. }
            | Step::Device { .. }
            | Step::Disk { .. }
            | Step::File { .. }
            | Step::Dma { .. }
            | Step::Wake { .. }
            | Step::Sample { .. }
            | Step::Mark { .. }
                if uncore.is_ahead(self.front.now()) =>
            {
                self.in_hand = Some(step);
                uncore.resume(self.id, self.front.now());
                return Ok(Some(Pause::Behind));
            }
            Step::Execute => {
                let row = self.window.next();
                if self.profile.is_some() {
                    self.profile_begins(feed.instruction_address(), feed.accesses(), uncore);
                }
                let execution = feed.execution();
                let pause = self.execute_step(execution, feed.accesses(), uncore)?;
                if let Some(profile) = &mut self.profile {
                    profile.fill(row, self.window.next());
                    if let (None, Some(branch), Some(outcome)) =
                        (pause, execution.instruction.branch, execution.outcome)
                    {
                        profile.branched(branch, outcome);
                    }
                }
                if pause.is_some() {
                    self.in_hand = Some(step);
                }
                return Ok(pause);
            }
            Step::ReadClock { sequence } => {
                let Execution { instruction, kernel, .. } = feed.execution();
                let pause = self.dispatch(instruction, Counts::of(kernel), feed.accesses(), uncore)?;
                self.in_hand = Some(if pause.is_some() { step } else { Step::Settle { sequence } });
                return Ok(pause);
            }
            Step::Sync { sequence } => {
                feed.answer_sync(sequence, self.front.now().max(self.drained.at()).as_ps())?;
                return Ok(Some(Pause::Answered));
            }
            Step::Settle { .. } | Step::Drain | Step::Turn { .. } | Step::Device { .. } | Step::Invalidate { .. }
                if !self.window.all_committed() =>
            {
                self.in_hand = Some(step);
                return Ok(Some(Pause::Blocked(Wait::Commit)));
            }
            Step::SyncDrained { sequence } | Step::SyncOwning { sequence, .. } => {
                let owns = if let Step::SyncOwning { line, .. } = step { Some(line) } else { None };
                return Ok(Some(match self.drain(owns, uncore)? {
                    Ok(at) => {
                        feed.answer_sync(sequence, at.as_ps())?;
                        Pause::Answered
                    }
                    Err(pause) => {
                        self.in_hand = Some(step);
                        pause
                    }
                }));
            }
            Step::Fence => {
                let pause = self.await_stores(uncore)?;
                if pause.is_some() {
                    self.in_hand = Some(step);
                }
                return Ok(pause);
            }
            Step::Settle { sequence } => {
                self.front.advance_to(self.commit.now());
                feed.answer_clock(sequence, self.front.now().as_ps())?;
                return Ok(Some(Pause::Answered));
            }
            Step::Drain => self.front.advance_to(self.commit.now()),
            Step::Turn { sequence } => {
                let at = self.now();
                if uncore.next_event().is_some_and(|event| event < at) {
                    self.in_hand = Some(step);
                    uncore.resume(self.id, at);
                    return Ok(Some(Pause::Behind));
                }
                self.front.advance_to(at);
                feed.answer_clock(sequence, at.as_ps())?;
            }
            Step::Device { service } => {
                let now = self.now();
                self.front.advance_to(now + service);
                self.stack.io(now, now + service);
                self.spent.io += service;
            }
            Step::Disk { number } => uncore.ask_drive(number, self.now()),
            Step::File { number, service } => uncore.ask_file(number, self.now() + service),
            Step::Dma { page, kind } => uncore.dma(page, kind, self.now()),
            Step::Idle { until } => self.idle_until(until),
            Step::Rest { until, done } => {
                let (now_done, at) = uncore.requests_done();
                let event = uncore.next_event().filter(|event| *event < until);
                match event {
                    _ if now_done > done => self.rest_until(at),
                    None => self.rest_until(until),
                    Some(event) => {
                        self.in_hand = Some(step);
                        uncore.resume(self.id, event);
                        return Ok(Some(Pause::Behind));
                    }
                }
            }
            Step::Halt => {
                let now = self.now();
                match self.woken_early.pop_front() {
                    None => self.halted = Some(now),
                    Some(at) => {
                        self.spent.idle += at.since(now);
                        self.go_idle(at);
                    }
                }
            }
            Step::Invalidate { forget } => {
                // Events of other cores may have passed while this core waited for its commits.
                self.front.advance_to(self.commit.now());
                self.translation.forget(forget);
            }
            Step::Sample { phase: Phase::Warming, .. } if !self.window.all_committed() => {
                self.in_hand = Some(step);
                return Ok(Some(Pause::Blocked(Wait::Commit)));
            }
            Step::Sample { phase, position, keep } => {
                if phase == Phase::Warming && !self.quietens(uncore) {
                    self.in_hand = Some(step);
                    return Ok(Some(Pause::Behind));
                }
                if phase == Phase::Warming {
                    self.front.advance_to(self.commit.now());
                }
                feed.reached(phase, position, keep);
                return Ok(Some(Pause::Answered));
            }
            Step::Wake { woken } => return Ok(Some(Pause::Wakes(woken))),
            Step::Asleep => return Ok(Some(Pause::Halted)),
            Step::Starved { awake: true } if self.halted.is_some() => return Ok(Some(Pause::Halted)),
            Step::Starved { .. } => return Ok(Some(Pause::Starved)),
            Step::Delay { span } => {
                let at = self.front.now() + span;
                self.front.advance_to(at);
            }
            Step::Mark { marker: Marker::ProgramEnd } | Step::End => {
                self.in_hand = Some(Step::End);
                return Ok(Some(Pause::Ended));
            }
            // The caller looks at the machine when it gets `Answered`, and gives the answer.
            Step::Mark { marker: Marker::Counters } => {
                self.stats.counter_reads.increment();
                return Ok(Some(Pause::Answered));
            }
            Step::Mark { .. } => {}
        }
        Ok(None)
    }

    /// Whether no request of any core is under way. Warming would change the lines of such a request. If not, the core
    /// asks again later. The first question always gets "no", so that other cores can run up to the next event. Drives and
    /// flash stand still meanwhile: a read of a drive would keep the core for 85 us, an erase for milliseconds.
    fn quietens<U: Uncore>(&mut self, uncore: &mut U) -> bool {
        let event = uncore.next_work();
        if event.is_none() && std::mem::take(&mut self.let_others_go) {
            return true;
        }
        self.let_others_go = true;
        self.front.advance_to(event.unwrap_or(self.commit.now()));
        uncore.resume(self.id, event.unwrap_or(self.now().max(self.front.next())));
        false
    }

    /// A line has come back at `now`. Its waiters go on.
    pub fn fill<U: Uncore>(
        &mut self,
        request: &Request,
        latency: Time,
        now: Time,
        uncore: &mut U,
    ) -> Result<(), ModelError> {
        if request.op == Op::Load {
            self.stats.miss_latency.record(latency);
        }
        self.stack.answered(request);
        if request.op.brings_line() {
            if let Some((waiters, ready)) = self.line_arrived(request, now, uncore)? {
                if request.to_memory && self.profile.is_some() {
                    self.profile_line(request, latency, waiters, uncore);
                }
                self.awake.push((waiters, ready));
            }
        } else {
            self.acknowledged(now);
            self.leave_superqueue(now, uncore);
            self.misses.buffers.give_back(now);
        }
        self.serve_waiting(now, uncore)?;
        self.wake(uncore)
    }
}
