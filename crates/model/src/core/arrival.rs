//! Lines come and go: into which caches, what they had occupied, and what others ask for.

use cxlab_kernel::Time;

use super::misses::Awaited;
use super::window::Waiters;
use super::{Core, Uncore};
use crate::addr::Hpa;
use crate::cache::{Hit, LineState, Reference, Snoop, Victim};
use crate::error::ModelError;
use crate::request::{Op, Request};

impl Core {
    /// A line has come: who waited for it, and when they have it; `None` if they wait on, for the right to change it.
    pub(super) fn line_arrived<U: Uncore>(
        &mut self,
        request: &Request,
        now: Time,
        uncore: &mut U,
    ) -> Result<Option<(Waiters, Time)>, ModelError> {
        let Request { line, grant, by, .. } = *request;
        let awaited @ Awaited { waiters, store, buffer } = self.misses.returned(line);
        let state = match grant {
            // A store has come while the line was on its way to be read, and others have it: ask again.
            LineState::Shared if store => {
                self.misses.await_line(line, awaited);
                uncore.request(by, line, Op::Own, now, now, Some(now))?;
                return Ok(None);
            }
            LineState::Exclusive if store => LineState::Modified,
            grant => grant,
        };
        let victim =
            if buffer.is_some() { self.caches.fill(line, state, by) } else { self.caches.fill_l2(line, state, by) };
        self.leave_superqueue(now, uncore);
        if let Some(victim) = victim {
            uncore.victim(self.id, victim, now);
            self.evict(victim.line, now, uncore);
        }
        // Who took its fill buffer when the line was already near finds it no sooner than in L2.
        let ready = buffer.map_or(now, |since| now.max(since + self.timing.l2));
        if buffer.is_some() {
            self.misses.buffers.give_back(now);
        }
        Ok(Some((waiters, ready)))
    }

    /// The home agent has pulled a victim of L2, which had waited for an entry of its slice's table.
    pub(crate) fn pulled<U: Uncore>(&mut self, now: Time, uncore: &mut U) {
        self.leave_superqueue(now, uncore);
    }

    /// The core's own copy, if it has one, goes home.
    pub(super) fn give_up_copy<U: Uncore>(&mut self, line: Hpa, at: Time, uncore: &mut U) {
        if let Some(changed) = self.caches.snoop(line, Snoop::Invalidate) {
            uncore.victim(self.id, Victim { line, changed }, at);
        }
    }

    /// Whether the line is in the caches, and may be changed if it is stored to; it is touched.
    pub(crate) fn touches(&mut self, line: Hpa, store: bool, by: Reference) -> bool {
        self.caches.access(line, store, by) != Hit::Neither
    }

    /// Have the line in the caches as if it had been touched before time began: what left them for it.
    pub(crate) fn warm(&mut self, line: Hpa, state: LineState, by: Reference) -> Option<Victim> {
        self.caches.fill(line, state, by)
    }

    /// What the core may do with the line, if it has it.
    #[must_use]
    pub fn state(&self, line: Hpa) -> Option<LineState> {
        self.caches.state(line)
    }

    /// Its copies of a line in L1 and L2, for the checker.
    pub(crate) fn copies(&self, line: Hpa) -> [Option<LineState>; 2] {
        self.caches.copies(line)
    }

    /// All lines of L1, and all of L2, for the checker.
    pub(crate) fn cached_lines(&self) -> [Vec<(Hpa, LineState)>; 2] {
        self.caches.lines()
    }

    /// The home agent asks for the line: whether it was changed here; `None` if it is not here.
    pub(crate) fn snoop(&mut self, line: Hpa, left: Snoop) -> Option<bool> {
        self.stats.snoops.increment();
        self.caches.snoop(line, left)
    }

    /// The line leaves the core's caches functionally: whether it was changed.
    pub(crate) fn forget(&mut self, line: Hpa) -> bool {
        self.caches.snoop(line, Snoop::Invalidate) == Some(true)
    }

    /// The line's memory knows it, functionally: whether it was changed.
    pub(crate) fn clean(&mut self, line: Hpa) -> bool {
        self.caches.clean(line)
    }
}
