//! The caches of a core: from a translated address to the line, or to a request for it.

use cxlab_kernel::Time;

use super::misses::{Awaited, Entering, Look, Waiting};
use super::window::{Waiter, Waiters};
use super::{Core, Uncore};
use crate::addr::Hpa;
use crate::cache::{ProgramCounter, Reference, ReferenceKind};
use crate::error::ModelError;
use crate::feed::LineAccess;
use crate::request::{Evicted, Op, RequestKey, Want};

impl Core {
    /// Looks up a line at `at`; `born` is when the line was first wanted. Returns when the line is there. `None` means
    /// that the waiter, if there is one, will be woken.
    #[inline]
    pub(super) fn fetch<U: Uncore>(
        &mut self,
        access: LineAccess,
        op: Op,
        waiter: Option<Waiter>,
        born: Time,
        at: Time,
        uncore: &mut U,
    ) -> Result<Option<Time>, ModelError> {
        if access.device {
            self.stats.device_accesses.increment();
            return Ok(Some(at + self.timing.device_access));
        }
        let (line, store) = (access.line(), op == Op::Own);
        let by = self.reference(access, op, waiter);
        let ready = if self.caches.hits_l1(line, store, by) {
            self.stats.l1_hits.increment();
            let ready = if matches!(waiter, Some(Waiter::Store(_))) { at } else { at + self.timing.l1 };
            Some(self.misses.coming.arrival(line, ready))
        } else {
            let look = Look { op, by, store, waiters: Waiters::default(), born, known: at };
            self.miss_l1(line, look, waiter, uncore)?
        };
        if self.prefetch.is_some() && op == Op::Load {
            self.look_ahead(access, at, uncore)?;
        }
        Ok(ready)
    }

    /// Handles a line that L1 does not have, or does not have with the right to change it.
    #[inline(never)]
    pub(super) fn miss_l1<U: Uncore>(
        &mut self,
        line: Hpa,
        look: Look,
        waiter: Option<Waiter>,
        uncore: &mut U,
    ) -> Result<Option<Time>, ModelError> {
        let Look { store, known, .. } = look;
        if let Some(waiters) = self.misses.join(line, store) {
            self.stats.merged_misses.increment();
            if let Some(waiter) = waiter {
                *waiters = self.window.link(waiter, *waiters);
            }
            return Ok(None);
        }
        let waiters = waiter.map_or_else(Waiters::default, |waiter| self.window.link(waiter, Waiters::default()));
        let look = Look { waiters, ..look };
        let Some(at) = self.misses.buffers.take(known) else {
            self.misses.queue(line, look);
            if look.op == Op::Load {
                self.fetch_homeless(line, known, uncore)?;
            }
            return Ok(None);
        };
        let ready = self.look_in_l2(line, look, at, uncore)?;
        if ready.is_some() {
            // The caller goes on at once, so nobody wakes its waiter.
            self.window.unlink(waiters);
        }
        Ok(ready)
    }

    /// How the caches count a look-up. A read without a waiter is a prefetch.
    #[inline]
    fn reference(&self, access: LineAccess, op: Op, waiter: Option<Waiter>) -> Reference {
        let kind = match (op, waiter) {
            (Op::Walk, _) => return Reference::of_core(self.id, ReferenceKind::Walk),
            (_, None) => ReferenceKind::Prefetch,
            (Op::Own, _) => ReferenceKind::Store,
            _ => ReferenceKind::Load,
        };
        Reference { kind, core: self.id, instruction: Some(ProgramCounter::new(access.place)) }
    }

    /// An L1 miss has a fill buffer at `at` and looks in L2. Returns when its line is there, if L2 has it. Otherwise
    /// its waiters will be woken.
    fn look_in_l2<U: Uncore>(
        &mut self,
        line: Hpa,
        look: Look,
        at: Time,
        uncore: &mut U,
    ) -> Result<Option<Time>, ModelError> {
        let Look { op, by, store, waiters, born, known } = look;
        let hit = self.caches.hits_l2(line, store, by);
        let ready = hit.then(|| {
            self.stats.l2_hits.increment();
            let ready = at + self.timing.l2;
            self.misses.comes_from_l2(line, ready);
            ready
        });
        if !hit && self.misses.join_prefetch(line, look, at) {
            self.stats.merged_misses.increment();
        } else if !hit {
            self.stats.misses.increment();
            if let Some(combined) = self.combining.give_up(line) {
                self.post_combined(combined, None, at, uncore)?;
            }
            self.misses.await_line(line, Awaited { waiters, store, buffer: Some(at) });
            self.expect_victim(line, uncore);
            let op = if store { Op::Own } else { op };
            let leaves = self.misses.superqueue.take(at);
            let key = uncore.request(Want { by, line, op, born, translated: known }, leaves)?;
            self.wait_for_superqueue(key, leaves);
        }
        if self.prefetch.is_some() && op != Op::Walk {
            self.read_ahead(line, hit, at, uncore)?;
        }
        Ok(ready)
    }

    /// L2 will probably give up a line when `line` comes.
    #[inline]
    pub(crate) fn expect_victim<U: Uncore>(&self, line: Hpa, uncore: &U) {
        if let Some(victim) = self.caches.likely_victim(line) {
            uncore.expect(victim);
        }
    }

    /// Lets a new request wait if it has found no entry of the superqueue.
    pub(super) fn wait_for_superqueue(&mut self, key: RequestKey, leaves: Option<Time>) {
        if leaves.is_none() {
            self.misses.superqueue.wait(Entering::Request(key));
        }
    }

    /// Lets a request that waited for a fill buffer leave for the home agents as soon as the superqueue has an entry
    /// for it.
    pub(super) fn enter_superqueue<U: Uncore>(&mut self, key: RequestKey, at: Time, uncore: &mut U) {
        match self.misses.superqueue.take(at) {
            Some(at) => uncore.depart(key, at),
            None => self.misses.superqueue.wait(Entering::Request(key)),
        }
    }

    /// Lets a victim of L2 leave for the LLC as soon as the superqueue has an entry for it.
    pub(super) fn evict<U: Uncore>(&mut self, evicted: Evicted, at: Time, uncore: &mut U) {
        match self.misses.superqueue.take(at) {
            Some(at) => self.leave_l2(evicted, at, uncore),
            None => self.misses.superqueue.wait(Entering::Victim(evicted)),
        }
    }

    /// A victim of L2 leaves with its entry of the superqueue. It holds the entry until the home agent has pulled it.
    fn leave_l2<U: Uncore>(&mut self, evicted: Evicted, at: Time, uncore: &mut U) {
        if let Some(pulled) = uncore.pull(self.id, evicted, at) {
            self.misses.superqueue.give_back(pulled);
        }
    }

    /// Frees an entry of the superqueue and gives it to the next waiter.
    pub(super) fn leave_superqueue<U: Uncore>(&mut self, now: Time, uncore: &mut U) {
        self.misses.superqueue.give_back(now);
        while let Some((next, free)) = self.misses.superqueue.serve() {
            let at = free.max(now);
            match next {
                Entering::Request(key) => uncore.depart(key, at),
                Entering::Victim(evicted) => self.leave_l2(evicted, at, uncore),
            }
        }
    }

    /// Gives free fill buffers to the misses that wait for one. If L2 has the line by now, the line's waiters go on
    /// `awake`.
    pub(super) fn serve_waiting<U: Uncore>(&mut self, now: Time, uncore: &mut U) -> Result<(), ModelError> {
        while let Some((next, free)) = self.misses.buffers.serve() {
            match next {
                Waiting::Posted(key, store) => {
                    let at = free.max(now);
                    self.enter_superqueue(key, at, uncore);
                    if let Some(store) = store {
                        self.stores.filled(store, at);
                    }
                }
                Waiting::Line(line) => {
                    let look = self.misses.queued(line);
                    let at = free.max(look.known);
                    if let Some(ready) = self.look_in_l2(line, look, at, uncore)? {
                        self.awake.push((look.waiters, ready));
                    }
                }
            }
        }
        Ok(())
    }
}
