//! Address translation of a row once its addresses are known. Its loads go on to a store in the queue, or to the
//! caches.

use cxlab_kernel::Time;

use super::cpi_stack::Source;
use super::forward::LastStore;
use super::order::Sequence;
use super::translate::Then;
use super::window::{Issued, Touched, Waiter};
use super::{Core, Uncore};
use crate::error::ModelError;
use crate::feed::{LineAccess, Touch};
use crate::request::Op;

/// Result of asking a store in the queue for a load's data.
enum Forwarded {
    /// its data, at this time
    At(Time),
    /// the load waits until the store is complete
    Later,
}

impl Core {
    /// Looks up the loads of a row whose addresses have become known.
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

    /// Looks up the loads of a row whose addresses are known at `ready`.
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
                // A store is complete only when its address is translated.
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

    /// When a store in the queue gives the load its data, as fast as L1 does. `None` if the store has left the queue.
    #[inline]
    fn forward(&mut self, store: LastStore, load: Sequence, at: Time) -> Option<Forwarded> {
        if !self.stores.holds(store.number, at) {
            return None;
        }
        self.stats.forwarded.increment();
        // A store that was dispatched a window before this load was committed before the load. Another instruction has
        // its row by now.
        if self.window.has_forgotten(store.sequence) {
            return Some(Forwarded::At(at + self.timing.l1));
        }
        let Some(complete) = self.window.complete(store.sequence) else {
            self.window.wait_for(store.sequence, Waiter::Data(load));
            return Some(Forwarded::Later);
        };
        Some(Forwarded::At(complete.max(at) + self.timing.l1))
    }

    /// Translates an address and looks its line up, like [`Core::fetch`].
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
}
