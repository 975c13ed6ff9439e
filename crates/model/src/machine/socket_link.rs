//! The way to the other socket: one wire a direction, and what its home agent keeps of accesses to its CXL memory.
//!
//! ```text
//!   home -> mesh -> [ out wire ] -> remote home: coherence check (DDR) | remote snoop filter entry (CXL) -> memory
//!   home <- mesh <- [ back wire ] <----------------------------------------------------------------------------+
//! ```
//!
//! The home agent of DDR keeps in the DRAM which lines another socket may own. A line that is read to be owned has
//! come back changed the last time, which cleared its bits: they are set again with a write of the line, which the
//! reader does not wait for. Lines that are only read keep their bits.
//!
//! Not modelled: a cache of the directory, flow control of the link, traffic of other protocols, snoops that the other socket sends here.

use cxlab_kernel::{Credits, Server, Time, statistics};

use crate::config::{Directory, SocketLinkSpec};
use crate::core::RequestKey;

statistics! {
    /// What the link and the remote snoop filter tell.
    pub struct SocketLinkStats {
        out_messages: Counter [Requests] "messages to the other socket",
        back_messages: Counter [Requests] "messages from the other socket",
        out_busy: Span [Nanoseconds] "mean time of a message on the wire to the other socket",
        back_busy: Span [Nanoseconds] "mean time of a message on the wire from the other socket",
        directory_writes: Counter [Lines] "lines written again with their directory bits, at DDR of the other socket",
        snoop_filter_full: Counter [Events] "accesses that found the remote snoop filter full",
    }
}

/// Both wires and the remote snoop filter.
pub struct SocketLink {
    out: Server,
    back: Server,
    /// a message without and with data on a wire
    request: Time,
    data: Time,
    flight: Time,
    /// of the other socket, from the link to its memory and back
    pub mesh: Time,
    pub directory: Directory,
    /// before DDR of the other socket
    pub coherence_check: Time,
    /// before CXL memory of the other socket
    pub look_up: Time,
    pub snoop_filter: Credits<RequestKey>,
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

    /// Send a message to the other socket at `now`: when it is there.
    pub fn send_out(&mut self, now: Time, data: bool) -> Time {
        let busy = if data { self.data } else { self.request };
        self.stats.out_messages.increment();
        self.stats.out_busy.record(busy);
        self.out.reserve(now, busy) + busy + self.flight
    }

    /// Send a message back at `now`: when it is here.
    pub fn send_back(&mut self, now: Time, data: bool) -> Time {
        let busy = if data { self.data } else { self.request };
        self.stats.back_messages.increment();
        self.stats.back_busy.record(busy);
        self.back.reserve(now, busy) + busy + self.flight
    }
}
