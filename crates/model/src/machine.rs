//! The machine: its fields are the block diagram.
//!
//! ```text
//!   cores --requests--> home: LLC, which node? --+--> node dram: channels
//!     ^                 table of requests        +--> node cxl: root port, link, device --> channels behind it
//!     |                                          +--> socket link --> remote home --> a node of the other socket
//!     +------------------- fills ----------------+
//! ```
//!
//! The one place where `dram` and `cxl` meet. A read of DRAM costs four events of its own (home, memory, answer,
//! fill) and what the channels ask for; a CXL read two more, the other socket three. Cores are of one socket.
//! Not modelled: cores of the other socket.

mod home;
mod mesh;
mod node;
mod port;
mod ports;
mod shared;
mod snoops;
mod socket_link;

use cxlab_kernel::{EventQueue, Slab, Time};

use crate::addr::Hpa;
use crate::config::MachineSpec;
use crate::core::{Core, Pause, RequestKey};
use crate::error::ModelError;
use crate::frontend::Feed;
use crate::request::{CoreId, NodeId, Op, Request, Stage};

pub use home::AddressRange;
pub(crate) use mesh::Mesh;
pub use node::{NodeStats, StageTimes};
pub use port::PortStats;
pub use socket_link::SocketLinkStats;

use home::Home;
use node::Node;
use port::Port;
use socket_link::SocketLink;

pub(crate) use shared::{Event, Shared};

/// A machine at a moment of its time.
pub struct Machine {
    spec: MachineSpec,
    cores: Vec<Core>,
    pauses: Vec<Pause>,
    started: bool,
    /// statistics are of the time since
    since: Time,
    /// and until then
    until: Time,
    /// the loads of each core that reached a memory: how many, and where their time went
    loads: Vec<CoreLoads>,
    shared: Shared,
}

/// The loads of one core that reached a memory.
#[derive(Clone, Debug, Default)]
pub struct CoreLoads {
    pub count: u64,
    pub stages: StageTimes,
}

impl Machine {
    /// A machine at rest with `cores` cores, whose nodes are at these host physical addresses.
    pub fn new(spec: MachineSpec, cores: u16, ranges: &[AddressRange]) -> Result<Machine, ModelError> {
        let inconsistent = |cause| ModelError::Inconsistent { file: spec.name.clone(), cause };
        let core = |id| Core::new(CoreId(id), &spec.host).map_err(inconsistent);
        let cores = (0..cores).map(core).collect::<Result<Vec<_>, _>>()?;
        let mut ports = Vec::new();
        let node = |node| Node::new(&spec, node, &mut ports);
        let nodes = spec.nodes.iter().map(node).collect::<Result<Vec<_>, _>>().map_err(inconsistent)?;
        let home = Home::new(&spec, cores.len() as u16, ranges).map_err(inconsistent)?;
        let pauses = vec![Pause::Behind; cores.len()];
        let loads = vec![CoreLoads::default(); cores.len()];
        let socket_link = spec.socket_link.as_ref().map(SocketLink::new);
        let shared = Shared { queue: EventQueue::new(), requests: Slab::new(), home, nodes, ports, socket_link };
        Ok(Machine { cores, pauses, started: false, since: Time::ZERO, until: Time::ZERO, loads, shared, spec })
    }

    /// Whether a machine of this description can be built.
    pub fn check(spec: &MachineSpec) -> Result<(), String> {
        Core::new(CoreId(0), &spec.host)?;
        for node in &spec.nodes {
            Node::new(spec, node, &mut Vec::new()).map_err(|cause| format!("node {}: {cause}", node.name))?;
        }
        Ok(())
    }

    /// Run each core on its feed until all have ended; `look` sees the machine at sync points.
    pub fn run<F: Feed>(
        &mut self,
        feeds: &mut [F],
        mut look: impl FnMut(&Machine) -> Result<(), ModelError>,
    ) -> Result<(), ModelError> {
        self.start(feeds, &mut look)?;
        while self.pauses.iter().any(|pause| *pause != Pause::Ended) {
            self.next_event(feeds, &mut look)?;
        }
        Ok(())
    }

    /// Run each core on its feed until the events up to `until` have happened; feeds that end before then stay so.
    pub fn run_until<F: Feed>(&mut self, feeds: &mut [F], until: Time) -> Result<(), ModelError> {
        let mut look = |_: &Machine| Ok(());
        self.start(feeds, &mut look)?;
        while self.shared.queue.next_at().is_some_and(|at| at <= until) {
            self.next_event(feeds, &mut look)?;
        }
        if self.shared.queue.is_empty() && self.pauses.iter().any(|pause| matches!(pause, Pause::Blocked(_))) {
            return Err(self.deadlock());
        }
        Ok(())
    }

    /// Let everything come to its end that is under way.
    pub fn drain<F: Feed>(&mut self, feeds: &mut [F]) -> Result<(), ModelError> {
        while !self.shared.queue.is_empty() {
            self.next_event(feeds, &mut |_| Ok(()))?;
        }
        Ok(())
    }

    /// When the last event was.
    #[must_use]
    pub fn last_event(&self) -> Time {
        self.shared.queue.now()
    }

    fn start<F: Feed>(
        &mut self,
        feeds: &mut [F],
        look: &mut impl FnMut(&Machine) -> Result<(), ModelError>,
    ) -> Result<(), ModelError> {
        assert_eq!(feeds.len(), self.cores.len(), "a feed for each core");
        if !std::mem::replace(&mut self.started, true) {
            for core in 0..feeds.len() {
                self.go_on(core, feeds, look)?;
            }
        }
        Ok(())
    }

    fn next_event<F: Feed>(
        &mut self,
        feeds: &mut [F],
        look: &mut impl FnMut(&Machine) -> Result<(), ModelError>,
    ) -> Result<(), ModelError> {
        let Some((now, event)) = self.shared.queue.pop() else { return Err(self.deadlock()) };
        match event {
            Event::Resume(core) => self.go_on(usize::from(core.0), feeds, look)?,
            Event::Fill(key) => {
                let core = self.fill(now, key)?;
                if matches!(self.pauses[core], Pause::Blocked(_)) {
                    self.go_on(core, feeds, look)?;
                }
            }
            Event::Home(key) => self.shared.look_up(now, key, &mut self.cores),
            event => self.shared.happen(now, event),
        }
        Ok(())
    }

    /// Have a line in `core`'s caches, and what leaves for it in the LLC, as if it had been touched before.
    pub fn warm(&mut self, core: usize, line: Hpa, store: bool) {
        if self.cores[core].touches(line, store) {
            return;
        }
        let id = CoreId(core as u16);
        let state = self.shared.claim(line, id, store, &mut self.cores);
        if let Some(victim) = self.cores[core].warm(line, state) {
            if let Some(filter) = &mut self.shared.home.filter {
                filter.left(victim.line, id);
            }
            let _written_before_time_began = self.shared.home.take_in(victim);
        }
    }

    /// Let statistics of cores, nodes, ports and links begin here.
    pub fn clear_stats(&mut self, now: Time) {
        self.since = now;
        self.loads.fill(CoreLoads::default());
        self.cores.iter_mut().for_each(|core| core.stats = crate::core::CoreStats::default());
        self.shared.home.clear_stats();
        self.shared.nodes.iter_mut().for_each(Node::clear_stats);
        self.shared.ports.iter_mut().for_each(Port::clear_stats);
        if let Some(link) = &mut self.shared.socket_link {
            link.stats = SocketLinkStats::default();
        }
    }

    fn go_on<F: Feed>(
        &mut self,
        core: usize,
        feeds: &mut [F],
        look: &mut impl FnMut(&Machine) -> Result<(), ModelError>,
    ) -> Result<(), ModelError> {
        loop {
            let pause = self.cores[core].run(&mut feeds[core], &mut self.shared)?;
            if pause != Pause::Synced {
                self.pauses[core] = pause;
                return Ok(());
            }
            look(self)?;
        }
    }

    fn fill(&mut self, now: Time, key: RequestKey) -> Result<usize, ModelError> {
        let request = self.shared.requests.remove(key);
        let core = usize::from(request.core.0);
        let latency = request.latency(now);
        if request.entered {
            self.shared.nodes[usize::from(request.node.0)].served(&request, latency);
            self.shared.give_back_entry(now, request.node);
            if request.op == Op::Load {
                self.loads[core].count(&request);
            }
        }
        self.shared.served(now, request.line);
        self.cores[core].fill(request.line, request.op, request.grant, latency, now, &mut self.shared)?;
        Ok(core)
    }

    fn deadlock(&self) -> ModelError {
        let blocked = self.pauses.iter().position(|pause| matches!(pause, Pause::Blocked(_)));
        let waits = blocked.map(|core| (core, self.pauses[core]));
        let oldest = self.shared.requests.iter().min_by_key(|request| request.born());
        ModelError::Deadlock {
            who: waits.map_or("a core".into(), |(core, pause)| format!("core {core} ({pause:?})")),
            what: oldest.map_or("nothing that is under way".into(), |request| format!("{request:?}")),
            since: oldest.map_or(self.shared.queue.now(), Request::born),
        }
    }

    #[must_use]
    pub fn spec(&self) -> &MachineSpec {
        &self.spec
    }

    #[must_use]
    pub fn cores(&self) -> &[Core] {
        &self.cores
    }

    /// The machine's time: that of its foremost core.
    #[must_use]
    pub fn now(&self) -> Time {
        self.cores.iter().map(Core::now).max().unwrap_or(Time::ZERO)
    }

    /// What the memory of each node has done, and where its loads spent their time, in the order of the nodes.
    pub fn nodes(&self) -> impl Iterator<Item = (&NodeStats, &StageTimes)> {
        self.shared.nodes.iter().map(|node| (node.stats(), node.stages()))
    }

    /// Of each core, the loads that reached a memory.
    #[must_use]
    pub fn loads(&self) -> &[CoreLoads] {
        &self.loads
    }

    /// The time of statistics ends at `until`: what shares of time are shares of.
    pub fn stop_counting(&mut self, until: Time) {
        self.until = until;
    }

    /// The time that statistics are of.
    #[must_use]
    pub fn counted(&self) -> Time {
        self.until - self.since
    }

    /// The ports of a node in the order of its devices.
    pub fn ports(&self, node: NodeId) -> impl Iterator<Item = PortStats> {
        let elapsed = self.counted();
        self.shared.ports[self.shared.nodes[usize::from(node.0)].ports()].iter().map(move |port| port.stats(elapsed))
    }

    /// Requests that waited for an entry of the home agents' tables, for each node, since the beginning.
    pub fn table_full_events(&self) -> impl Iterator<Item = u64> {
        self.shared.nodes.iter().map(|node| node.table.full_events())
    }

    /// The link to the other socket, if there is one.
    #[must_use]
    pub fn socket_link(&self) -> Option<&SocketLinkStats> {
        self.shared.socket_link.as_ref().map(|link| &link.stats)
    }

    /// Lines that the LLC had, and had not.
    #[must_use]
    pub fn llc_hits_and_misses(&self) -> (u64, u64) {
        self.shared.home.hits_and_misses()
    }
}

impl CoreLoads {
    fn count(&mut self, request: &Request) {
        self.count += 1;
        for (sum, stage) in self.stages.iter_mut().zip(Stage::ALL) {
            *sum += request.span(*stage);
        }
    }
}
