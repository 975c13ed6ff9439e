//! The home agents: they find the memory of a line and the cores with a copy, and serve requests between cores and fabric.
//!
//! ```text
//!   core A --Own--> home agent: snoop filter says B has it --Invalidate--> B's L2
//!      ^                |                                                     |
//!      |                | LLC? table of requests -> [other socket] -> fabric  |
//!      '----------------+------- the line, changed or not --------------------'
//! ```
//!
//! The protocol is MESI with a snoop filter. The filter knows of every line in any L2, because cores also report clean
//! victims. A home agent serves one request per line at a time, until the line is at its core. Other requests for the
//! line wait in their order, so no snoop meets a line on its way. CXL memory needs no more than this filter, because no
//! cache of a device can change its lines.
//!
//! [`Event`] lists the events. [`Around`] has the services that the home agents need around them. Not modelled:
//! back-invalidation by a full filter, the F and O states, snoops from the other socket.

mod address_map;
mod agent;
mod answer;
mod at_memory;
mod copies;
mod cores;
mod filter;
mod from_core;
mod lines;
mod mesh;
mod protocol;
mod region;
mod remote;
mod requests;
mod shares;
mod snoops;
mod spec;
mod stats;
mod targets;
mod to_memory;
mod write_buffers;

use cxlab_kernel::{Slab, Time};

use crate::addr::Hpa;
use crate::cache::{ClusterId, LlcSpec, SliceHash, Slices, Snoop};
use crate::fabric::WayId;
use crate::mem::{Access, Extent};
use crate::request::{CoreId, NodeId, Request, RequestKey};

pub use address_map::AddressRange;
pub use cores::Cores;
pub use filter::{Asked, SnoopFilter};
pub use mesh::{Floorplan, Mesh};
pub use protocol::{Answer, Ask, Presence, Source, answer};
pub use region::Region;
pub use remote::{Directory, RemoteSnoopFilterSpec, Socket, SocketLinkSpec, SocketLinkStats};
pub use spec::{HomeSpec, MeshSpec};
pub use stats::{NodeStats, StageTimes};
pub use targets::{Behind, Decode};

use address_map::AddressMap;
use remote::SocketLink;
pub use requests::Occupancy;
use requests::Tables;
use stats::NodeCounts;
use targets::Targets;
use write_buffers::WriteBuffers;

/// An event at the home agents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// a request reaches the home agent and the LLC
    Home(RequestKey),
    /// a request that waited has got its entry of its slice's table
    Entered(RequestKey),
    /// a request reaches the link to the other socket
    Cross(RequestKey),
    /// a request reaches the home agent of the other socket
    RemoteHome(RequestKey),
    /// a request reaches its memory controller or root port
    Memory(RequestKey),
    /// the memory or the device has answered
    Answered(RequestKey),
    /// an answer reaches the link back from the other socket
    CrossBack(RequestKey),
    /// a changed line has left the LLC
    Evicted(RequestKey),
    /// a non-temporal store's line has a write buffer of its slice
    Buffered(RequestKey),
    /// a changed line is in its memory
    Written(RequestKey),
    /// a line is back at its core
    Fill(RequestKey),
    /// the core has given up a victim of its L2, which had waited for an entry of its slice's table
    Pulled(CoreId),
}

/// A queue for the events of the home agents.
pub trait Queue {
    /// Schedules a call of [`Home::step`] with `event` at `at`.
    fn schedule(&mut self, at: Time, event: Event);
}

/// The services that the home agents need around them.
pub trait Around: Queue {
    /// Sends an access into the fabric. Its stages are stamped on the request that its tag names. Its end is
    /// [`Event::Answered`].
    fn enter(&mut self, now: Time, way: WayId, access: Access, extent: Extent, requests: &mut Slab<Request>);

    /// Sets a core's copy of a line to the state in `left`. Returns whether the copy was changed; `None` if the core
    /// had no copy.
    fn snoop(&mut self, core: CoreId, line: Hpa, left: Snoop) -> Option<bool>;

    /// A core gets the ownership of a line, ahead of all requests for it that are looked up from now on.
    fn orders(&mut self, core: CoreId, line: Hpa);
}

/// Parts of a machine that its home agents are made from.
pub struct HomeParts<'a> {
    pub plan: Floorplan<'a>,
    pub spec: &'a HomeSpec,
    pub socket_link: Option<&'a SocketLinkSpec>,
    /// latency of an L2 look-up for a snoop
    pub snooped: Time,
    /// lines that the L2 of a core holds
    pub private_lines: u64,
    pub nodes: Vec<NodeParts>,
}

/// Parts that the home agents of a node are made from.
pub struct NodeParts {
    pub socket: Socket,
    /// cluster whose LLC slices hold the node's lines
    pub cluster: Option<ClusterId>,
    /// whether the memory is reached over CXL
    pub cxl: bool,
    pub behind: Behind,
}

/// A node, as its home agents see it.
#[derive(Clone)]
struct Node {
    socket: Socket,
    cxl: bool,
    counts: NodeCounts,
}

/// All home agents of the socket, with the LLC and the other socket's half.
#[derive(Clone)]
pub struct Home {
    map: AddressMap,
    targets: Targets,
    llc: Slices,
    /// cores with a copy of each line; a machine of one core needs no filter
    filter: Option<SnoopFilter>,
    snooped: Time,
    /// counts of the LLC's look-ups
    hits: u64,
    misses: u64,
    /// from the home agents to a memory controller or a root port, and back
    to_memory: Time,
    /// distances between cores and slices
    mesh: Mesh,
    nodes: Vec<Node>,
    tables: Tables,
    write_buffers: WriteBuffers,
    socket_link: Option<SocketLink>,
    requests: Slab<Request>,
}

impl Home {
    /// # Errors
    /// Names the part that is not possible.
    pub fn new(parts: HomeParts<'_>, cores: u16, ranges: &[AddressRange]) -> Result<Home, String> {
        if cores > Cores::MOST {
            return Err(format!("{cores} cores; valid: 1 to {}", Cores::MOST));
        }
        let HomeParts { plan, spec, socket_link, snooped, private_lines, nodes } = parts;
        let clusters: Vec<_> = nodes.iter().map(|node| node.cluster).collect();
        let (nodes, behind): (Vec<_>, Vec<_>) = nodes
            .into_iter()
            .map(|node| {
                let NodeParts { socket, cxl, behind, .. } = node;
                (Node { socket, cxl, counts: NodeCounts::default() }, behind)
            })
            .unzip();
        let llc: &LlcSpec = plan.llc;
        let map = AddressMap::new(ranges, &clusters, SliceHash::new(llc, plan.clusters))?;
        Ok(Home {
            targets: Targets::new(&map, behind),
            map,
            llc: Slices::new(llc)?,
            filter: (cores > 1).then(|| SnoopFilter::new((private_lines * u64::from(cores)) as usize)),
            snooped,
            hits: 0,
            misses: 0,
            to_memory: *plan.mesh.home_to_memory,
            mesh: Mesh::new(&plan)?,
            write_buffers: WriteBuffers::new(spec, *llc.slices as usize, cores as usize),
            tables: Tables::new(spec, *llc.slices as usize, cores as usize, nodes.len()),
            nodes,
            socket_link: socket_link.map(SocketLink::new),
            requests: Slab::new(),
        })
    }

    /// Handles an event of the home agents that is due.
    pub fn step<A: Around>(&mut self, now: Time, event: Event, around: &mut A) {
        match event {
            Event::Home(key) => self.reach(now, key, around),
            Event::Entered(key) => self.entered(now, key, around),
            Event::Cross(key) => self.cross(now, key, around),
            Event::RemoteHome(key) => self.remote_home(now, key, around),
            Event::Memory(key) => self.arrive(now, key, around),
            Event::Answered(key) => self.answered(now, key, around),
            Event::CrossBack(key) => self.cross_back(now, key, around),
            Event::Evicted(key) => self.evicted(now, key, around),
            Event::Buffered(key) => self.buffered(now, key, around),
            Event::Written(key) => self.written(now, key, around),
            Event::Fill(_) | Event::Pulled(_) => unreachable!("the core takes it itself"),
        }
    }

    /// No request comes to a home agent sooner after it has left a core.
    pub fn shortest_way(&self) -> Time {
        self.mesh.shortest_way()
    }

    /// Requests under way.
    pub fn requests(&self) -> impl Iterator<Item = &Request> {
        self.requests.iter()
    }

    /// The requests under way, so that the fabric can stamp them.
    pub fn requests_mut(&mut self) -> &mut Slab<Request> {
        &mut self.requests
    }

    /// The ways to a node's memory, in the order of its devices.
    #[must_use]
    pub fn ways(&self, node: NodeId) -> &[WayId] {
        self.targets.ways(node)
    }

    /// Statistics of each node's memory, and the time of its loads by stage.
    pub fn nodes(&self) -> impl Iterator<Item = (&NodeStats, &StageTimes)> {
        self.nodes.iter().map(|node| (&node.counts.stats, &node.counts.stages))
    }

    /// Entries of the slices' tables that each node's requests hold or wait for.
    pub fn tables(&self) -> impl Iterator<Item = Occupancy> {
        self.tables.nodes()
    }

    /// The link to the other socket, if there is one.
    #[must_use]
    pub fn socket_link(&self) -> Option<&SocketLinkStats> {
        self.socket_link.as_ref().map(|link| &link.stats)
    }

    /// LLC look-ups that hit, and those that missed.
    #[must_use]
    pub fn hits_and_misses(&self) -> (u64, u64) {
        (self.hits, self.misses)
    }

    /// Starts all counts again at zero.
    pub fn clear_stats(&mut self) {
        (self.hits, self.misses) = (0, 0);
        self.nodes.iter_mut().for_each(|node| node.counts = NodeCounts::default());
        if let Some(link) = &mut self.socket_link {
            link.stats = SocketLinkStats::default();
        }
    }
}
