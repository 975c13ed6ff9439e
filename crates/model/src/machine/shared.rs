//! What cores share: the home, the memories and what is under way between them.
//!
//! The one place where an event of the memory system finds its part; the home agent's own steps are here, those behind
//! it in `ports.rs`, `snoops.rs` and `socket_link.rs`.

use cxlab_kernel::{EventQueue, Grant, Slab, Time};

use super::home::Home;
use super::node::Node;
use super::port::{Port, PortId};
use super::socket_link::SocketLink;
use crate::config::Socket;
use crate::core::RequestKey;
use crate::cxl;
use crate::dram;
use crate::request::{CoreId, NodeId, Op, Request, Stage};
use crate::translation::PageTables;

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
    /// a CXL link is trained anew
    Retrain(PortId, cxl::Lanes, cxl::LinkRate),
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

/// Everything that cores share.
pub(crate) struct Shared {
    pub(super) queue: EventQueue<Event>,
    pub(super) requests: Slab<Request>,
    pub(super) home: Home,
    pub(super) nodes: Vec<Node>,
    pub(super) ports: Vec<Port>,
    pub(super) socket_link: Option<SocketLink>,
    pub(super) tables: PageTables,
}

impl Shared {
    pub(super) fn happen(&mut self, now: Time, event: Event) {
        match event {
            Event::Cross(key) => self.cross(now, key),
            Event::RemoteHome(key) => self.remote_home(now, key),
            Event::Memory(key) => self.arrive(now, key),
            Event::Channel(port, wake) => self.channel_wake(now, port, wake),
            Event::Expander(port, wake) => self.expander_wake(now, port, wake),
            Event::Retrain(port, lanes, rate) => self.retrain(now, port, lanes, rate),
            Event::Media(key) => self.media(now, key),
            Event::MediaDone(key) => self.media_done(now, key),
            Event::Answered(key) => self.answered(now, key),
            Event::CrossBack(key) => self.cross_back(now, key),
            Event::Evicted(key) => self.enter_table(now, key),
            Event::Written(key) => {
                let request = self.requests.remove(key);
                self.give_back_entry(now, request.node);
            }
            Event::Resume(_) | Event::Home(_) | Event::Fill(_) => unreachable!("the machine takes these itself"),
        }
    }

    /// The LLC has the line, or its memory is asked, or written; `snooped` is when other cores have answered.
    pub(super) fn fetch(&mut self, now: Time, snooped: Time, key: RequestKey) {
        let request = &mut self.requests[key];
        let Request { op, line, slice, .. } = *request;
        let done = match op {
            Op::Load | Op::Own | Op::Walk | Op::Prefetch(_) => self.home.look_up(slice, line),
            // Nothing of what the LLC has of it is worth anything.
            Op::NonTemporal => {
                self.home.forget(slice, line);
                false
            }
            Op::NonTemporalPart => {
                if self.home.forget(slice, line) {
                    self.write_back(line, now);
                }
                false
            }
            Op::Flush => !self.home.forget(slice, line),
            Op::Clean => !self.home.clean(slice, line),
            Op::WriteBack | Op::PartialWrite | Op::Directory => unreachable!("home agents send these"),
        };
        if done { self.answer_core(snooped, key) } else { self.enter_table(now, key) }
    }

    /// The line, or the right to change it, goes from the home agent to the core.
    pub(super) fn answer_core(&mut self, now: Time, key: RequestKey) {
        let request = &mut self.requests[key];
        let back = now + self.home.mesh.to_core(request.core, request.slice);
        request.stamp(Stage::Snoop, now);
        request.stamp(Stage::FromHome, back);
        self.queue.schedule(back, Event::Fill(key));
    }

    /// Take an entry of the table of requests, or wait for one.
    pub(super) fn enter_table(&mut self, now: Time, key: RequestKey) {
        let node = usize::from(self.requests[key].node.0);
        if self.nodes[node].table.take(key) == Grant::Now {
            self.entered(now, key);
        }
    }

    /// The request has an entry. What is written leaves its data there and is done, if the home agent is its line's own:
    /// it writes it. A line of the other socket is ordered by the home agent there, which has to say that it has it
    /// (Loughlin et al., MOESI-prime, ISCA 2022: coherence among sockets is the home socket's).
    fn entered(&mut self, now: Time, key: RequestKey) {
        let request = &mut self.requests[key];
        let op = match request.op {
            Op::NonTemporal | Op::Flush | Op::Clean => Op::WriteBack,
            Op::NonTemporalPart => Op::PartialWrite,
            Op::Load | Op::Own | Op::Walk | Op::Prefetch(_) | Op::WriteBack | Op::PartialWrite => {
                return self.leave_home(now, key);
            }
            Op::Directory => unreachable!("its memory's home agent sends this"),
        };
        request.stamp(Stage::HomeQueue, now);
        let mut posted = Request::new(request.line, op, request.core, request.home(), now);
        if self.nodes[usize::from(posted.node.0)].socket == Socket::Other {
            posted.answers = Some(key);
        } else {
            self.answer_core(now, key);
        }
        let posted = self.requests.insert(posted);
        self.leave_home(now, posted);
    }

    /// A request of `node` is done: the next one has its entry.
    pub(super) fn give_back_entry(&mut self, now: Time, node: NodeId) {
        if let Some(next) = self.nodes[usize::from(node.0)].table.give_back() {
            self.entered(now, next);
        }
    }

    /// A changed line leaves the LLC for its memory.
    pub(super) fn write_back(&mut self, line: crate::addr::Hpa, at: Time) {
        let home = self.home.of(line).expect("a cached line has a memory");
        let request = Request::new(line, Op::WriteBack, CoreId(0), home, at);
        let key = self.requests.insert(request);
        self.queue.schedule(at, Event::Evicted(key));
    }
}
