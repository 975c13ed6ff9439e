//! Lines of the LLC: the slice of each line, the lines that come in, and the victims that leave for their memory.

use cxlab_kernel::Time;

use super::{Event, Home, Queue};
use crate::addr::{Dpa, Hpa};
use crate::cache::{Reference, ReferenceKind, SliceId, Victim};
use crate::fabric::WayId;
use crate::request::{CoreId, Evicted, HomeId, Op, Request, RequestKey};

impl Home {
    /// Puts a line of `core` into the LLC. A changed victim goes to its memory.
    pub fn fill_llc<Q: Queue>(&mut self, victim: Victim, core: CoreId, at: Time, queue: &mut Q) {
        if let Some(line) = self.take_in(victim, core) {
            self.write_back(line, core, at, queue);
        }
    }

    /// Gives a victim of L2 its place in the LLC. A changed line that has to leave the place is written when the victim
    /// is at its slice.
    pub fn make_room(&mut self, victim: Victim, core: CoreId, at: Time) -> Evicted {
        let room = self.take_in(victim, core).map(|line| {
            let write = self.write_of(line, core, at);
            self.requests[write].pulls = true;
            write
        });
        Evicted { line: victim.line, room }
    }

    /// Writes a changed line of the LLC back to its memory, on account of `core`.
    pub(super) fn write_back<Q: Queue>(&mut self, line: Hpa, core: CoreId, at: Time, queue: &mut Q) {
        let write = self.write_of(line, core, at);
        queue.schedule(at, Event::Evicted(write));
    }

    /// Makes the request that writes a changed line of the LLC.
    fn write_of(&mut self, line: Hpa, core: CoreId, at: Time) -> RequestKey {
        let home = self.of(line).expect("a cached line has a memory");
        let by = Reference::of_core(core, ReferenceKind::WriteBack);
        self.requests.insert(Request::new(line, Op::WriteBack, by, home, at))
    }

    /// Puts a line that left the caches of `core` into the LLC. Returns the changed line that has to leave for it.
    pub fn take_in(&mut self, victim: Victim, core: CoreId) -> Option<Hpa> {
        let slice = self.slice(victim.line);
        let leaving = self.llc.take_in(slice, victim, core)?;
        leaving.changed.then_some(leaving.line)
    }

    /// The node of the line's memory, and the slice of its home agent.
    #[inline]
    #[must_use]
    pub fn of(&self, line: Hpa) -> Option<HomeId> {
        self.map.home(line)
    }

    /// The way to a line's memory, and the device address at its end.
    #[must_use]
    pub fn way_of(&self, line: Hpa) -> (WayId, Dpa) {
        let home = self.of(line).expect("a line of a node");
        self.targets.locate(home.node, line)
    }

    pub(super) fn slice(&self, line: Hpa) -> SliceId {
        self.of(line).expect("a cached line has a memory").slice
    }

    /// Lets the host fetch what the home agents know of a line that will come to the LLC soon.
    #[inline]
    pub fn expect(&self, line: Hpa) {
        if let Some(home) = self.of(line) {
            self.expect_at(home.slice, line);
        }
    }

    /// Lets the host fetch what the slice knows of a line.
    #[inline]
    pub(super) fn expect_at(&self, slice: SliceId, line: Hpa) {
        self.llc.expect(slice, line);
        if let Some(filter) = &self.filter {
            filter.expect(line);
        }
    }

    /// Number of the line's set in its slice.
    #[must_use]
    pub fn llc_set(&self, line: Hpa) -> usize {
        self.llc.set(self.slice(line), line)
    }

    /// Looks the line up without counting the look-up. Returns whether the LLC has the line.
    pub fn touch(&mut self, line: Hpa, by: Reference) -> bool {
        let slice = self.slice(line);
        self.llc.touch(slice, line, by)
    }

    /// Removes the line from the LLC. Returns whether it was there and changed.
    pub fn forget(&mut self, home: HomeId, line: Hpa) -> bool {
        self.llc.forget(home.slice, line)
    }

    /// Marks the line as known to its memory. Returns whether the LLC had it changed.
    pub fn clean(&mut self, home: HomeId, line: Hpa) -> bool {
        self.llc.clean(home.slice, line)
    }
}
