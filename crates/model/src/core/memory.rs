//! Loads and the caches: from a known address to the data, or to a request.

use cxlab_kernel::Time;

use super::cpi_stack::Source;
use super::forward::LastStore;
use super::misses::{Awaited, Entering, Look, Waiting};
use super::order::Sequence;
use super::translate::Then;
use super::window::{Issued, Touched, Waiter, Waiters};
use super::{Core, Uncore};
use crate::addr::Hpa;
use crate::cache::{ProgramCounter, Reference, ReferenceKind};
use crate::error::ModelError;
use crate::feed::{LineAccess, Touch};
use crate::request::{Op, RequestKey};

/// What a load has from a store in the queue.
enum Forwarded {
    /// its data, then
    At(Time),
    /// it waits until the store is complete
    Later,
}

impl Core {
    /// The addresses of a row that had to wait for them are known: look its loads up.
    pub(super) fn issue_row<U: Uncore>(&mut self, sequence: Sequence, uncore: &mut U) -> Result<(), ModelError> {
        let touched = *self.window.touched(sequence);
        let ready = self.window.entry(sequence).address_ready;
        let mut accesses = std::mem::take(&mut self.issuing);
        accesses.clear();
        self.lines.append_to(touched.lines, &mut accesses);
        let issued = self.issue(sequence, ready, &touched, &accesses, uncore);
        self.issuing = accesses;
        let issued = issued?;
        self.window.entry(sequence).issued(issued);
        Ok(())
    }

    /// The addresses are known at `ready`: look the loads up.
    #[inline]
    pub(super) fn issue<U: Uncore>(
        &mut self,
        sequence: Sequence,
        ready: Time,
        touched: &Touched,
        accesses: &[LineAccess],
        uncore: &mut U,
    ) -> Result<Issued, ModelError> {
        let (mut data_ready, mut waits, mut later) = (ready, 0, Time::ZERO);
        let mut source = touched.source;
        let prefetches = matches!(touched.touch, Touch::Prefetch | Touch::PrefetchToOwn);
        let owns = matches!(touched.touch, Touch::Locked | Touch::PrefetchToOwn);
        let op = if owns { Op::Own } else { Op::Load };
        let (l2_hits, registers) = (self.stats.l2_hits.get(), self.stats.device_accesses.get());
        for access in accesses.iter().copied() {
            if access.store {
                // A store is complete when its address is translated too.
                match self.translate(access, ready, Then::Wake(Waiter::Data(sequence)), uncore)? {
                    Some(known) => data_ready = data_ready.max(known),
                    None => waits += 1,
                }
                continue;
            }
            self.stats.loads.increment();
            let at = self.ports.load(ready);
            if prefetches {
                self.reach(access, op, None, at, uncore)?;
                continue;
            }
            let forwarded = source.take().and_then(|store| self.forward(store, sequence, at));
            let ready = match forwarded {
                Some(Forwarded::At(ready)) => Some(ready),
                Some(Forwarded::Later) => {
                    later += self.timing.l1;
                    None
                }
                None => self.reach(access, op, Some(Waiter::Data(sequence)), at, uncore)?,
            };
            match ready {
                Some(ready) => data_ready = data_ready.max(ready),
                None => waits += 1,
            }
        }
        let source = match () {
            () if waits > 0 => Source::Request,
            () if self.stats.device_accesses.get() > registers => Source::Registers,
            () if self.stats.l2_hits.get() > l2_hits => Source::L2,
            () => Source::L1,
        };
        Ok(Issued { data_ready, waits, source, later })
    }

    /// When a store in the queue gives the load its data, as fast as L1 would; `None` if the store has left the queue.
    #[inline]
    fn forward(&mut self, store: LastStore, load: Sequence, at: Time) -> Option<Forwarded> {
        if !self.stores.holds(store.number, at) {
            return None;
        }
        self.stats.forwarded.increment();
        // What was dispatched a window before this load was committed before it; its row is another's by now.
        if self.window.has_forgotten(store.sequence) {
            return Some(Forwarded::At(at + self.timing.l1));
        }
        let Some(complete) = self.window.complete(store.sequence) else {
            self.window.wait_for(store.sequence, Waiter::Data(load));
            return Some(Forwarded::Later);
        };
        Some(Forwarded::At(complete.max(at) + self.timing.l1))
    }

    /// Translate an address and look its line up: as [`Core::fetch`].
    #[inline(always)]
    pub(super) fn reach<U: Uncore>(
        &mut self,
        access: LineAccess,
        op: Op,
        waiter: Option<Waiter>,
        at: Time,
        uncore: &mut U,
    ) -> Result<Option<Time>, ModelError> {
        match self.translate(access, at, Then::Fetch { op, waiter }, uncore)? {
            Some(known) => self.fetch(access, op, waiter, at, known, uncore),
            None => Ok(None),
        }
    }

    /// Look up at `at` a line that was wanted since `born`: when it is there; `None` if the waiter, if there is one, will
    /// be woken.
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
        let hit = self.caches.hits_l1(line, store, by);
        if self.prefetch.is_some() && op == Op::Load {
            self.follow_stride(access, at, uncore)?;
        }
        if hit {
            self.stats.l1_hits.increment();
            return Ok(Some(if matches!(waiter, Some(Waiter::Store(_))) { at } else { at + self.timing.l1 }));
        }
        self.miss_l1(line, Look { op, by, store, waiters: Waiters::default(), born, known: at }, waiter, uncore)
    }

    /// A line that L1 does not have, or not to be changed.
    #[inline(never)]
    fn miss_l1<U: Uncore>(
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
            // The caller goes on by itself.
            self.window.unlink(waiters);
        }
        Ok(ready)
    }

    /// What a look-up is to the caches: nobody waits for what an instruction only reads ahead.
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

    /// An L1 miss has a fill buffer at `at`: when its line is there, if L2 has it; else its waiters will be woken.
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
            self.misses.buffers.give_back(ready);
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
            let op = if store { Op::Own } else { op };
            let key = uncore.request(by, line, op, born, known)?;
            self.enter_superqueue(key, at, uncore);
        }
        if self.prefetch.is_some() && op != Op::Walk {
            self.read_ahead(line, hit, at, uncore)?;
        }
        Ok(ready)
    }

    /// A request leaves for the home agents as soon as the superqueue has an entry for it.
    pub(super) fn enter_superqueue<U: Uncore>(&mut self, key: RequestKey, at: Time, uncore: &mut U) {
        match self.misses.superqueue.take(at) {
            Some(at) => uncore.depart(key, at),
            None => self.misses.superqueue.wait(Entering::Request(key)),
        }
    }

    /// A victim of L2 leaves for the LLC as soon as the superqueue has an entry for it.
    pub(super) fn evict<U: Uncore>(&mut self, line: Hpa, at: Time, uncore: &mut U) {
        match self.misses.superqueue.take(at) {
            Some(at) => self.leave_l2(line, at, uncore),
            None => self.misses.superqueue.wait(Entering::Victim(line)),
        }
    }

    /// A victim of L2 has an entry of the superqueue, which it holds until the home agent has pulled it.
    fn leave_l2<U: Uncore>(&mut self, line: Hpa, at: Time, uncore: &mut U) {
        if let Some(pulled) = uncore.pull(self.id, line, at) {
            self.misses.superqueue.give_back(pulled);
        }
    }

    /// An entry of the superqueue is free: who waits for one has it.
    pub(super) fn leave_superqueue<U: Uncore>(&mut self, now: Time, uncore: &mut U) {
        self.misses.superqueue.give_back(now);
        while let Some((next, free)) = self.misses.superqueue.serve() {
            let at = free.max(now);
            match next {
                Entering::Request(key) => uncore.depart(key, at),
                Entering::Victim(line) => self.leave_l2(line, at, uncore),
            }
        }
    }

    /// Gives free fill buffers to the misses that wait for one. If L2 has the line by now, its waiters go on `awake`.
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
