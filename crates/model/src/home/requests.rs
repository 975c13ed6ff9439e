//! The tables of requests: a slice's home agent has an entry for each line that it works on, from the look-up to the
//! end.
//!
//! ```text
//!   to the slice -> shares.rs -> [entry | waits for its turn] -> snoop filter, LLC tags -> [memory] -> at the core: free
//!   L2's victim  -> [entry | waits] -> pulled from its core ----------------------------------------> free
//!     if the LLC has to write a line for it:
//!   L2's victim  -> shares.rs -> [entry | waits] -> memory has the LLC's line: free -> pulled from its core
//!   LLC's victim -> [entry | waits] ------------------------------------------------> memory has it: free
//! ```
//!
//! A victim of L2 is pulled when the LLC has room for it. If a changed line has to leave the LLC, the victim's entry and
//! its core's share are that line's until its memory has it. This is an assumption: docs/decisions/entries-per-core.md.
//!
//! A hit of the LLC also holds its entry until the core has the line. Lines of all memories share a slice's table. A
//! prefetch is refused while its slice has no free entry. If a table is full, the cores take turns. This is an
//! assumption: a mesh arbitrates among its sources, and none of Intel's documents says how. Source: Intel, Sapphire
//! Rapids uncore performance monitoring, CHA. Each CHA has a table of requests (TOR), which holds pending hits and
//! misses, of DDR and of CXL memory. It also holds the write-backs of cores (TOR_INSERTS.IA_WBMTOI, IA_WBEFTOE). Not
//! modelled: a victim of L2 takes its entry when it leaves its core, not when it is at the slice. A request for a line
//! that is being served waits with its entry, not before it.

use cxlab_kernel::{Slots, Time, Turns};

use super::shares::Shares;
use super::{Event, Home, HomeSpec, Queue};
use crate::cache::SliceId;
use crate::mem::Stage;
use crate::request::{CoreId, Evicted, Request, RequestKey};

/// Entries of all tables for a node's requests. Victims of L2 are not counted.
#[derive(Clone, Copy, Debug, Default)]
pub struct Occupancy {
    /// entries held
    pub held: u32,
    /// requests that wait for an entry
    pub waiting: usize,
    /// requests that found no free entry, since the beginning
    pub full_events: u64,
}

/// A waiter for an entry.
#[derive(Clone, Copy, Debug)]
enum Waiting {
    Request(RequestKey),
    /// a victim of a core's L2
    Victim(Pull),
}

/// A victim of L2 and its round trip.
#[derive(Clone, Copy, Debug)]
struct Pull {
    core: CoreId,
    /// one round trip between its core and its slice: the request and the pull
    takes: Time,
}

/// The table of each slice.
#[derive(Clone)]
pub struct Tables {
    slices: Box<[Slots<Turns<Waiting>>]>,
    shares: Shares,
    nodes: Box<[Occupancy]>,
}

impl Tables {
    pub fn new(spec: &HomeSpec, slices: usize, cores: usize, nodes: usize) -> Tables {
        let most = spec.requests_of_core.as_ref().map_or(*spec.requests, |most| **most);
        Tables {
            slices: (0..slices).map(|_| Slots::in_turns(*spec.requests, cores)).collect(),
            shares: Shares::new(most, slices, cores),
            nodes: vec![Occupancy::default(); nodes].into(),
        }
    }

    /// Whether a slice has a free entry. A prefetch is refused without one.
    #[inline]
    pub fn has_room(&self, slice: SliceId, at: Time) -> bool {
        self.slices[usize::from(slice.0)].has_room(at)
    }

    /// Entries that each node's requests hold or wait for.
    pub fn nodes(&self) -> impl Iterator<Item = Occupancy> {
        self.nodes.iter().copied()
    }

    /// Takes an entry at `now`. Returns when the request has it; `None` if the request waits.
    #[inline]
    fn take(&mut self, now: Time, key: RequestKey, request: &Request) -> Option<Time> {
        let allowed = !request.has_share() || self.shares.take(request.core(), request.slice, key);
        let at = if allowed { self.take_in_turn(now, key, request) } else { None };
        if at != Some(now) {
            let node = &mut self.nodes[usize::from(request.node.0)];
            node.waiting += 1;
            node.full_events += 1;
        }
        at
    }

    /// Takes an entry for a request that its core's share allows.
    #[inline]
    fn take_in_turn(&mut self, now: Time, key: RequestKey, request: &Request) -> Option<Time> {
        let table = &mut self.slices[usize::from(request.slice.0)];
        let at = table.take(now);
        if at.is_none() {
            table.wait_for_turn(usize::from(request.core().0), Waiting::Request(key));
        }
        at
    }
}

impl Home {
    /// Takes an entry for a request at its slice or for a victim of the LLC. Returns whether it has the entry at once.
    /// If it has to wait, [`Event::Entered`] follows.
    pub(super) fn enter_table<Q: Queue>(&mut self, now: Time, key: RequestKey, queue: &mut Q) -> bool {
        match self.tables.take(now, key, &self.requests[key]) {
            Some(at) if at == now => {
                self.holds_entry(now, key);
                return true;
            }
            Some(at) => queue.schedule(at, Event::Entered(key)),
            None => {}
        }
        false
    }

    /// A request that waited has an entry.
    pub(super) fn has_waited(&mut self, now: Time, key: RequestKey) {
        self.tables.nodes[usize::from(self.requests[key].node.0)].waiting -= 1;
        self.holds_entry(now, key);
    }

    /// Counts an entry that a request holds from `now` on.
    #[inline]
    fn holds_entry(&mut self, now: Time, key: RequestKey) {
        let request = &mut self.requests[key];
        request.stamp(Stage::HomeQueue, now);
        request.entered = true;
        self.tables.nodes[usize::from(request.node.0)].held += 1;
    }

    /// A request no longer uses its core's share of the slice's table. The core's next request does.
    pub(super) fn give_back_share<Q: Queue>(&mut self, now: Time, core: CoreId, slice: SliceId, queue: &mut Q) {
        let Some(next) = self.tables.shares.give_back(core, slice) else { return };
        if let Some(at) = self.tables.take_in_turn(now, next, &self.requests[next]) {
            queue.schedule(at, Event::Entered(next));
        }
    }

    /// Frees an entry and gives free entries to the next waiters.
    pub(super) fn give_back_entry<Q: Queue>(&mut self, now: Time, request: &Request, queue: &mut Q) {
        self.tables.nodes[usize::from(request.node.0)].held -= 1;
        let table = &mut self.tables.slices[usize::from(request.slice.0)];
        table.give_back(now);
        while let Some((next, free)) = table.serve() {
            let at = free.max(now);
            match next {
                Waiting::Request(key) => queue.schedule(at, Event::Entered(key)),
                Waiting::Victim(Pull { core, takes }) => {
                    table.give_back(at + takes);
                    queue.schedule(at + takes, Event::Pulled(core));
                }
            }
        }
    }

    /// A victim of `core` leaves for its slice. Returns when it is pulled; `None` if it waits for an entry or for room in
    /// the LLC, and [`Event::Pulled`] follows.
    pub fn pull<Q: Queue>(&mut self, core: CoreId, evicted: Evicted, at: Time, queue: &mut Q) -> Option<Time> {
        let slice = self.slice(evicted.line);
        if let Some(write) = evicted.room {
            queue.schedule(at + self.mesh.to_home(core, slice), Event::Evicted(write));
            return None;
        }
        let takes = self.mesh.to_home(core, slice) + self.mesh.to_core(core, slice);
        let table = &mut self.tables.slices[usize::from(slice.0)];
        let Some(at) = table.take(at) else {
            table.wait_for_turn(usize::from(core.0), Waiting::Victim(Pull { core, takes }));
            return None;
        };
        table.give_back(at + takes);
        Some(at + takes)
    }

    /// The data of a home agent's write are in the memory. If they left the LLC for a victim of L2, it is pulled now.
    pub(super) fn written<Q: Queue>(&mut self, now: Time, key: RequestKey, queue: &mut Q) {
        let request = self.requests.remove(key);
        self.give_back_entry(now, &request, queue);
        if request.buffered {
            self.give_back_write_buffer(now, request.slice, queue);
        }
        if request.pulls {
            let (core, slice) = (request.core(), request.slice);
            self.give_back_share(now, core, slice, queue);
            queue.schedule(now + self.mesh.to_core(core, slice), Event::Pulled(core));
        }
    }
}
