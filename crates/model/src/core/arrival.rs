//! Lines come and go: into which caches, what they had occupied, and what others ask for.

use cxlab_kernel::Time;

use super::misses::Slot;
use super::window::Waiters;
use super::{Core, Uncore};
use crate::addr::Hpa;
use crate::cache::{Hit, LineState, Snoop, Victim};
use crate::error::ModelError;
use crate::request::{Level, Op};

impl Core {
    /// A line has come: who waited for it; `None` if they wait on, for the right to change it.
    pub(super) fn line_arrived<U: Uncore>(
        &mut self,
        line: Hpa,
        op: Op,
        grant: LineState,
        now: Time,
        uncore: &mut U,
    ) -> Result<Option<Waiters>, ModelError> {
        let (waiters, store, slot) = self.misses.returned(line);
        let state = match grant {
            // A store has come while the line was on its way to be read, and others have it: ask again.
            LineState::Shared if store => {
                self.misses.await_line(line, true, waiters, slot);
                let key = uncore.request(self.id, line, Op::Own, now, now)?;
                uncore.depart(key, now);
                return Ok(None);
            }
            LineState::Exclusive if store => LineState::Modified,
            grant => grant,
        };
        let victim = match op {
            Op::Prefetch(level) if waiters.is_empty() && !store => match level {
                Level::L2 => self.caches.fill_l2(line, state),
                Level::Llc => Some(Victim { line, changed: false }),
            },
            _ => self.caches.fill(line, state),
        };
        if let Some(victim) = victim {
            uncore.victim(self.id, victim, now);
        }
        match (slot, &mut self.prefetch) {
            (Slot::Prefetch(level), Some(ahead)) => ahead.returned(level),
            _ => self.buffer_returned(now, uncore),
        }
        Ok(Some(waiters))
    }

    /// A fill buffer is free: who waits for one has it.
    pub(super) fn buffer_returned<U: Uncore>(&mut self, now: Time, uncore: &mut U) {
        let Some(next) = self.misses.free_buffer() else { return };
        uncore.depart(next, now);
        if let Some(store) = self.posted.has_buffer(next) {
            self.stores.filled(store, now);
        }
    }

    /// The core's own copy, if it has one, goes home.
    pub(super) fn give_up_copy<U: Uncore>(&mut self, line: Hpa, at: Time, uncore: &mut U) {
        if let Some(changed) = self.caches.snoop(line, Snoop::Invalidate) {
            uncore.victim(self.id, Victim { line, changed }, at);
        }
    }

    /// Whether the line is in the caches, and may be changed if it is stored to; it is touched.
    pub(crate) fn touches(&mut self, line: Hpa, store: bool) -> bool {
        self.caches.access(line, store) != Hit::Neither
    }

    /// Have the line in the caches as if it had been touched before time began: what left them for it.
    pub(crate) fn warm(&mut self, line: Hpa, state: LineState) -> Option<Victim> {
        self.caches.fill(line, state)
    }

    /// What the core may do with the line, if it has it.
    #[must_use]
    pub fn state(&self, line: Hpa) -> Option<LineState> {
        self.caches.state(line)
    }

    /// The home agent asks for the line: whether it was changed here; `None` if it is not here.
    pub(crate) fn snoop(&mut self, line: Hpa, left: Snoop) -> Option<bool> {
        self.stats.snoops.increment();
        self.caches.snoop(line, left)
    }

    /// The line leaves the core's caches functionally.
    pub(crate) fn forget(&mut self, line: Hpa) {
        self.caches.snoop(line, Snoop::Invalidate);
    }

    /// The line's memory knows it, functionally.
    pub(crate) fn clean(&mut self, line: Hpa) {
        self.caches.clean(line);
    }
}
