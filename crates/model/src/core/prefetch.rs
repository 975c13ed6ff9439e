//! The requests of a core's prefetchers. They take entries of the superqueue while it has room.

use cxlab_kernel::Time;

use super::misses::Awaited;
use super::window::Waiters;
use super::{Core, Uncore};
use crate::addr::Hpa;
use crate::cache::{Reference, ReferenceKind, Wanted};
use crate::error::ModelError;
use crate::feed::LineAccess;
use crate::request::{Op, Want};

impl Core {
    /// Shows a load to the stride prefetcher.
    pub(super) fn follow_stride<U: Uncore>(
        &mut self,
        access: LineAccess,
        at: Time,
        uncore: &mut U,
    ) -> Result<(), ModelError> {
        let Some(prefetchers) = &mut self.prefetch else { return Ok(()) };
        let strided = prefetchers.loaded(access.place, access.line());
        self.ask(strided, at, uncore).map(drop)
    }

    /// Shows a look-up of a load or store in L2 to the prefetchers of L2.
    pub(super) fn read_ahead<U: Uncore>(
        &mut self,
        line: Hpa,
        hit: bool,
        at: Time,
        uncore: &mut U,
    ) -> Result<(), ModelError> {
        let Some(prefetchers) = &mut self.prefetch else { return Ok(()) };
        let (pair, streamed) = (prefetchers.pair(line, hit), prefetchers.looked_up(line));
        self.ask(pair, at, uncore)?;
        let refused = self.ask(streamed, at, uncore)?;
        if let Some(prefetchers) = self.prefetch.as_mut().filter(|_| refused > 0) {
            prefetchers.refused(refused);
        }
        Ok(())
    }

    /// Requests the line of a load that waits for a fill buffer. The other prefetchers learn nothing from it, because
    /// the load looks into L2 when it has its buffer.
    pub(super) fn fetch_homeless<U: Uncore>(&mut self, line: Hpa, at: Time, uncore: &mut U) -> Result<(), ModelError> {
        let Some(prefetchers) = &self.prefetch else { return Ok(()) };
        self.ask(prefetchers.homeless(line), at, uncore).map(drop)
    }

    /// Requests the wanted lines that are neither here nor on their way. Returns how many were refused.
    fn ask<U: Uncore>(&mut self, wanted: Wanted, at: Time, uncore: &mut U) -> Result<u32, ModelError> {
        let mut lines = wanted;
        while let Some(line) = lines.next() {
            if self.caches.holds(line) || self.misses.awaits(line) {
                continue;
            }
            if !self.misses.superqueue.has_room(at) {
                return Ok(lines.left() + 1);
            }
            if uncore.congested(line, at) {
                self.stats.prefetches_refused.increment();
                return Ok(lines.left() + 1);
            }
            self.expect_victim(line, uncore);
            let by = Reference::of_core(self.id, ReferenceKind::Prefetch);
            let leaves = self.misses.superqueue.take(at);
            let key = uncore.request(Want { by, line, op: Op::Prefetch, born: at, translated: at }, leaves)?;
            self.wait_for_superqueue(key, leaves);
            self.stats.prefetches.increment();
            self.misses.await_line(line, Awaited { waiters: Waiters::default(), store: false, buffer: None });
        }
        Ok(0)
    }
}
