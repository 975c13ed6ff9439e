//! The other socket's half of the home agents: the link to it (UPI, xGMI), and the work of its home agent before its
//! memory.
//!
//! ```text
//!   home -> mesh -> [ out wire ] -> remote home: coherence check (DDR) | remote snoop filter entry (CXL) -> memory
//!   home <- mesh <- [ back wire ] <----------------------------------------------------------------------------+
//! ```
//!
//! The home agent of DDR notes in the DRAM, in bits beside each line, which lines another socket may own. A line that
//! is read for ownership came back changed the last time, which cleared its bits. The home agent writes the line to set
//! the bits again, and the reader does not wait for this write. Lines that are only read keep their bits.
//!
//! Not modelled: a cache of the directory, flow control of the link, traffic of other protocols, snoops from the other
//! socket.

use cxlab_kernel::{Bandwidth, Bytes, Credits, Grant, Server, Time, statistics};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Around, Event, Home, Queue};
use crate::fact::Sourced;
use crate::mem::{AccessKind, Extent, Stage};
use crate::request::{Op, Request, RequestKey};

/// Socket of a node's memory, seen from the cores.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Socket {
    /// the cores' own socket
    #[default]
    Own,
    /// behind the socket-to-socket link
    Other,
}

/// All links between two sockets as one wire a direction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SocketLinkSpec {
    /// links side by side
    pub links: Sourced<u32>,
    /// one direction of one link, raw `[GB/s]`
    pub bandwidth: Sourced<Bandwidth>,
    /// a message without data on the wire `[B]`
    pub request: Sourced<Bytes>,
    /// a message with a line on the wire `[B]`
    pub data: Sourced<Bytes>,
    /// link agents and wire, one way, without serialisation `[ns]`
    pub flight: Sourced<Time>,
    /// the other socket's mesh between the link and its memory controllers and root ports, each way `[ns]`
    pub mesh: Sourced<Time>,
    /// where the other socket's home agent notes that a line of its DDR is owned here
    pub directory: Sourced<Directory>,
    /// at the other socket's home agent, before its DDR is read: directory and snoop filter. Memory that may be cached
    /// on both sockets also waits for the answer (MICRO'23 O1 to O3) `[ns]`
    pub coherence_check: Sourced<Time>,
    pub remote_snoop_filter: RemoteSnoopFilterSpec,
}

/// Where a home agent keeps its directory of lines that another socket may own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Directory {
    /// in bits beside each line in the DRAM: a read for ownership writes its line back with them changed
    InMemory,
    /// in a table on the die: no traffic
    OnDie,
}

/// A table of accesses to the CXL memory of the other socket. EuroSys'24, 3.2, suspects it of the low bandwidth.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RemoteSnoopFilterSpec {
    /// lines tracked at once, from the arrival at the other socket until the answer leaves `[entries]`
    pub entries: Sourced<u32>,
    /// look-up and allocation, before the root port `[ns]`
    pub look_up: Sourced<Time>,
}

impl SocketLinkSpec {
    /// Time for which a message of `bytes` keeps a direction busy.
    #[must_use]
    pub fn serialise(&self, bytes: Bytes) -> Time {
        // The bandwidths of all links add up.
        let one = bytes / *self.bandwidth;
        Time::from_ps(one.as_ps().div_ceil(u64::from(*self.links)))
    }

    pub(crate) fn check(&self) -> Result<(), String> {
        for (key, value) in [("links", *self.links), ("remote_snoop_filter.entries", *self.remote_snoop_filter.entries)]
        {
            if !(1..=4096).contains(&value) {
                return Err(format!("socket_link.{key} = {value}; valid: 1 to 4096"));
            }
        }
        if *self.data <= *self.request {
            let (data, request) = (*self.data, *self.request);
            return Err(format!("socket_link.data = {data}; valid: more than socket_link.request = {request}"));
        }
        Ok(())
    }
}

statistics! {
    /// Statistics of the link and the remote snoop filter.
    pub struct SocketLinkStats {
        out_messages: Counter [Requests] "messages to the other socket",
        back_messages: Counter [Requests] "messages from the other socket",
        out_busy: Span [Nanoseconds] "mean time of a message on the wire to the other socket",
        back_busy: Span [Nanoseconds] "mean time of a message on the wire from the other socket",
        directory_writes: Counter [Lines] "lines written again with their directory bits, at DDR of the other socket",
        snoop_filter_full: Counter [Events] "accesses that found the remote snoop filter full",
    }
}

/// The two wires of the link, and the remote snoop filter.
#[derive(Clone)]
pub struct SocketLink {
    out: Server,
    back: Server,
    /// time of a message without and with data on a wire
    request: Time,
    data: Time,
    flight: Time,
    /// the other socket's mesh, from the link to its memory and back
    mesh: Time,
    directory: Directory,
    /// latency before DDR of the other socket
    coherence_check: Time,
    /// latency before CXL memory of the other socket
    look_up: Time,
    snoop_filter: Credits<RequestKey>,
    pub stats: SocketLinkStats,
}

impl SocketLink {
    pub fn new(spec: &SocketLinkSpec) -> SocketLink {
        SocketLink {
            out: Server::default(),
            back: Server::default(),
            request: spec.serialise(*spec.request),
            data: spec.serialise(*spec.data),
            flight: *spec.flight,
            mesh: *spec.mesh,
            directory: *spec.directory,
            coherence_check: *spec.coherence_check,
            look_up: *spec.remote_snoop_filter.look_up,
            snoop_filter: Credits::new(*spec.remote_snoop_filter.entries),
            stats: SocketLinkStats::default(),
        }
    }

    /// Sends a message to the other socket at `now`. Returns when it is there.
    pub fn send_out(&mut self, now: Time, data: bool) -> Time {
        let busy = if data { self.data } else { self.request };
        self.stats.out_messages.increment();
        self.stats.out_busy.record(busy);
        self.out.reserve(now, busy) + busy + self.flight
    }

    /// Sends a message back at `now`. Returns when it is here.
    pub fn send_back(&mut self, now: Time, data: bool) -> Time {
        let busy = if data { self.data } else { self.request };
        self.stats.back_messages.increment();
        self.stats.back_busy.record(busy);
        self.back.reserve(now, busy) + busy + self.flight
    }
}

impl Home {
    fn link(&mut self) -> &mut SocketLink {
        self.socket_link.as_mut().expect("a node of the other socket has a link")
    }

    /// Sends a request over the socket-to-socket link.
    pub(super) fn cross<Q: Queue>(&mut self, now: Time, key: RequestKey, queue: &mut Q) {
        let data = self.requests[key].op.is_write();
        let there = self.link().send_out(now, data);
        let request = &mut self.requests[key];
        request.stamp(Stage::HomeToMemory, now);
        request.stamp(Stage::SocketLinkOut, there);
        queue.schedule(there, Event::RemoteHome(key));
    }

    /// Handles a request that reaches the other socket's home agent.
    pub(super) fn remote_home<Q: Queue>(&mut self, now: Time, key: RequestKey, queue: &mut Q) {
        let cxl = self.nodes[usize::from(self.requests[key].node.0)].cxl;
        let link = self.link();
        if !cxl {
            let (known, there) = (now + link.coherence_check, now + link.coherence_check + link.mesh);
            self.acknowledge(known, key, queue);
            queue.schedule(there, Event::Memory(key));
        } else if link.snoop_filter.take(key) == Grant::Now {
            self.tracked(now, key, queue);
        } else {
            link.stats.snoop_filter_full.increment();
        }
    }

    /// Sends on a request that has an entry of the remote snoop filter.
    fn tracked<Q: Queue>(&mut self, now: Time, key: RequestKey, queue: &mut Q) {
        let link = self.link();
        let (known, there) = (now + link.look_up, now + link.look_up + link.mesh);
        self.acknowledge(known, key, queue);
        queue.schedule(there, Event::Memory(key));
    }

    /// The other socket's home agent has the data of a write at `at`. An acknowledgement goes back to the core that
    /// waits for it.
    fn acknowledge<Q: Queue>(&mut self, at: Time, key: RequestKey, queue: &mut Q) {
        let Some(asker) = self.requests[key].answers.take() else { return };
        let crossed = self.requests[key].last();
        let asker_request = &mut self.requests[asker];
        asker_request.stamp(Stage::SocketLinkOut, crossed);
        asker_request.stamp(Stage::RemoteHome, at);
        queue.schedule(at, Event::CrossBack(asker));
    }

    /// Handles an answer of the other socket's memory.
    pub(super) fn remote_answered<A: Around>(&mut self, now: Time, key: RequestKey, around: &mut A) {
        let Request { op, node, .. } = self.requests[key];
        if op == Op::Directory {
            self.requests.remove(key);
            return;
        }
        let cxl = self.nodes[usize::from(node.0)].cxl;
        let link = self.link();
        around.schedule(now + link.mesh, Event::CrossBack(key));
        if cxl {
            if let Some(next) = link.snoop_filter.give_back() {
                self.tracked(now, next, around);
            }
        } else if op == Op::Own && link.directory == Directory::InMemory {
            link.stats.directory_writes.increment();
            self.note_owner(now, key, around);
        }
    }

    /// Writes the line that `key` reads for ownership back into its memory, with its directory bits set.
    fn note_owner<A: Around>(&mut self, now: Time, key: RequestKey, around: &mut A) {
        let request = &self.requests[key];
        let note = Request::new(request.line, Op::Directory, request.by, request.home(), now);
        let note = self.requests.insert(note);
        self.access_memory(now, note, AccessKind::Write, Extent::Line, around);
    }

    /// Sends an answer back over the socket-to-socket link.
    pub(super) fn cross_back<Q: Queue>(&mut self, now: Time, key: RequestKey, queue: &mut Q) {
        let data = self.requests[key].op.brings_line();
        let here = self.link().send_back(now, data);
        self.requests[key].stamp(Stage::SocketLinkBack, here);
        self.go_home(here, key, queue);
    }
}
