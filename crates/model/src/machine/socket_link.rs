//! The way to the other socket: one wire a direction, and what its home agent keeps of accesses to its CXL memory.
//!
//! ```text
//!   home -> mesh -> [ out wire ] -> remote home: coherence check (DDR) | remote snoop filter entry (CXL) -> memory
//!   home <- mesh <- [ back wire ] <----------------------------------------------------------------------------+
//! ```
//!
//! Not modelled: flow control of the link, traffic of other protocols, snoops that the other socket sends here.

use cxlab_kernel::{Credits, Server, Time, statistics};

use crate::config::SocketLinkSpec;
use crate::core::RequestKey;

statistics! {
    /// What the link and the remote snoop filter tell.
    pub struct SocketLinkStats {
        out_messages: Counter [Requests] "messages to the other socket",
        back_messages: Counter [Requests] "messages from the other socket",
        out_busy: Span [Nanoseconds] "mean time of a message on the wire to the other socket",
        back_busy: Span [Nanoseconds] "mean time of a message on the wire from the other socket",
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
