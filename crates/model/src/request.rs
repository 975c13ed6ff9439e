//! A request: one line on its way to a memory and back, with the time that each stage took.
//!
//! ```text
//!   born at the core   fill buffer | to home | home to memory | ... media ... | memory to home | from home
//!                      '--------------------------- the sum is its latency -------------------------------'
//! ```

use cxlab_kernel::Time;

use crate::addr::Hpa;
use crate::cache::{LineState, SliceId};
use crate::core::RequestKey;

/// Where a prefetched line comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    L2,
    Llc,
}

/// Why a line travels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// a load missed every cache
    Load,
    /// a store wants to own the line (read for ownership)
    Own,
    /// a walk of the page tables reads an entry
    Walk,
    /// read ahead, into L2 or into the LLC alone
    Prefetch(Level),
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
        matches!(self, Op::Load | Op::Own | Op::Walk | Op::Prefetch(_))
    }

    /// From the home agent to the memory, with data.
    #[must_use]
    pub fn is_write(self) -> bool {
        matches!(self, Op::WriteBack | Op::PartialWrite)
    }
}

macro_rules! stages {
    ($($stage:ident $name:literal $description:literal,)+) => {
        /// Where a request's time goes, in the order of its way.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Stage { $(#[doc = $description] $stage,)+ }

        impl Stage {
            pub const ALL: &'static [Stage] = &[$(Stage::$stage,)+];

            /// The name in results.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(Stage::$stage => $name,)+ }
            }

            /// What happens there.
            #[must_use]
            pub fn description(self) -> &'static str {
                match self { $(Stage::$stage => $description,)+ }
            }
        }
    };
}

stages! {
    Translation "translation" "second TLB, or waiting for a walk of the page tables",
    FillBuffer "fill_buffer" "waiting for a fill buffer of the core",
    ToHome "to_home" "L1 and L2 look-up, mesh to the LLC slice and home agent, LLC and snoop filter look-up",
    Snoop "snoop" "other cores are asked for the line, or told to forget it",
    HomeQueue "home_queue" "waiting for an entry of the home agent's table of requests",
    HomeToMemory "home_to_memory" "mesh from the home agent to the memory controller, root port or socket link",
    SocketLinkOut "socket_link_out" "socket-to-socket link, towards the other socket: queueing, serialisation, flight",
    RemoteHome "remote_home" "home agent of the other socket: coherence check, remote snoop filter, mesh",
    RootPortQueue "root_port_queue" "waiting for an entry of the root port's request and response FIFO",
    HostOut "host_out" "bridge and CXL protocol of the host, outwards",
    LinkM2s "link_m2s" "credit wait, packing into flits, serialisation, towards the device",
    DeviceIn "device_in" "CXL protocol of the device, inwards",
    DeviceQueue "device_queue" "waiting for an entry of the device's queue",
    Media "media" "queueing and access of the DRAM",
    LinkS2m "link_s2m" "CXL protocol of the device, then packing and serialisation, towards the host",
    HostIn "host_in" "CXL protocol and bridge of the host, back",
    SocketLinkBack "socket_link_back" "mesh of the other socket, then the socket-to-socket link back",
    MemoryToHome "memory_to_home" "mesh back to the home agent",
    FromHome "from_home" "mesh back to the core and fill",
}

/// One line under way: created once, stamped at each stage, never copied from hop to hop.
#[derive(Clone, Copy, Debug)]
pub struct Request {
    pub line: Hpa,
    pub op: Op,
    /// which core asked
    pub core: CoreId,
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
    /// it has an entry of the home agent's table of requests, so it goes to memory
    pub entered: bool,
    /// when the core had the address
    born: Time,
    /// end of the last stage
    last: Time,
    spans: [Time; Stage::ALL.len()],
}

/// A core, by its place in the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CoreId(pub u16);

/// A NUMA node, by its place in the machine file: the operating system's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct NodeId(pub u16);

/// Where a line is at home.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HomeId {
    pub node: NodeId,
    pub slice: SliceId,
}

impl Request {
    #[must_use]
    pub fn new(line: Hpa, op: Op, core: CoreId, home: HomeId, born: Time) -> Request {
        let HomeId { node, slice } = home;
        Request {
            line,
            op,
            core,
            node,
            slice,
            grant: LineState::Exclusive,
            behind: None,
            answers: None,
            entered: false,
            born,
            last: born,
            spans: [Time::ZERO; Stage::ALL.len()],
        }
    }

    /// Where its line is at home.
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
        assert_eq!(sum, now - self.born, "the stages of {:?} do not add up to its latency", self.line);
        sum
    }

    #[must_use]
    pub fn span(&self, stage: Stage) -> Time {
        self.spans[stage as usize]
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
