//! A line is here: into which caches it comes, and what it had occupied.

use cxlab_kernel::Time;

use super::misses::Slot;
use super::window::Waiters;
use super::{Core, Uncore};
use crate::addr::Hpa;
use crate::cache::{LineState, Victim};
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
                let key = uncore.request(self.id, line, Op::Own, now)?;
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
        if let Some(changed) = self.caches.snoop(line, crate::cache::Snoop::Invalidate) {
            uncore.victim(self.id, Victim { line, changed }, at);
        }
    }
}
