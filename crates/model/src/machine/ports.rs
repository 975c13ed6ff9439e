//! Where requests, channels and CXL paths meet the event queue: each asks, the machine schedules.

use cxlab_kernel::{EventQueue, Grant, Key, Slab, Time};

use super::port::{Port, PortId};
use super::{Event, Shared};
use crate::addr::{Dpa, Hpa};
use crate::cache::Victim;
use crate::config::{Directory, Socket};
use crate::core::{RequestKey, Uncore};
use crate::error::ModelError;
use crate::request::{CoreId, Level, Op, Request, Stage};
use crate::translation::{Mapping, PageId};
use crate::{cxl, dram};

impl Uncore for Shared {
    fn next_event(&self) -> Option<Time> {
        self.queue.next_at()
    }

    fn resume(&mut self, core: CoreId, at: Time) {
        self.queue.schedule(at, Event::Resume(core));
    }

    fn request(&mut self, core: CoreId, line: Hpa, op: Op, born: Time, at: Time) -> Result<RequestKey, ModelError> {
        let home = self.home.of(line).ok_or_else(|| ModelError::NoMemory {
            address: line.get(),
            machine: "that runs".into(),
            ranges: self.home.ranges(),
        })?;
        let mut request = Request::new(line, op, core, home, born);
        request.stamp(Stage::Translation, at);
        Ok(self.requests.insert(request))
    }

    fn mapping(&self, page: PageId) -> Mapping {
        self.tables.mapping(page)
    }

    fn congested(&self, line: Hpa, level: Level) -> bool {
        self.home.of(line).is_none_or(|home| self.nodes[usize::from(home.node.0)].refuses(level))
    }

    fn depart(&mut self, key: RequestKey, at: Time) {
        let request = &mut self.requests[key];
        // A buffer that came free while the address was still being made is not waited for.
        let at = at.max(request.last());
        request.stamp(Stage::FillBuffer, at);
        let to_home = self.home.mesh.to_home(request.core, request.slice);
        self.queue.schedule(at + to_home, Event::Home(key));
    }

    fn victim(&mut self, core: CoreId, victim: Victim, at: Time) {
        if let Some(filter) = &mut self.home.filter {
            filter.left(victim.line, core);
        }
        self.fill_llc(victim, at);
    }

    fn cleaned(&mut self, line: Hpa, at: Time) {
        self.fill_llc(Victim { line, changed: true }, at);
    }
}

/// What a port may do: schedule its events and stamp its requests.
struct Desk<'a> {
    port: PortId,
    queue: &'a mut EventQueue<Event>,
    requests: &'a mut Slab<Request>,
}

/// The channels of a node without CXL.
struct Local<'a>(Desk<'a>);

impl dram::Driver for Local<'_> {
    fn wake(&mut self, at: Time, wake: dram::Wake) {
        self.0.queue.schedule(at, Event::Channel(self.0.port, wake));
    }

    fn done(&mut self, at: Time, tag: dram::Tag) {
        let key = Key::from_index(tag.0);
        self.0.requests[key].stamp(Stage::Media, at);
        self.0.queue.schedule(at, Event::Answered(key));
    }
}

/// The channels behind a device: what is done goes back into the CXL path.
struct Behind<'a>(Desk<'a>);

impl dram::Driver for Behind<'_> {
    fn wake(&mut self, at: Time, wake: dram::Wake) {
        self.0.queue.schedule(at, Event::Channel(self.0.port, wake));
    }

    fn done(&mut self, at: Time, tag: dram::Tag) {
        self.0.queue.schedule(at, Event::MediaDone(Key::from_index(tag.0)));
    }
}

/// A CXL path.
struct Link<'a>(Desk<'a>);

impl cxl::Driver for Link<'_> {
    fn wake(&mut self, at: Time, wake: cxl::Wake) {
        self.0.queue.schedule(at, Event::Expander(self.0.port, wake));
    }

    fn media(&mut self, at: Time, _dpa: Dpa, _kind: cxl::AccessKind, tag: cxl::Tag) {
        self.0.queue.schedule(at, Event::Media(Key::from_index(tag.0)));
    }

    fn stamp(&mut self, tag: cxl::Tag, stage: cxl::Stage, at: Time) {
        let stage = match stage {
            cxl::Stage::RootPortQueue => Stage::RootPortQueue,
            cxl::Stage::HostOut => Stage::HostOut,
            cxl::Stage::LinkM2s => Stage::LinkM2s,
            cxl::Stage::DeviceIn => Stage::DeviceIn,
            cxl::Stage::DeviceQueue => Stage::DeviceQueue,
            cxl::Stage::Media => Stage::Media,
            cxl::Stage::LinkS2m => Stage::LinkS2m,
            cxl::Stage::HostIn => Stage::HostIn,
        };
        self.0.requests[Key::from_index(tag.0)].stamp(stage, at);
    }

    fn done(&mut self, at: Time, tag: cxl::Tag) {
        self.0.queue.schedule(at, Event::Answered(Key::from_index(tag.0)));
    }
}

impl Shared {
    /// A port, and a desk for it to work at.
    fn at_port(&mut self, port: PortId) -> (&mut Port, Desk<'_>) {
        let Shared { queue, requests, ports, .. } = self;
        (&mut ports[usize::from(port.0)], Desk { port, queue, requests })
    }

    fn place(&self, request: &Request) -> (PortId, Dpa) {
        self.nodes[usize::from(request.node.0)].locate(request.line, self.home.offset(request.line))
    }

    /// A request has its entry in the table of requests and leaves for its memory.
    pub(super) fn leave_home(&mut self, now: Time, key: RequestKey) {
        let request = &mut self.requests[key];
        request.stamp(Stage::HomeQueue, now);
        request.entered = true;
        let away = self.nodes[usize::from(request.node.0)].socket == Socket::Other;
        let at = now + self.home.to_memory;
        self.queue.schedule(at, if away { Event::Cross(key) } else { Event::Memory(key) });
    }

    /// A request reaches the socket-to-socket link.
    pub(super) fn cross(&mut self, now: Time, key: RequestKey) {
        let request = &mut self.requests[key];
        request.stamp(Stage::HomeToMemory, now);
        let link = self.socket_link.as_mut().expect("a node of the other socket has a link");
        let there = link.send_out(now, request.op.is_write());
        request.stamp(Stage::SocketLinkOut, there);
        self.queue.schedule(there, Event::RemoteHome(key));
    }

    /// A request reaches the other socket's home agent.
    pub(super) fn remote_home(&mut self, now: Time, key: RequestKey) {
        let link = self.socket_link.as_mut().expect("it came over the link");
        let port = self.nodes[usize::from(self.requests[key].node.0)].first_port();
        let cxl = matches!(self.ports[usize::from(port.0)], Port::Cxl(..));
        if !cxl {
            let (known, there) = (now + link.coherence_check, now + link.coherence_check + link.mesh);
            self.acknowledge(known, key);
            self.queue.schedule(there, Event::Memory(key));
        } else if link.snoop_filter.take(key) == Grant::Now {
            self.tracked(now, key);
        } else {
            link.stats.snoop_filter_full.increment();
        }
    }

    /// The remote snoop filter has an entry for the request.
    fn tracked(&mut self, now: Time, key: RequestKey) {
        let link = self.socket_link.as_ref().expect("it came over the link");
        let (known, there) = (now + link.look_up, now + link.look_up + link.mesh);
        self.acknowledge(known, key);
        self.queue.schedule(there, Event::Memory(key));
    }

    /// The other socket's home agent has what is written, at `at`: back to whose core waits for that.
    fn acknowledge(&mut self, at: Time, key: RequestKey) {
        let Some(asker) = self.requests[key].answers.take() else { return };
        let crossed = self.requests[key].last();
        let asker_request = &mut self.requests[asker];
        asker_request.stamp(Stage::SocketLinkOut, crossed);
        asker_request.stamp(Stage::RemoteHome, at);
        self.queue.schedule(at, Event::CrossBack(asker));
    }

    /// A request reaches its memory controller or root port.
    pub(super) fn arrive(&mut self, now: Time, key: RequestKey) {
        let node = usize::from(self.requests[key].node.0);
        let away = self.nodes[node].socket == Socket::Other;
        let request = &mut self.requests[key];
        request.stamp(if away { Stage::RemoteHome } else { Stage::HomeToMemory }, now);
        let op = request.op;
        self.nodes[node].written(op);
        let (port, dpa) = self.place(&self.requests[key]);
        let (port, desk) = self.at_port(port);
        match port {
            Port::Dram(memory) => {
                let access = dram::Access { dpa, kind: dram_kind(op), tag: dram::Tag(key.index()) };
                memory.arrive(now, access, &mut Local(desk));
            }
            Port::Cxl(expander, _) => {
                let kind = if op.is_write() { cxl::AccessKind::Write } else { cxl::AccessKind::Read };
                expander.arrive(now, cxl::Access { dpa, kind, tag: cxl::Tag(key.index()) }, &mut Link(desk));
            }
        }
    }

    /// The memory has read the line of a partial write, which is now a write of the whole line.
    fn merge(&mut self, key: RequestKey) -> bool {
        let op = &mut self.requests[key].op;
        let read = *op == Op::PartialWrite;
        if read {
            *op = Op::WriteBack;
        }
        read
    }

    /// The memory has answered: back to the home agent, over the link if the memory is of the other socket.
    pub(super) fn answered(&mut self, now: Time, key: RequestKey) {
        if self.merge(key) {
            let (port, dpa) = self.place(&self.requests[key]);
            let (Port::Dram(memory), desk) = self.at_port(port) else { unreachable!("a device merges by itself") };
            let access = dram::Access { dpa, kind: dram::AccessKind::Write, tag: dram::Tag(key.index()) };
            return memory.arrive(now, access, &mut Local(desk));
        }
        let request = &self.requests[key];
        if self.nodes[usize::from(request.node.0)].socket == Socket::Own {
            return self.go_home(now, key);
        }
        if request.op == Op::Directory {
            self.requests.remove(key);
            return;
        }
        let (op, (port, _)) = (request.op, self.place(request));
        let link = self.socket_link.as_mut().expect("it came over the link");
        self.queue.schedule(now + link.mesh, Event::CrossBack(key));
        match self.ports[usize::from(port.0)] {
            Port::Cxl(..) => {
                if let Some(next) = link.snoop_filter.give_back() {
                    self.tracked(now, next);
                }
            }
            Port::Dram(_) if op == Op::Own && link.directory == Directory::InMemory => {
                link.stats.directory_writes.increment();
                self.note_owner(now, key);
            }
            Port::Dram(_) => {}
        }
    }

    /// The line that `key` reads to own goes back into its memory with its directory bits set.
    fn note_owner(&mut self, now: Time, key: RequestKey) {
        let request = &self.requests[key];
        let note = Request::new(request.line, Op::Directory, request.core, request.home(), now);
        let note = self.requests.insert(note);
        let (port, dpa) = self.place(&self.requests[note]);
        let (Port::Dram(memory), desk) = self.at_port(port) else { unreachable!("DDR alone has a directory in it") };
        let access = dram::Access { dpa, kind: dram::AccessKind::Write, tag: dram::Tag(note.index()) };
        memory.arrive(now, access, &mut Local(desk));
    }

    /// An answer reaches the socket-to-socket link.
    pub(super) fn cross_back(&mut self, now: Time, key: RequestKey) {
        let request = &mut self.requests[key];
        let link = self.socket_link.as_mut().expect("it came over the link");
        let here = link.send_back(now, request.op.brings_line());
        request.stamp(Stage::SocketLinkBack, here);
        self.go_home(here, key);
    }

    /// From memory controller, root port or link at `at` to the home agent and the core.
    fn go_home(&mut self, at: Time, key: RequestKey) {
        let request = &mut self.requests[key];
        match request.op {
            Op::WriteBack | Op::PartialWrite => self.queue.schedule(at, Event::Written(key)),
            Op::Load | Op::Own | Op::Walk | Op::Prefetch(_) => {
                let home = at + self.home.to_memory;
                let core = home + self.home.mesh.to_core(request.core, request.slice);
                request.stamp(Stage::MemoryToHome, home);
                request.stamp(Stage::FromHome, core);
                self.queue.schedule(core, Event::Fill(key));
            }
            Op::NonTemporal | Op::NonTemporalPart | Op::Flush | Op::Clean => {
                let home = at + self.home.to_memory;
                request.stamp(Stage::MemoryToHome, home);
                self.answer_core(home, key);
            }
            Op::Directory => unreachable!("its memory's home agent forgets it"),
        }
    }

    pub(super) fn channel_wake(&mut self, now: Time, port: PortId, wake: dram::Wake) {
        let (port, desk) = self.at_port(port);
        match port {
            Port::Dram(memory) => memory.wake(now, wake, &mut Local(desk)),
            Port::Cxl(_, memory) => memory.wake(now, wake, &mut Behind(desk)),
        }
    }

    pub(super) fn expander_wake(&mut self, now: Time, port: PortId, wake: cxl::Wake) {
        let (Port::Cxl(expander, _), desk) = self.at_port(port) else { unreachable!("only CXL paths ask for this") };
        expander.wake(now, wake, &mut Link(desk));
    }

    pub(super) fn retrain(&mut self, now: Time, port: PortId, lanes: cxl::Lanes, rate: cxl::LinkRate) {
        let (Port::Cxl(expander, _), _) = self.at_port(port) else { unreachable!("only CXL links are trained anew") };
        expander.retrain(now, lanes, rate).expect("checked when it was scheduled");
    }

    pub(super) fn media(&mut self, now: Time, key: RequestKey) {
        let request = &self.requests[key];
        let (port, dpa) = self.place(request);
        let access = dram::Access { dpa, kind: dram_kind(request.op), tag: dram::Tag(key.index()) };
        let (Port::Cxl(_, memory), desk) = self.at_port(port) else { unreachable!("only CXL paths have media") };
        memory.arrive(now, access, &mut Behind(desk));
    }

    pub(super) fn media_done(&mut self, now: Time, key: RequestKey) {
        if self.merge(key) {
            return self.media(now, key);
        }
        let (port, _) = self.place(&self.requests[key]);
        let (Port::Cxl(expander, _), desk) = self.at_port(port) else { unreachable!("only CXL paths have media") };
        expander.media_done(now, cxl::Tag(key.index()), &mut Link(desk));
    }
}

fn dram_kind(op: Op) -> dram::AccessKind {
    if op == Op::WriteBack { dram::AccessKind::Write } else { dram::AccessKind::Read }
}
