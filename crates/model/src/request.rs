//! A request: one line on its way to a memory and back, with the time that each stage took.
//!
//! ```text
//!   born at the core   fill buffer | to home | home to memory | ... media ... | memory to home | from home
//!                      '--------------------------- the sum is its latency -------------------------------'
//! ```

use cxlab_kernel::{Key, Time};

use crate::addr::Hpa;
use crate::cache::{LineState, Reference, SliceId};
use crate::mem::Stage;

pub use crate::cache::CoreId;

/// Why a line travels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// a load missed every cache
    Load,
    /// a store wants to own the line (read for ownership)
    Own,
    /// a walk of the page tables reads an entry
    Walk,
    /// read ahead, into L2
    Prefetch,
    /// a line is written past the caches (movnt): posted, the home agent finishes it
    NonTemporal,
    /// a part of a line is: its memory has to read the line first
    NonTemporalPart,
    /// the home agent writes the line to its memory where it is changed, and forgets it (clflush)
    Flush,
    /// the same, and keeps it (clwb)
    Clean,
    /// a changed line goes back to its memory
    WriteBack,
    /// a part of a line goes to its memory, which merges it
    PartialWrite,
    /// the home agent notes in a line's memory that another socket owns it
    Directory,
}

impl Op {
    /// The core waits for the line; else for the home agent's word that it has taken over.
    #[must_use]
    pub fn brings_line(self) -> bool {
        matches!(self, Op::Load | Op::Own | Op::Walk | Op::Prefetch)
    }

    /// From the home agent to the memory, with data.
    #[must_use]
    pub fn is_write(self) -> bool {
        matches!(self, Op::WriteBack | Op::PartialWrite)
    }
}

/// A line that a core wants, before anybody knows its home.
#[derive(Clone, Copy, Debug)]
pub struct Want {
    pub by: Reference,
    pub line: Hpa,
    pub op: Op,
    /// when the core had the address
    pub born: Time,
    /// when the address was translated
    pub translated: Time,
}

/// A victim of a core's L2 on its way to the LLC.
#[derive(Clone, Copy, Debug)]
pub struct Evicted {
    pub line: Hpa,
    /// write of the changed line that leaves the LLC for it
    pub room: Option<RequestKey>,
}

/// A request under way, as the machine knows it.
pub type RequestKey = Key<Request>;

/// One line under way: created once, stamped at each stage, never copied from hop to hop.
#[derive(Clone, Copy, Debug)]
pub struct Request {
    pub line: Hpa,
    pub op: Op,
    /// what asked for it
    pub by: Reference,
    /// which node its memory is of
    pub node: NodeId,
    /// which LLC slice, and so which home agent, is its line's
    pub slice: SliceId,
    /// what its core may do with the line, once the home agent has said so
    pub grant: LineState,
    /// who waits behind it for the same line
    pub behind: Option<RequestKey>,
    /// whose core hears of it once the home agent of the other socket has it
    pub answers: Option<RequestKey>,
    /// it has an entry of its slice's table of requests
    pub entered: bool,
    /// it holds a write buffer of its slice, or waits for one
    pub buffered: bool,
    /// a victim of its core's L2 is pulled into its place in the LLC when the memory has it
    pub pulls: bool,
    /// it goes to its memory: neither the LLC nor another core has the line
    pub to_memory: bool,
    /// when the core had the address
    born: Time,
    /// end of the last stage
    last: Time,
    spans: [Time; Stage::ALL.len()],
}

/// A NUMA node, by its place in the machine file: the operating system's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(pub u16);

/// Home of a line: its slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HomeId {
    pub node: NodeId,
    pub slice: SliceId,
}

impl Request {
    #[must_use]
    pub fn new(line: Hpa, op: Op, by: Reference, home: HomeId, born: Time) -> Request {
        let HomeId { node, slice } = home;
        Request {
            line,
            op,
            by,
            node,
            slice,
            grant: LineState::Exclusive,
            behind: None,
            answers: None,
            entered: false,
            buffered: false,
            pulls: false,
            to_memory: false,
            born,
            last: born,
            spans: [Time::ZERO; Stage::ALL.len()],
        }
    }

    /// Core that asked.
    #[must_use]
    pub fn core(&self) -> CoreId {
        self.by.core
    }

    /// Whether it counts in its core's share of its slice's table: all do that the core waits for.
    #[must_use]
    pub fn has_share(&self) -> bool {
        !self.op.is_write() || self.pulls
    }

    /// Home of its line.
    #[must_use]
    pub fn home(&self) -> HomeId {
        HomeId { node: self.node, slice: self.slice }
    }

    /// `stage` ends at `at`.
    pub fn stamp(&mut self, stage: Stage, at: Time) {
        assert!(
            at >= self.last,
            "{stage:?} of {:?} ended at {at}, before the stage ahead of it at {}",
            self.line,
            self.last
        );
        self.spans[stage as usize] += at - self.last;
        self.last = at;
    }

    /// From the address to `now`, which must be the sum of its stages.
    pub fn latency(&self, now: Time) -> Time {
        let sum: Time = self.spans.iter().copied().sum();
        let latency = now - self.born;
        assert_eq!(sum, latency, "the stages of {:?} do not add up to its latency", self.line);
        latency
    }

    #[must_use]
    pub fn span(&self, stage: Stage) -> Time {
        self.spans[stage as usize]
    }

    /// The time of each stage.
    #[must_use]
    pub fn spans(&self) -> &[Time; Stage::ALL.len()] {
        &self.spans
    }

    /// When its last stage ended.
    #[must_use]
    pub fn last(&self) -> Time {
        self.last
    }

    #[must_use]
    pub fn born(&self) -> Time {
        self.born
    }
}
