//! Lines come and go: which caches a line enters, which victim leaves for it, and what the home agent asks of the core.

use cxlab_kernel::Time;

use super::misses::Awaited;
use super::window::Waiters;
use super::{Core, Uncore};
use crate::addr::Hpa;
use crate::cache::{Hit, LineState, Nearest, Prefetchers, Reference, Snoop, Victim, Wanted};
use crate::error::ModelError;
use crate::request::{Op, Request, Want};

impl Core {
    /// Fills the caches with a line that has come. Returns its waiters and the time they have the line. `None` if they
    /// still wait for the right to change it.
    pub(super) fn line_arrived<U: Uncore>(
        &mut self,
        request: &Request,
        now: Time,
        uncore: &mut U,
    ) -> Result<Option<(Waiters, Time)>, ModelError> {
        let Request { line, grant, by, .. } = *request;
        let awaited @ Awaited { waiters, store, buffer } = self.misses.returned(line);
        let state = match grant {
            // A store has joined a line that was requested for reading, and other cores have copies. The core asks for
            // ownership.
            LineState::Shared if store => {
                self.misses.await_line(line, awaited);
                uncore.request(Want { by, line, op: Op::Own, born: now, translated: now }, Some(now))?;
                return Ok(None);
            }
            LineState::Exclusive if store => LineState::Modified,
            grant => grant,
        };
        let victim =
            if buffer.is_some() { self.caches.fill(line, state, by) } else { self.caches.fill_l2(line, state, by) };
        self.leave_superqueue(now, uncore);
        if let Some(victim) = victim {
            let evicted = uncore.evict(self.id, victim, now);
            self.evict(evicted, now, uncore);
        }
        // A load or store may take its fill buffer when a prefetched line is near. It has the line no sooner than from
        // L2.
        let ready = buffer.map_or(now, |since| now.max(since + self.timing.l2));
        if buffer.is_some() {
            self.misses.buffers.give_back(now);
        }
        Ok(Some((waiters, ready)))
    }

    /// The home agent has pulled a victim of L2 that had to wait.
    pub(crate) fn pulled<U: Uncore>(&mut self, now: Time, uncore: &mut U) {
        self.leave_superqueue(now, uncore);
    }

    /// The core gives its own copy of the line, if it has one, to the home agent.
    pub(super) fn give_up_copy<U: Uncore>(&mut self, line: Hpa, at: Time, uncore: &mut U) {
        if let Some(changed) = self.caches.snoop(line, Snoop::Invalidate) {
            uncore.victim(self.id, Victim { line, changed }, at);
        }
    }

    /// Touches the line of an instruction's access. Returns where the caches have the line. They have it nowhere if a store
    /// may not change it.
    pub(crate) fn finds(&mut self, line: Hpa, store: bool, by: Reference) -> Hit {
        self.caches.access(line, store, by)
    }

    /// Shows a load to the prefetchers of L1. Returns the lines that they want.
    pub(crate) fn wants_near(&mut self, line: Hpa, place: u64) -> [Wanted; 2] {
        self.prefetch.as_mut().map(|prefetchers| prefetchers.loaded(place, line)).unwrap_or_default()
    }

    /// Shows a look-up in L2 to the prefetchers of L2. Returns the lines that they want.
    pub(crate) fn wants(&mut self, line: Hpa, hit: bool) -> [Wanted; 2] {
        let wanted = |prefetchers: &mut Prefetchers| [prefetchers.pair(line, hit), prefetchers.looked_up(line)];
        self.prefetch.as_mut().map(wanted).unwrap_or_default()
    }

    /// Whether warming refuses what a prefetcher of L1 wants next.
    pub(crate) fn refuses_near(&mut self) -> bool {
        self.refusals_near.refuses()
    }

    /// Whether warming refuses what a prefetcher of L2 wants next.
    pub(crate) fn refuses_ahead(&mut self) -> bool {
        self.refusals_ahead.refuses()
    }

    /// Whether L1 has the line. Nothing is remembered of the look.
    pub(crate) fn is_near(&self, line: Hpa) -> bool {
        self.caches.is_near(line)
    }

    /// Brings a line of L2 to L1 for a prefetcher. Returns whether L2 has it.
    pub(crate) fn brings_near(&mut self, line: Hpa, by: Reference) -> bool {
        self.caches.hits_l2(line, false, by)
    }

    /// Whether the core has a copy of the line. Nothing is remembered of the look.
    pub(crate) fn holds(&self, line: Hpa) -> bool {
        self.caches.holds(line)
    }

    /// Touches the line. Returns whether the caches have the line, with the right to change it if the access is a
    /// store.
    pub(crate) fn touches(&mut self, line: Hpa, store: bool, by: Reference) -> bool {
        self.caches.access(line, store, by) != Hit::Neither
    }

    /// Puts the line into the caches as if it had been touched or read ahead before the run. Returns the victim.
    pub(crate) fn warm(&mut self, line: Hpa, state: LineState, by: Reference, to: Nearest) -> Option<Victim> {
        match to {
            Nearest::L1 => self.caches.fill(line, state, by),
            Nearest::L2 => self.caches.fill_l2(line, state, by),
        }
    }

    /// Rights of the core to the line; `None` if the core has no copy.
    #[must_use]
    pub fn state(&self, line: Hpa) -> Option<LineState> {
        self.caches.state(line)
    }

    /// The core's copies of a line in L1 and L2, for the checker.
    pub(crate) fn copies(&self, line: Hpa) -> [Option<LineState>; 2] {
        self.caches.copies(line)
    }

    /// All lines of L1, and all of L2, for the checker.
    pub(crate) fn cached_lines(&self) -> [Vec<(Hpa, LineState)>; 2] {
        self.caches.lines()
    }

    /// Answers a snoop of the home agent. Returns whether the line was changed here; `None` if the core has no copy.
    pub(crate) fn snoop(&mut self, line: Hpa, left: Snoop) -> Option<bool> {
        self.stats.snoops.increment();
        self.loses(line);
        self.caches.snoop(line, left)
    }

    /// Removes the line from the core's caches functionally. Returns whether the line was changed.
    pub(crate) fn forget(&mut self, line: Hpa) -> bool {
        self.caches.snoop(line, Snoop::Invalidate) == Some(true)
    }

    /// Marks the line as known to its memory, functionally. Returns whether the line was changed.
    pub(crate) fn clean(&mut self, line: Hpa) -> bool {
        self.caches.clean(line)
    }
}
