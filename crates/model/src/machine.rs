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
//! Not modelled: cores of the other socket, snoops between cores.

mod home;
mod node;
mod port;
mod ports;
mod socket_link;

use cxlab_kernel::{EventQueue, Grant, Slab, Time};

use crate::addr::Hpa;
use crate::config::{CoreSpec, MachineSpec};
use crate::core::{Core, Pause, RequestKey};
use crate::cxl;
use crate::dram;
use crate::error::ModelError;
use crate::frontend::Feed;
use crate::request::{CoreId, NodeId, Op, Request, Stage};

pub use home::AddressRange;
pub use node::{NodeStats, StageTimes};
pub use port::PortStats;
pub use socket_link::SocketLinkStats;

use home::Home;
use node::Node;
use port::{Port, PortId};
use socket_link::SocketLink;

/// What happens next in a machine.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Event {
    /// a core goes on
    Resume(CoreId),
    /// a request reaches the home agent and the LLC
    Home(RequestKey),
    /// a request reaches the link to the other socket
    Cross(RequestKey),
    /// a request reaches the home agent of the other socket
    RemoteHome(RequestKey),
    /// a request reaches its memory controller or root port
    Memory(RequestKey),
    /// a channel asked to be woken
    Channel(PortId, dram::Wake),
    /// a CXL path asked to be woken
    Expander(PortId, cxl::Wake),
    /// a request reaches the channels behind its device
    Media(RequestKey),
    /// the channels behind the device are done with it
    MediaDone(RequestKey),
    /// the memory has answered, or the device
    Answered(RequestKey),
    /// an answer reaches the link back from the other socket
    CrossBack(RequestKey),
    /// a changed line has left the LLC
    Evicted(RequestKey),
    /// a line is back at its core
    Fill(RequestKey),
    /// a changed line is in its memory
    Written(RequestKey),
}

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

/// Everything that cores share.
pub(crate) struct Shared {
    queue: EventQueue<Event>,
    requests: Slab<Request>,
    home: Home,
    nodes: Vec<Node>,
    ports: Vec<Port>,
    socket_link: Option<SocketLink>,
}

impl Machine {
    /// A machine at rest with `cores` cores, whose nodes are at these host physical addresses.
    pub fn new(spec: MachineSpec, cores: u16, ranges: &[AddressRange]) -> Result<Machine, ModelError> {
        let each = vec![spec.host.core.clone(); usize::from(cores)];
        Machine::with_cores(spec, &each, ranges)
    }

    /// As [`Machine::new`], with cores that may differ.
    pub fn with_cores(spec: MachineSpec, cores: &[CoreSpec], ranges: &[AddressRange]) -> Result<Machine, ModelError> {
        let inconsistent = |cause| ModelError::Inconsistent { file: spec.name.clone(), cause };
        let core = |(id, core): (usize, &CoreSpec)| {
            let host = crate::config::HostSpec { core: core.clone(), ..spec.host.clone() };
            Core::new(CoreId(id as u16), &host).map_err(inconsistent)
        };
        let cores = cores.iter().enumerate().map(core).collect::<Result<Vec<_>, _>>()?;
        let mut ports = Vec::new();
        let node = |node| Node::new(&spec, node, &mut ports);
        let nodes = spec.nodes.iter().map(node).collect::<Result<Vec<_>, _>>().map_err(inconsistent)?;
        let home = Home::new(&spec, ranges).map_err(inconsistent)?;
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
            event => self.shared.happen(now, event),
        }
        Ok(())
    }

    /// Have a line in `core`'s caches, and what leaves for it in the LLC, as if it had been touched before.
    pub fn warm(&mut self, core: usize, line: Hpa, store: bool) {
        for victim in self.cores[core].warm(line, store).into_iter().flatten() {
            let _written_before_time_began = self.shared.home.take_in(victim);
        }
    }

    /// Let statistics of nodes, ports and links begin here.
    pub fn clear_stats(&mut self, now: Time) {
        self.since = now;
        self.loads.fill(CoreLoads::default());
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
        self.cores[core].fill(request.line, request.op, latency, now, &mut self.shared)?;
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

impl Shared {
    fn happen(&mut self, now: Time, event: Event) {
        match event {
            Event::Home(key) => self.look_up(now, key),
            Event::Cross(key) => self.cross(now, key),
            Event::RemoteHome(key) => self.remote_home(now, key),
            Event::Memory(key) => self.arrive(now, key),
            Event::Channel(port, wake) => self.channel_wake(now, port, wake),
            Event::Expander(port, wake) => self.expander_wake(now, port, wake),
            Event::Media(key) => self.media(now, key),
            Event::MediaDone(key) => self.media_done(now, key),
            Event::Answered(key) => self.answered(now, key),
            Event::CrossBack(key) => self.cross_back(now, key),
            Event::Evicted(key) => self.enter_table(now, key),
            Event::Written(key) => {
                let request = self.requests.remove(key);
                self.give_back_entry(now, request.node);
            }
            Event::Resume(_) | Event::Fill(_) => unreachable!("the machine takes these itself"),
        }
    }

    /// The home agent: the LLC has the line, or its memory is asked.
    fn look_up(&mut self, now: Time, key: RequestKey) {
        let request = &mut self.requests[key];
        request.stamp(Stage::ToHome, now);
        if request.op != Op::NonTemporal && self.home.look_up(request.line) {
            let back = now + self.home.from_home;
            request.stamp(Stage::FromHome, back);
            self.queue.schedule(back, Event::Fill(key));
        } else {
            self.enter_table(now, key);
        }
    }

    /// Take an entry of the table of requests, or wait for one.
    fn enter_table(&mut self, now: Time, key: RequestKey) {
        let node = usize::from(self.requests[key].node.0);
        if self.nodes[node].table.take(key) == Grant::Now {
            self.entered(now, key);
        }
    }

    /// The request has an entry. A non-temporal store leaves its line there and is done: the home writes it.
    fn entered(&mut self, now: Time, key: RequestKey) {
        let request = &mut self.requests[key];
        if request.op != Op::NonTemporal {
            return self.leave_home(now, key);
        }
        let back = now + self.home.from_home;
        request.stamp(Stage::HomeQueue, now);
        request.stamp(Stage::FromHome, back);
        let posted = Request::new(request.line, Op::WriteBack, request.core, request.node, now);
        self.queue.schedule(back, Event::Fill(key));
        let posted = self.requests.insert(posted);
        self.leave_home(now, posted);
    }

    /// A request of `node` is done: the next one has its entry.
    fn give_back_entry(&mut self, now: Time, node: NodeId) {
        if let Some(next) = self.nodes[usize::from(node.0)].table.give_back() {
            self.entered(now, next);
        }
    }

    /// A changed line leaves the LLC for its memory.
    fn write_back(&mut self, line: crate::addr::Hpa, at: Time) {
        let node = self.home.node(line).expect("a cached line has a memory");
        let request = Request::new(line, Op::WriteBack, CoreId(0), node, at);
        let key = self.requests.insert(request);
        self.queue.schedule(at, Event::Evicted(key));
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
