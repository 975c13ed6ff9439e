//! The tables of requests: a slice's home agent has an entry for each line that it works on, from the look-up to the
//! end.
//!
//! ```text
//!   to the slice -> [entry | waits for its turn] -> snoop filter, LLC tags -> [memory] -> at the core: the entry is free
//!   L2's victim  -> [entry | waits] -> pulled from its core ---------------------------------> the entry is free
//!   LLC's victim -> [entry | waits] -----------------------------------------> memory has it: the entry is free
//! ```
//!
//! A hit of the LLC also holds its entry until the core has the line. Lines of all memories share a slice's table. A
//! prefetch is refused while its slice has no free entry. If a table is full, the cores take turns. This is an
//! assumption: a mesh arbitrates among its sources, and none of Intel's documents says how. Source: Intel, Sapphire
//! Rapids uncore performance monitoring, CHA. Each CHA has a table of requests (TOR), which holds pending hits and
//! misses, of DDR and of CXL memory. It also holds the write-backs of cores (TOR_INSERTS.IA_WBMTOI, IA_WBEFTOE). Not
//! modelled: a victim of L2 takes its entry when it leaves its core, not when it is at the slice. A request for a line
//! that is being served waits with its entry, not before it.

use cxlab_kernel::{Slots, Time, Turns};

use super::{Event, Home, HomeSpec, Queue};
use crate::addr::Hpa;
use crate::cache::SliceId;
use crate::mem::Stage;
use crate::request::{CoreId, Request, RequestKey};

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

/// A victim of L2 and its round trips.
#[derive(Clone, Copy, Debug)]
struct Pull {
    core: CoreId,
    /// two round trips between its core and its slice: the request and the pull, then the data and the acknowledgement
    takes: Time,
}

/// The table of each slice.
#[derive(Clone)]
pub struct Tables {
    slices: Box<[Slots<Turns<Waiting>>]>,
    nodes: Box<[Occupancy]>,
}

impl Tables {
    pub fn new(spec: &HomeSpec, slices: usize, cores: usize, nodes: usize) -> Tables {
        let slices = (0..slices).map(|_| Slots::in_turns(*spec.requests, cores)).collect();
        Tables { slices, nodes: vec![Occupancy::default(); nodes].into() }
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
        let node = &mut self.nodes[usize::from(request.node.0)];
        let table = &mut self.slices[usize::from(request.slice.0)];
        let at = table.take(now);
        if at.is_none() {
            table.wait_for_turn(usize::from(request.core().0), Waiting::Request(key));
        }
        if at != Some(now) {
            node.waiting += 1;
            node.full_events += 1;
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

    /// A victim of `core` leaves for its slice. Returns when it is pulled; `None` if it waits for an entry, and
    /// [`Event::Pulled`] follows.
    pub fn pull(&mut self, core: CoreId, line: Hpa, at: Time) -> Option<Time> {
        let slice = self.slice(line);
        let round_trip = self.mesh.to_home(core, slice) + self.mesh.to_core(core, slice);
        let takes = round_trip + round_trip;
        let table = &mut self.tables.slices[usize::from(slice.0)];
        let Some(at) = table.take(at) else {
            table.wait_for_turn(usize::from(core.0), Waiting::Victim(Pull { core, takes }));
            return None;
        };
        table.give_back(at + takes);
        Some(at + takes)
    }

    /// The data of a home agent's write are in the memory.
    pub(super) fn written<Q: Queue>(&mut self, now: Time, key: RequestKey, queue: &mut Q) {
        let request = self.requests.remove(key);
        self.give_back_entry(now, &request, queue);
    }
}
