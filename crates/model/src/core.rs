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
//! Not an event an instruction: hits are resolved in line; only misses are events. The core never runs past an
//! event that is due, so what it sends leaves in the order of time. Not modelled: the wrong
//! path behind a branch, execution ports, micro-operations, non-temporal stores, cache control instructions.

mod dispatch;
mod forward;
mod front;
mod lines;
mod misses;
mod order;
mod predictor;
mod prefetch;
mod stores;
mod timing;
mod window;

use cxlab_access::Marker;
use cxlab_kernel::{Time, statistics};

use crate::addr::Hpa;
use crate::cache::{Hit, LineState, Private, Snoop, Victim};
use crate::config::HostSpec;
use crate::error::ModelError;
use crate::frontend::{Feed, Step};
use crate::request::{CoreId, Level, Op};

use forward::Forwarding;
use front::{Front, Slots};
use lines::Lines;
use misses::{Misses, Slot};
use predictor::Predictor;
use prefetch::ReadAhead;
use stores::StoreQueue;
use timing::Timing;
use window::{Waiters, Window};

/// A request under way, as the machine knows it.
pub type RequestKey = cxlab_kernel::Key<crate::request::Request>;

/// What a core needs of the machine around it.
pub trait Uncore {
    /// When the next event is due, if one is.
    fn next_event(&self) -> Option<Time>;
    /// Call [`Core::run`] again at `at`.
    fn resume(&mut self, core: CoreId, at: Time);
    /// A line is wanted, since `born`; it waits for a fill buffer.
    fn request(&mut self, core: CoreId, line: Hpa, op: Op, born: Time) -> Result<RequestKey, ModelError>;
    /// The request has its fill buffer and leaves the core.
    fn depart(&mut self, key: RequestKey, at: Time);
    /// Whether nothing should be read ahead to this level: the line has no memory, or its home agents are too full.
    fn congested(&self, line: Hpa, level: Level) -> bool;
    /// A line has left the core's caches.
    fn victim(&mut self, core: CoreId, victim: Victim, at: Time);
}

/// Why a core waits for an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    ReorderBuffer,
    LoadQueue,
    StoreQueue,
    /// all that came before must be committed
    Commit,
    /// a branch that was not guessed must be complete
    Branch,
}

/// Why [`Core::run`] came back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pause {
    /// an event is due before the core's next instruction; it will be resumed
    Behind,
    /// nothing can go on before a request returns
    Blocked(Wait),
    /// a sync point was answered: the moment to look at the whole
    Synced,
    /// the program has ended, or the stream of steps
    Ended,
}

statistics! {
    /// What a core tells.
    pub struct CoreStats {
        user_instructions: Counter [Instructions] "committed in user mode",
        kernel_instructions: Counter [Instructions] "committed in the kernel",
        branches: Counter [Instructions] "branches whose way is known",
        mispredictions: Counter [Instructions] "branches that the front end had not guessed",
        loads: Counter [Lines] "lines that loads touched",
        stores: Counter [Lines] "lines that stores touched",
        l1_hits: Counter [Lines] "found in L1",
        l2_hits: Counter [Lines] "found in L2",
        misses: Counter [Lines] "found in neither: a request to the home agent",
        forwarded: Counter [Lines] "loads that took their data from the store queue",
        prefetches: Counter [Lines] "read ahead, into L2 or the LLC",
        prefetches_refused: Counter [Lines] "not read ahead: requests queue on the way to their memory",
        snoops: Counter [Events] "asked by the home agent for a line, for another core",
        merged_misses: Counter [Lines] "found in neither, and on their way already",
        device_accesses: Counter [Lines] "to a device's registers",
        window_full: Counter [Events] "dispatch waited for the reorder buffer",
        lsq_full: Counter [Events] "dispatch waited for the load or the store queue",
        miss_latency: Latency [Nanoseconds] "load to use of loads that missed L2",
    }
}

/// Time spent, apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TimeSpent {
    /// nothing to do until a timer
    pub idle: Time,
    /// waiting for a device's declared service time
    pub device: Time,
}

/// One core and its own caches.
pub struct Core {
    id: CoreId,
    timing: Timing,
    front: Front,
    commit: Slots,
    window: Window,
    lines: Lines,
    stores: StoreQueue,
    forwarding: Forwarding,
    predictor: Predictor,
    /// a branch that was not guessed: nothing is dispatched before it is complete and the front end refilled
    unguessed: Option<order::Sequence>,
    misses: Misses,
    caches: Private,
    prefetch: Option<ReadAhead>,
    in_hand: Option<Step>,
    /// what was dispatched last must be committed before anything follows
    serialise: bool,
    spent: TimeSpent,
    /// lists of waiters to wake, and when; kept to be used again
    awake: Vec<(Waiters, Time)>,
    pub stats: CoreStats,
}

impl Core {
    pub fn new(id: CoreId, host: &HostSpec) -> Result<Core, String> {
        let timing = Timing::new(host);
        Ok(Core {
            id,
            front: Front::new(timing.period, *host.core.dispatch_width),
            commit: Slots::new(timing.period, *host.core.commit_width),
            window: Window::new(*host.core.reorder_buffer, *host.core.load_queue),
            lines: Lines::default(),
            stores: StoreQueue::new(*host.core.store_queue, timing.period),
            forwarding: Forwarding::new(),
            predictor: Predictor::new(),
            unguessed: None,
            misses: Misses::new(*host.core.fill_buffers),
            caches: Private::new(&host.l1, &host.l2)?,
            prefetch: ReadAhead::new(&host.prefetch),
            timing,
            in_hand: None,
            serialise: false,
            spent: TimeSpent::default(),
            awake: Vec::new(),
            stats: CoreStats::default(),
        })
    }

    /// Where the core's time has come to: the next instruction is dispatched no earlier.
    #[must_use]
    pub fn now(&self) -> Time {
        self.front.now().max(self.commit.now())
    }

    #[must_use]
    pub fn spent(&self) -> TimeSpent {
        self.spent
    }

    /// How often a miss waited for a fill buffer.
    #[must_use]
    pub fn fill_buffer_waits(&self) -> u64 {
        self.misses.waits()
    }

    /// Whether the line is in the caches, and may be changed if it is stored to; it is touched.
    pub(crate) fn touches(&mut self, line: Hpa, store: bool) -> bool {
        self.caches.access(line, store) != Hit::Neither
    }

    /// Have the line in the caches as if it had been touched before time began: what left them for it.
    pub(crate) fn warm(&mut self, line: Hpa, state: LineState) -> Option<Victim> {
        self.caches.fill(line, state)
    }

    /// What the core may do with the line, if it has it.
    #[must_use]
    pub fn state(&self, line: Hpa) -> Option<LineState> {
        self.caches.state(line)
    }

    /// The home agent asks for the line: whether it was changed here; `None` if it is not here.
    pub(crate) fn snoop(&mut self, line: Hpa, left: Snoop) -> Option<bool> {
        self.stats.snoops.increment();
        self.caches.snoop(line, left)
    }

    /// Go on until an event is due, a miss is waited for, or the program ends.
    pub fn run<F: Feed, U: Uncore>(&mut self, feed: &mut F, uncore: &mut U) -> Result<Pause, ModelError> {
        loop {
            let step = match self.in_hand.take() {
                Some(step) => step,
                None => feed.next()?,
            };
            if let Some(pause) = self.take(step, feed, uncore)? {
                return Ok(pause);
            }
        }
    }

    fn take<F: Feed, U: Uncore>(
        &mut self,
        step: Step,
        feed: &mut F,
        uncore: &mut U,
    ) -> Result<Option<Pause>, ModelError> {
        match step {
            Step::Execute { instruction, kernel, outcome } => {
                let pause = self.dispatch(instruction, kernel, feed.accesses(), uncore)?;
                if pause.is_some() {
                    self.in_hand = Some(step);
                } else if let (Some(branch), Some(outcome)) = (instruction.branch, outcome) {
                    self.branch(branch, outcome);
                }
                return Ok(pause);
            }
            Step::ReadClock { instruction, kernel, sequence } => {
                let pause = self.dispatch(instruction, kernel, feed.accesses(), uncore)?;
                self.in_hand = Some(if pause.is_some() { step } else { Step::Settle { sequence } });
                return Ok(pause);
            }
            Step::Sync { sequence } => {
                feed.answer_sync(sequence, self.front.now().as_ps())?;
                return Ok(Some(Pause::Synced));
            }
            Step::Settle { .. } | Step::Device { .. } if !self.window.all_committed() => {
                self.in_hand = Some(step);
                return Ok(Some(Pause::Blocked(Wait::Commit)));
            }
            Step::Fence => {
                let Some(at) = self.stores.all_left().filter(|_| self.window.all_committed()) else {
                    self.in_hand = Some(step);
                    return Ok(Some(Pause::Blocked(Wait::Commit)));
                };
                self.front.advance_to(at.max(self.commit.now()));
            }
            Step::Settle { sequence } => {
                self.front.advance_to(self.commit.now());
                feed.answer_clock(sequence, self.front.now().as_ps())?;
            }
            Step::Device { service } => {
                self.front.advance_to(self.now() + service);
                self.spent.device += service;
            }
            Step::Idle { until } => {
                self.spent.idle += until.since(self.front.now());
                self.front.advance_to(until);
            }
            Step::Delay { span } => {
                let at = self.front.now() + span;
                self.front.advance_to(at);
            }
            Step::Mark { marker: Marker::ProgramEnd } | Step::End => {
                self.in_hand = Some(Step::End);
                return Ok(Some(Pause::Ended));
            }
            Step::Mark { .. } => {}
        }
        Ok(None)
    }

    /// A line has come back at `now`: what waited for it goes on.
    pub fn fill<U: Uncore>(
        &mut self,
        line: Hpa,
        op: Op,
        grant: LineState,
        latency: Time,
        now: Time,
        uncore: &mut U,
    ) -> Result<(), ModelError> {
        if op == Op::Load {
            self.stats.miss_latency.record(latency);
        }
        let (waiters, store, slot) = self.misses.returned(line);
        let state = match grant {
            // A store has come while the line was on its way to be read, and others have it: ask again.
            LineState::Shared if store && op != Op::NonTemporal => {
                self.misses.await_line(line, true, waiters, slot);
                let key = uncore.request(self.id, line, Op::Own, now)?;
                uncore.depart(key, now);
                return Ok(());
            }
            LineState::Exclusive if store => LineState::Modified,
            grant => grant,
        };
        let victim = match op {
            Op::NonTemporal => None,
            Op::Prefetch(level) => match level {
                _ if !waiters.is_empty() => self.caches.fill(line, state),
                Level::L2 => self.caches.fill_l2(line, state),
                Level::Llc => Some(Victim { line, changed: false }),
            },
            Op::Load | Op::Own | Op::WriteBack => self.caches.fill(line, state),
        };
        if let Some(victim) = victim {
            uncore.victim(self.id, victim, now);
        }
        match (slot, &mut self.prefetch) {
            (Slot::Prefetch(level), Some(ahead)) => ahead.returned(level),
            _ => {
                if let Some(next) = self.misses.free_buffer() {
                    uncore.depart(next, now);
                }
            }
        }
        self.resume_prefetch(now, uncore)?;
        self.wake(waiters, now, uncore)
    }
}
