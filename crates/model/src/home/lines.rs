//! Lines of the LLC: which slice has one, what comes in, and what leaves for its memory.

use cxlab_kernel::Time;

use super::{Event, Home, Queue};
use crate::addr::{Dpa, Hpa};
use crate::cache::{Reference, ReferenceKind, SliceId, Victim};
use crate::fabric::WayId;
use crate::request::{CoreId, HomeId, Op, Request};

impl Home {
    /// A line of `core` comes into the LLC; what leaves it changed goes to its memory.
    pub fn fill_llc<Q: Queue>(&mut self, victim: Victim, core: CoreId, at: Time, queue: &mut Q) {
        if let Some(line) = self.take_in(victim, core) {
            self.write_back(line, core, at, queue);
        }
    }

    /// A changed line leaves the LLC for its memory, on account of `core`.
    pub(super) fn write_back<Q: Queue>(&mut self, line: Hpa, core: CoreId, at: Time, queue: &mut Q) {
        let home = self.of(line).expect("a cached line has a memory");
        let by = Reference::of_core(core, ReferenceKind::WriteBack);
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
