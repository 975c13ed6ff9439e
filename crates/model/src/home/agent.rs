//! The home agent's steps: from the look-up in the LLC to the memory, and from the memory's answer back to the core.
//!
//! ```text
//!   reach: table of requests -> look_up: snoop filter -> fetch: LLC --has it----------------> answer_core
//!                                                                  --has it not--> memory -> answered -> go_home
//! ```
//!
//! A write leaves its data with the home agent, which answers the core when it may write the line (`home/writes.rs`).

use cxlab_kernel::Time;

use super::{Around, Event, Home, Queue, Socket};
use crate::addr::{Dpa, Hpa};
use crate::cache::{Reference, ReferenceKind, SliceId, Victim};
use crate::error::ModelError;
use crate::fabric::WayId;
use crate::mem::{Access, AccessKind, Extent, Stage, Tag};
use crate::request::{CoreId, HomeId, Op, Request, RequestKey};

impl Home {
    /// A line is wanted since `born`, its address is translated at `at`; it waits for a fill buffer.
    ///
    /// # Errors
    /// `RUN003` where the line has no memory.
    pub fn request(
        &mut self,
        by: Reference,
        line: Hpa,
        op: Op,
        born: Time,
        at: Time,
    ) -> Result<RequestKey, ModelError> {
        let home = self.check(line)?;
        let mut request = Request::new(line, op, by, home, born);
        request.stamp(Stage::Translation, at);
        Ok(self.requests.insert(request))
    }

    /// Whose memory the line is in.
    ///
    /// # Errors
    /// `RUN003` where the line has no memory.
    pub fn check(&self, line: Hpa) -> Result<HomeId, ModelError> {
        self.of(line).ok_or_else(|| ModelError::NoMemory {
            address: line.get(),
            machine: "that runs".into(),
            ranges: self.map.ranges(),
        })
    }

    /// The request has its fill buffer and leaves the core.
    pub fn depart<Q: Queue>(&mut self, key: RequestKey, at: Time, queue: &mut Q) {
        let request = &mut self.requests[key];
        // A buffer that came free while the address was still being made is not waited for.
        let at = at.max(request.last());
        request.stamp(Stage::FillBuffer, at);
        let to_home = self.mesh.to_home(request.core(), request.slice);
        queue.schedule(at + to_home, Event::Home(key));
    }

    /// Whether the line should not be read ahead: it has no memory, or its slice's table has no free entry.
    pub fn congested(&self, line: Hpa, at: Time) -> bool {
        self.of(line).is_none_or(|home| !self.tables.has_room(home.slice, at))
    }

    /// An event of the home agents is due.
    pub fn step<A: Around>(&mut self, now: Time, event: Event, around: &mut A) {
        match event {
            Event::Home(key) => self.reach(now, key, around),
            Event::Entered(key) => self.entered_late(now, key, around),
            Event::Cross(key) => self.cross(now, key, around),
            Event::RemoteHome(key) => self.remote_home(now, key, around),
            Event::Memory(key) => self.arrive(now, key, around),
            Event::Answered(key) => self.answered(now, key, around),
            Event::CrossBack(key) => self.cross_back(now, key, around),
            Event::Evicted(key) => self.enter_table(now, key, around),
            Event::Written(key) => self.written(now, key, around),
            Event::Fill(_) | Event::Pulled(_) => unreachable!("the core takes it itself"),
        }
    }

    /// A request reaches its slice, or who had its line has been served.
    fn reach<A: Around>(&mut self, now: Time, key: RequestKey, around: &mut A) {
        let request = &mut self.requests[key];
        request.stamp(Stage::ToHome, now);
        if request.entered { self.look_up(now, key, around) } else { self.enter_table(now, key, around) }
    }

    /// The request has its entry of the slice's table: it is looked up, or a line of the LLC leaves for its memory.
    pub(super) fn entered<A: Around>(&mut self, now: Time, key: RequestKey, around: &mut A) {
        self.holds_entry(key);
        let request = &mut self.requests[key];
        request.stamp(Stage::HomeQueue, now);
        if request.op == Op::WriteBack { self.send_write(now, key, around) } else { self.look_up(now, key, around) }
    }

    /// The LLC has the line, or its memory is asked, or written; `snooped` is when other cores have answered.
    pub(super) fn fetch<Q: Queue>(&mut self, now: Time, snooped: Time, key: RequestKey, queue: &mut Q) {
        let Request { op, line, slice, by, .. } = self.requests[key];
        let done = match op {
            Op::Load | Op::Own | Op::Walk | Op::Prefetch => self.look_up_llc(slice, line, by),
            // Nothing of what the LLC has of it is worth anything.
            Op::NonTemporal => {
                self.llc.forget(slice, line);
                false
            }
            Op::NonTemporalPart => {
                if self.llc.forget(slice, line) {
                    self.write_back(line, now, queue);
                }
                false
            }
            Op::Flush => !self.llc.forget(slice, line),
            Op::Clean => !self.llc.clean(slice, line),
            Op::WriteBack | Op::PartialWrite | Op::Directory => unreachable!("home agents send these"),
        };
        if done { self.answer_core(snooped, key, queue) } else { self.ask_memory(now, key, queue) }
    }

    fn look_up_llc(&mut self, slice: SliceId, line: Hpa, by: Reference) -> bool {
        let hit = self.llc.touch(slice, line, by);
        *if hit { &mut self.hits } else { &mut self.misses } += 1;
        hit
    }

    /// The line, or the right to change it, goes from the home agent to the core.
    pub(super) fn answer_core<Q: Queue>(&mut self, now: Time, key: RequestKey, queue: &mut Q) {
        let request = &mut self.requests[key];
        let back = now + self.mesh.to_core(request.core(), request.slice);
        request.stamp(Stage::Snoop, now);
        request.stamp(Stage::FromHome, back);
        queue.schedule(back, Event::Fill(key));
    }

    /// The request's memory is asked. What is written leaves its data in the entry and is done when its memory has a credit for
    /// it, if the home agent is its line's own: it writes it. A line of the other socket is ordered by the home agent there, which has to say that it has it
    /// (Loughlin et al., MOESI-prime, ISCA 2022: coherence among sockets is the home socket's).
    fn ask_memory<Q: Queue>(&mut self, now: Time, key: RequestKey, queue: &mut Q) {
        let request = &mut self.requests[key];
        let op = match request.op {
            Op::NonTemporal | Op::Flush | Op::Clean => Op::WriteBack,
            Op::NonTemporalPart => Op::PartialWrite,
            Op::Load | Op::Own | Op::Walk | Op::Prefetch | Op::WriteBack | Op::PartialWrite => {
                return self.leave(now, key, queue);
            }
            Op::Directory => unreachable!("its memory's home agent sends this"),
        };
        let mut posted = Request::new(request.line, op, request.by, request.home(), now);
        // The entry is its data's from here on.
        posted.entered = std::mem::take(&mut request.entered);
        posted.answers = Some(key);
        let posted = self.requests.insert(posted);
        self.send_write(now, posted, queue);
    }

    /// A request leaves for its memory.
    pub(super) fn leave<Q: Queue>(&mut self, now: Time, key: RequestKey, queue: &mut Q) {
        let request = &mut self.requests[key];
        request.to_memory = true;
        let away = self.nodes[usize::from(request.node.0)].socket == Socket::Other;
        queue.schedule(now + self.to_memory, if away { Event::Cross(key) } else { Event::Memory(key) });
    }

    /// A request reaches its memory controller or root port.
    fn arrive<A: Around>(&mut self, now: Time, key: RequestKey, around: &mut A) {
        let request = &mut self.requests[key];
        let node = &mut self.nodes[usize::from(request.node.0)];
        let away = node.socket == Socket::Other;
        request.stamp(if away { Stage::RemoteHome } else { Stage::HomeToMemory }, now);
        node.counts.written(request.op);
        let kind = if request.op.is_write() { AccessKind::Write } else { AccessKind::Read };
        let extent = if request.op == Op::PartialWrite { Extent::Part } else { Extent::Line };
        self.access_memory(now, key, kind, extent, around);
    }

    /// An access of the request's line enters the fabric.
    pub(super) fn access_memory<A: Around>(
        &mut self,
        now: Time,
        key: RequestKey,
        kind: AccessKind,
        extent: Extent,
        around: &mut A,
    ) {
        let (way, dpa) = self.map.locate(self.requests[key].line);
        around.enter(now, way, Access { dpa, kind, tag: Tag(key.index()) }, extent, &mut self.requests);
    }

    /// Takes the memory's answer back to the home agent. From the other socket it crosses the socket link.
    fn answered<A: Around>(&mut self, now: Time, key: RequestKey, around: &mut A) {
        match self.nodes[usize::from(self.requests[key].node.0)].socket {
            Socket::Own => self.go_home(now, key, around),
            Socket::Other => self.remote_answered(now, key, around),
        }
    }

    /// From memory controller, root port or link at `at` to the home agent and the core.
    pub(super) fn go_home<Q: Queue>(&mut self, at: Time, key: RequestKey, queue: &mut Q) {
        let request = &mut self.requests[key];
        match request.op {
            Op::WriteBack | Op::PartialWrite => queue.schedule(at, Event::Written(key)),
            Op::Load | Op::Own | Op::Walk | Op::Prefetch => {
                let home = at + self.to_memory;
                let core = home + self.mesh.to_core(request.core(), request.slice);
                request.stamp(Stage::MemoryToHome, home);
                request.stamp(Stage::FromHome, core);
                queue.schedule(core, Event::Fill(key));
            }
            Op::NonTemporal | Op::NonTemporalPart | Op::Flush | Op::Clean => {
                let home = at + self.to_memory;
                request.stamp(Stage::MemoryToHome, home);
                self.answer_core(home, key, queue);
            }
            Op::Directory => unreachable!("its memory's home agent forgets it"),
        }
    }

    /// A request is back at its core: what it was, and from the address to now.
    pub fn finish<Q: Queue>(&mut self, now: Time, key: RequestKey, queue: &mut Q) -> (Request, Time) {
        let request = self.requests.remove(key);
        let latency = request.latency(now);
        if request.to_memory {
            self.nodes[usize::from(request.node.0)].counts.served(&request, latency);
        }
        if request.entered {
            self.give_back_entry(now, &request, queue);
        }
        self.served(now, request.line, queue);
        (request, latency)
    }

    /// A line of `core` comes into the LLC; what leaves it changed goes to its memory.
    pub fn fill_llc<Q: Queue>(&mut self, victim: Victim, core: CoreId, at: Time, queue: &mut Q) {
        if let Some(line) = self.take_in(victim, core) {
            self.write_back(line, at, queue);
        }
    }

    /// A changed line leaves the LLC for its memory.
    fn write_back<Q: Queue>(&mut self, line: Hpa, at: Time, queue: &mut Q) {
        let home = self.of(line).expect("a cached line has a memory");
        let by = Reference::of_core(CoreId(0), ReferenceKind::WriteBack);
        let key = self.requests.insert(Request::new(line, Op::WriteBack, by, home, at));
        queue.schedule(at, Event::Evicted(key));
    }

    /// A line that left the caches of `core` comes in: the changed line that has to leave for it.
    pub fn take_in(&mut self, victim: Victim, core: CoreId) -> Option<Hpa> {
        let slice = self.slice(victim.line);
        let leaving = self.llc.take_in(slice, victim, core)?;
        leaving.changed.then_some(leaving.line)
    }

    /// Whose memory the line is in, and at which slice its home agent is.
    #[inline]
    #[must_use]
    pub fn of(&self, line: Hpa) -> Option<HomeId> {
        let mapped = self.map.find(line)?;
        Some(HomeId { node: mapped.node(), slice: self.llc.slice(line, mapped.cluster) })
    }

    /// The way to a line's memory, and the address at its end.
    #[must_use]
    pub fn way_of(&self, line: Hpa) -> (WayId, Dpa) {
        self.map.locate(line)
    }

    pub(super) fn slice(&self, line: Hpa) -> SliceId {
        self.of(line).expect("a cached line has a memory").slice
    }

    /// Which set of which slice is the line's.
    #[must_use]
    pub fn llc_set(&self, line: Hpa) -> usize {
        self.llc.set(self.slice(line), line)
    }

    /// As a look-up that nobody counts: whether the LLC has the line.
    pub fn touch(&mut self, line: Hpa, by: Reference) -> bool {
        let slice = self.slice(line);
        self.llc.touch(slice, line, by)
    }

    /// The line leaves the LLC: whether it was here and changed.
    pub fn forget(&mut self, home: HomeId, line: Hpa) -> bool {
        self.llc.forget(home.slice, line)
    }

    /// The line's memory will know it: whether the LLC had it changed.
    pub fn clean(&mut self, home: HomeId, line: Hpa) -> bool {
        self.llc.clean(home.slice, line)
    }
}
