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

use super::{Around, Event, Home, HomeSpec, Queue};
use crate::addr::Hpa;
use crate::cache::SliceId;
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
    mine: std::collections::HashMap<(u16, u16), (u32, std::collections::VecDeque<RequestKey>)>,
    most: u32,
    slices: Box<[Slots<Turns<Waiting>>]>,
    nodes: Box<[Occupancy]>,
}

impl Tables {
    pub fn new(spec: &HomeSpec, slices: usize, cores: usize, nodes: usize) -> Tables {
        let slices = (0..slices).map(|_| Slots::in_turns(*spec.requests, cores)).collect();
        Tables { mine: Default::default(), most: std::env::var("CX_MOST").ok().and_then(|v| v.parse().ok()).unwrap_or(99), slices, nodes: vec![Occupancy::default(); nodes].into() }
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
        if request.op != crate::request::Op::WriteBack {
            let mine = self.mine.entry((request.core().0, request.slice.0)).or_default();
            if mine.0 >= self.most {
                mine.1.push_back(key);
                return None;
            }
            mine.0 += 1;
        }
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
    /// Takes an entry for a request at its slice or for a victim of the LLC, or lets it wait for one.
    pub(super) fn enter_table<A: Around>(&mut self, now: Time, key: RequestKey, around: &mut A) {
        match self.tables.take(now, key, &self.requests[key]) {
            Some(at) if at == now => self.entered(now, key, around),
            Some(at) => around.schedule(at, Event::Entered(key)),
            None => {}
        }
    }

    /// A request that waited has an entry.
    pub(super) fn entered_late<A: Around>(&mut self, now: Time, key: RequestKey, around: &mut A) {
        self.tables.nodes[usize::from(self.requests[key].node.0)].waiting -= 1;
        self.entered(now, key, around);
    }

    /// Counts an entry that a request holds.
    #[inline]
    pub(super) fn holds_entry(&mut self, key: RequestKey) {
        let request = &mut self.requests[key];
        request.entered = true;
        self.tables.nodes[usize::from(request.node.0)].held += 1;
    }

    /// Frees an entry and gives free entries to the next waiters.
    pub(super) fn give_back_entry<Q: Queue>(&mut self, now: Time, request: &Request, queue: &mut Q) {
        self.tables.nodes[usize::from(request.node.0)].held -= 1;
        if request.op != crate::request::Op::WriteBack {
            let mine = self.tables.mine.entry((request.core().0, request.slice.0)).or_default();
            mine.0 = mine.0.saturating_sub(1);
            if let Some(next) = mine.1.pop_front() {
                queue.schedule(now, Event::Home(next));
            }
        }
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
        let takes = if std::env::var_os("CX_ONE").is_some() { round_trip } else { round_trip + round_trip };
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
