//! The CPI stack: each moment of a core's time is charged to the cause of its oldest instruction's wait.
//!
//! ```text
//!   commit ------------ data ready -- complete -- commit      the next instruction's wait, and what it is charged to:
//!     '---- its line ------'-execution-'-retiring-'           a line from beyond L2 by the stages of its request
//! ```
//!
//! While no instruction is in the window, the reason of the front end is charged. The parts add up to the core's time
//! to the picosecond. A wait for a line is split in the proportion of its request's stages, even if the core hid some
//! of these stages. A stream whose lines wait for fill buffers is therefore charged to the fill buffers, not to the
//! last stage of each line. Loads behind the oldest instruction and stores without waiters leave the core meanwhile.
//! They are charged nothing. Not modelled: a charge for an L2 hit that waited for a fill buffer. It is charged as the
//! request that gave the buffer back. Source: S. Eyerman, L. Eeckhout, T. Karkhanis and J. Smith, A performance counter
//! architecture for computing accurate CPI components, ASPLOS 2006.

use cxlab_kernel::Time;

use crate::mem::Stage;
use crate::request::{NodeId, Op, Request};

macro_rules! causes {
    ($($cause:ident $name:literal $description:literal,)+) => {
        /// Causes that a core's time is charged to, apart from the stages of a request.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Cause { $(#[doc = $description] $cause,)+ }

        impl Cause {
            pub const ALL: &'static [Cause] = &[$(Cause::$cause,)+];

            /// The name in results.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(Cause::$cause => $name,)+ }
            }

            /// Activity of the core while time is charged to this cause.
            #[must_use]
            pub fn description(self) -> &'static str {
                match self { $(Cause::$cause => $description,)+ }
            }
        }
    };
}

causes! {
    Retiring "retiring" "instructions commit, as many in a cycle as the core can",
    Dispatch "dispatch" "no instruction is in the window: the front end brings the next ones",
    Branches "branches" "no instruction is in the window: the front end refills behind a branch that was not guessed",
    Execution "execution" "the oldest instruction has its operands and is executed",
    L1 "l1" "the oldest instruction waits for a line of L1, or for a store ahead of it",
    L2 "l2" "the oldest instruction waits for a line of L2",
    Walks "walks" "the oldest instruction waits for a walk of the page tables",
    Stores "stores" "no instruction is in the window: the store queue empties by a store a cycle",
    Registers "registers" "the oldest instruction waits for a device's registers",
}

const STAGES: usize = Stage::ALL.len();
/// Places in a stack: first the causes, then the stages of lines from the LLC, then the stages of each node's lines.
const LLC: usize = Cause::ALL.len();

/// Time of a core, or of several cores, by cause.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TimeStack {
    /// in user mode and in the kernel, by place
    modes: [Vec<Time>; 2],
    /// nothing to do until a timer, or until another core has something
    pub idle: Time,
    /// nothing to do until a request to a device is answered
    pub io: Time,
}

/// The processor's mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    User,
    Kernel,
}

impl TimeStack {
    /// Time charged to a cause.
    #[must_use]
    pub fn of(&self, mode: Mode, cause: Cause) -> Time {
        self.at(mode, cause as usize)
    }

    /// Time charged to lines that the LLC had.
    #[must_use]
    pub fn of_llc(&self, mode: Mode, stage: Stage) -> Time {
        self.at(mode, LLC + stage as usize)
    }

    /// Time charged to lines of a node's memory.
    #[must_use]
    pub fn of_node(&self, mode: Mode, node: NodeId, stage: Stage) -> Time {
        self.at(mode, place_of(node) + stage as usize)
    }

    fn at(&self, mode: Mode, place: usize) -> Time {
        self.modes[mode as usize].get(place).copied().unwrap_or(Time::ZERO)
    }

    /// Time that is neither idle nor I/O.
    #[must_use]
    pub fn busy(&self) -> Time {
        self.modes.iter().flatten().copied().sum()
    }

    /// Combines each part of `self` with the same part of `other`.
    #[must_use]
    pub fn with(&self, other: &TimeStack, and: impl Fn(Time, Time) -> Time + Copy) -> TimeStack {
        let mode = |mode: usize| {
            let (one, two) = (&self.modes[mode], &other.modes[mode]);
            let part = |place: usize| {
                let of = |parts: &[Time]| parts.get(place).copied().unwrap_or(Time::ZERO);
                and(of(one), of(two))
            };
            (0..one.len().max(two.len())).map(part).collect()
        };
        TimeStack { modes: [mode(0), mode(1)], idle: and(self.idle, other.idle), io: and(self.io, other.io) }
    }
}

fn place_of(node: NodeId) -> usize {
    LLC + STAGES * (1 + usize::from(node.0))
}

/// Source of an instruction's data once the instruction is issued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// no memory
    None,
    L1,
    L2,
    /// a line that a request brings, or a walk
    Request,
    Registers,
}

/// The oldest instruction, as it commits.
#[derive(Clone, Copy, Debug)]
pub struct Oldest {
    pub data_ready: Time,
    pub complete: Time,
    pub source: Source,
    /// `None` for a later part of an instruction that repeats: it has the mode of the first part
    pub mode: Option<Mode>,
}

/// Why the front end is late.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Late {
    Width,
    Branch,
    /// the store queue has no free entry, and the time at which it has one is known
    StoreQueue,
    /// stores whose requests have to come back first
    Requests,
}

/// Source of the answer to the request that came back last.
#[derive(Clone, Copy, Debug)]
enum Answered {
    Llc,
    Node(NodeId),
    Walk,
}

/// A core's time so far.
#[derive(Clone, Debug)]
pub struct CpiStack {
    spent: TimeStack,
    /// all time before this is charged
    charged: Time,
    mode: Mode,
    late: Late,
    answered: Answered,
    /// stages of the request that came back last
    spans: [Time; STAGES],
}

impl CpiStack {
    pub fn new() -> CpiStack {
        let parts = || vec![Time::ZERO; LLC + STAGES];
        CpiStack {
            spent: TimeStack { modes: [parts(), parts()], idle: Time::ZERO, io: Time::ZERO },
            charged: Time::ZERO,
            mode: Mode::User,
            late: Late::Width,
            answered: Answered::Llc,
            spans: [Time::ZERO; STAGES],
        }
    }

    /// The time up to which everything is charged.
    #[inline]
    pub fn charged(&self) -> Time {
        self.charged
    }

    /// Starts all counts again at zero.
    pub fn clear(&mut self) {
        self.spent.modes.iter_mut().for_each(|parts| parts.fill(Time::ZERO));
        (self.spent.idle, self.spent.io) = (Time::ZERO, Time::ZERO);
    }

    /// The stack of a core that has reached `now`, in a machine that has reached `until`. A core that ended earlier is
    /// idle.
    pub fn until(&self, now: Time, until: Time) -> TimeStack {
        let mut stack = self.clone();
        stack.charge(Cause::Dispatch, now);
        stack.spent.idle += until.since(stack.charged);
        stack.spent
    }

    /// The oldest instruction commits, and the core reaches `now`.
    #[inline]
    pub fn committed(&mut self, oldest: Oldest, now: Time) {
        self.mode = oldest.mode.unwrap_or(self.mode);
        if now <= self.charged {
            return;
        }
        if oldest.complete > self.charged {
            self.waited(oldest);
        }
        self.charge(Cause::Retiring, now);
    }

    /// The node whose memory the oldest instruction waits for, and the time that will be charged for this wait.
    pub fn waits_for_memory(&self, oldest: Oldest) -> Option<(NodeId, Time)> {
        match self.answered {
            Answered::Node(node) if oldest.source == Source::Request && oldest.data_ready > self.charged => {
                Some((node, oldest.data_ready - self.charged))
            }
            _ => None,
        }
    }

    #[inline(never)]
    fn waited(&mut self, oldest: Oldest) {
        if oldest.data_ready > self.charged {
            let until = oldest.data_ready;
            match oldest.source {
                Source::None => self.charge(Cause::Dispatch, until),
                Source::L1 => self.charge(Cause::L1, until),
                Source::L2 => self.charge(Cause::L2, until),
                Source::Registers => self.charge(Cause::Registers, until),
                Source::Request => self.charge_request(until),
            }
        }
        self.charge(Cause::Execution, oldest.complete);
    }

    /// Charges the time up to `at`, when an instruction is dispatched into an empty window.
    pub fn dispatched(&mut self, at: Time, mode: Option<Mode>) {
        self.mode = mode.unwrap_or(self.mode);
        match self.late {
            Late::Width => self.charge(Cause::Dispatch, at),
            Late::Branch => self.charge(Cause::Branches, at),
            Late::StoreQueue => self.charge(Cause::Stores, at),
            Late::Requests => self.charge_request(at),
        }
    }

    /// Notes why the next instruction is late.
    #[inline]
    pub fn late(&mut self, why: Late) {
        self.late = why;
    }

    /// The next instruction waits for a store queue whose free time is known. A wait for requests remains the reason if
    /// it came first.
    #[inline]
    pub fn late_for_stores(&mut self) {
        if self.late != Late::Requests {
            self.late = Late::StoreQueue;
        }
    }

    /// A request has come back. Later waits for requests are charged by its stages.
    pub fn answered(&mut self, request: &Request) {
        self.answered = match request.op {
            Op::Walk => Answered::Walk,
            _ if request.to_memory => Answered::Node(request.node),
            _ => Answered::Llc,
        };
        self.spans = *request.spans();
    }

    /// Charges idle time up to `until`.
    pub fn idle(&mut self, until: Time) {
        self.spent.idle += until.since(self.charged);
        self.charged = self.charged.max(until);
    }

    /// The core has reached `now`, and waits for a device until `until`.
    pub fn io(&mut self, now: Time, until: Time) {
        self.charge(Cause::Dispatch, now);
        self.spent.io += until.since(self.charged);
        self.charged = self.charged.max(until);
    }

    /// Charges all time up to `until` to this cause.
    #[inline]
    pub fn charge(&mut self, cause: Cause, until: Time) {
        if until > self.charged {
            self.spent.modes[self.mode as usize][cause as usize] += until - self.charged;
            self.charged = until;
        }
    }

    /// Charges the time up to `until` in the proportion of the last request's stages.
    pub fn charge_request(&mut self, until: Time) {
        let node = match self.answered {
            Answered::Walk => return self.charge(Cause::Walks, until),
            Answered::Llc => LLC,
            Answered::Node(node) => place_of(node),
        };
        let whole: u64 = self.spans.iter().map(|span| span.as_ps()).sum();
        if whole == 0 || until <= self.charged {
            return self.charge(Cause::L2, until);
        }
        let parts = &mut self.spent.modes[self.mode as usize];
        if parts.len() < node + STAGES {
            parts.resize(node + STAGES, Time::ZERO);
        }
        let wait = (until - self.charged).as_ps();
        let share = wait as f64 / whole as f64;
        let (mut passed, mut before) = (0, 0);
        for (part, span) in parts[node..node + STAGES].iter_mut().zip(&self.spans) {
            if span.as_ps() > 0 {
                passed += span.as_ps();
                // Each end but the last is rounded down, so the parts add up to the wait.
                let end = if passed == whole { wait } else { wait.min((passed as f64 * share) as u64) };
                *part += Time::from_ps(end - before);
                before = end;
            }
        }
        self.charged = until;
    }
}
