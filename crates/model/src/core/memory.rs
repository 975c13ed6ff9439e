//! Loads and the caches: from a known address to the data, or to a request.

use cxlab_kernel::{Grant, Time};

use super::forward::LastStore;
use super::misses::Slot;
use super::order::Sequence;
use super::ports::Kind;
use super::window::{Waiter, Waiters};
use super::{Core, Uncore};
use crate::addr::Hpa;
use crate::cache::Hit;
use crate::error::ModelError;
use crate::frontend::{LineAccess, Touch};
use crate::request::Op;

impl Core {
    /// The addresses are known: look the loads up.
    #[inline]
    pub(super) fn issue<U: Uncore>(&mut self, sequence: Sequence, uncore: &mut U) -> Result<(), ModelError> {
        let touched = *self.window.touched(sequence);
        if !touched.load {
            return Ok(());
        }
        let ready = self.window.entry(sequence).address_ready;
        let (mut data_ready, mut waits) = (ready, 0);
        let (mut index, mut source) = (0, touched.source);
        let prefetches = matches!(touched.touch, Touch::Prefetch | Touch::PrefetchToOwn);
        let owns = matches!(touched.touch, Touch::Locked | Touch::PrefetchToOwn);
        let op = if owns { Op::Own } else { Op::Load };
        while let Some(access) = self.lines.get(touched.lines, index) {
            index += 1;
            if access.store {
                continue;
            }
            self.stats.loads.increment();
            let at = self.ports.begin(Kind::Load, ready);
            if prefetches {
                self.fetch(access, op, None, at, uncore)?;
                continue;
            }
            let ready = match source.take().and_then(|store| self.forward(store, sequence, at)) {
                Some(ready) => ready,
                None => self.fetch(access, op, Some(Waiter::Data(sequence)), at, uncore)?,
            };
            match ready {
                Some(ready) => data_ready = data_ready.max(ready),
                None => waits += 1,
            }
        }
        let entry = self.window.entry(sequence);
        entry.data_ready = entry.data_ready.max(data_ready);
        entry.data_waits += waits;
        Ok(())
    }

    /// When a store in the queue gives the load its data, as fast as L1 would; `Some(None)` if the load will be
    /// woken; `None` if the store has left the queue.
    #[inline]
    fn forward(&mut self, store: LastStore, load: Sequence, at: Time) -> Option<Option<Time>> {
        if !self.stores.holds(store.number, at) {
            return None;
        }
        self.stats.forwarded.increment();
        // What was dispatched a window before this load was committed before it; its row is another's by now.
        if self.window.has_forgotten(store.sequence) {
            return Some(Some(at + self.timing.l1));
        }
        let Some(complete) = self.window.entry(store.sequence).complete else {
            self.window.wait_for(store.sequence, Waiter::Data(load));
            self.window.entry(load).latency += self.timing.l1;
            return Some(None);
        };
        Some(Some(complete.max(at) + self.timing.l1))
    }

    /// Look a line up at `at`: when it is there; `None` if the waiter, if there is one, will be woken.
    #[inline]
    pub(super) fn fetch<U: Uncore>(
        &mut self,
        access: LineAccess,
        op: Op,
        waiter: Option<Waiter>,
        at: Time,
        uncore: &mut U,
    ) -> Result<Option<Time>, ModelError> {
        if access.device {
            self.stats.device_accesses.increment();
            return Ok(Some(at + self.timing.device_access));
        }
        let store = op == Op::Own;
        let hit = self.caches.access(access.line(), store);
        let ready = match hit {
            Hit::L1 => {
                self.stats.l1_hits.increment();
                Some(if matches!(waiter, Some(Waiter::Store(_))) { at } else { at + self.timing.l1 })
            }
            Hit::L2 => {
                self.stats.l2_hits.increment();
                Some(at + self.timing.l2)
            }
            Hit::Neither => {
                self.miss(access.line(), op, waiter, at, uncore)?;
                None
            }
        };
        if self.prefetch.is_some() {
            self.read_ahead(access, hit, at, uncore)?;
        }
        Ok(ready)
    }

    fn miss<U: Uncore>(
        &mut self,
        line: Hpa,
        op: Op,
        waiter: Option<Waiter>,
        at: Time,
        uncore: &mut U,
    ) -> Result<(), ModelError> {
        let store = op == Op::Own;
        if let Some(waiters) = self.misses.join(line, store) {
            self.stats.merged_misses.increment();
            if let Some(waiter) = waiter {
                *waiters = self.window.link(waiter, *waiters);
            }
            return Ok(());
        }
        self.stats.misses.increment();
        if let Some(combined) = self.combining.give_up(line) {
            self.post_combined(combined, None, at, uncore)?;
        }
        let waiters = waiter.map_or_else(Waiters::default, |waiter| self.window.link(waiter, Waiters::default()));
        self.misses.await_line(line, store, waiters, Slot::Buffer);
        let key = uncore.request(self.id, line, op, at)?;
        if self.misses.take_buffer(key, Some(line)) == Grant::Now {
            uncore.depart(key, at);
        }
        Ok(())
    }
}
