//! The requests of a core's prefetchers. L1's take fill buffers, L2's take entries of the superqueue, while there are some.

use cxlab_kernel::Time;

use super::misses::Awaited;
use super::window::Waiters;
use super::{Core, Uncore};
use crate::addr::Hpa;
use crate::cache::{Reference, ReferenceKind, Wanted};
use crate::error::ModelError;
use crate::feed::LineAccess;
use crate::request::{Op, Want};

/// Answer to wanted lines.
struct Asked {
    /// those that were asked for, with the one that was refused
    lines: u32,
    /// those that were not requested: the one that was refused, and all behind it
    left: u32,
}

impl Core {
    /// Shows a load to the prefetchers of L1.
    #[inline]
    pub(super) fn look_ahead<U: Uncore>(
        &mut self,
        access: LineAccess,
        at: Time,
        uncore: &mut U,
    ) -> Result<(), ModelError> {
        for line in self.wants_near(access.line(), access.place).into_iter().flatten() {
            self.bring_near(line, at, uncore)?;
        }
        Ok(())
    }

    /// Brings a line to L1 that is neither there nor on its way there, if half of the fill buffers are free. The
    /// prefetchers of L2 see it.
    fn bring_near<U: Uncore>(&mut self, line: Hpa, at: Time, uncore: &mut U) -> Result<(), ModelError> {
        if self.caches.is_near(line) {
            return Ok(());
        }
        if !self.misses.buffers.is_half_free(at) {
            if !self.misses.comes_near(line) {
                self.refusals_near.count(1, 1);
            }
            return Ok(());
        }
        let by = Reference::of_core(self.id, ReferenceKind::Prefetch);
        let in_l2 = self.caches.hits_l2(line, false, by);
        if in_l2 {
            self.misses.buffers.take(at);
            self.misses.comes_from_l2(line, at + self.timing.l2);
        } else if self.misses.awaits(line) {
            if !self.misses.wants_near(line, at) {
                return Ok(());
            }
        } else if self.has_no_way(line, at, uncore) {
            self.refusals_near.count(1, 1);
            return Ok(());
        } else {
            let buffer = self.misses.buffers.take(at);
            self.read(line, buffer, at, uncore)?;
        }
        self.refusals_near.count(1, 0);
        self.stats.l1_prefetches.increment();
        self.read_ahead(line, in_l2, at, uncore)
    }

    /// Shows a look-up in L2 to the prefetchers of L2.
    pub(super) fn read_ahead<U: Uncore>(
        &mut self,
        line: Hpa,
        hit: bool,
        at: Time,
        uncore: &mut U,
    ) -> Result<(), ModelError> {
        let [pair, streamed] = self.wants(line, hit);
        let pair = self.ask(pair, at, uncore)?;
        let streamed = self.ask(streamed, at, uncore)?;
        for asked in [&pair, &streamed] {
            self.refusals_ahead.count(asked.lines, u32::from(asked.left > 0));
        }
        self.was_refused(streamed.left);
        Ok(())
    }

    /// Requests the line of a load that waits for a fill buffer. The other prefetchers learn nothing from it, because
    /// the load looks into L2 when it has its buffer.
    pub(super) fn fetch_homeless<U: Uncore>(&mut self, line: Hpa, at: Time, uncore: &mut U) -> Result<(), ModelError> {
        let Some(prefetchers) = &self.prefetch else { return Ok(()) };
        self.ask(prefetchers.homeless(line), at, uncore).map(drop)
    }

    /// Tells the streamer that so many of the lines that it wanted last were refused.
    pub(crate) fn was_refused(&mut self, lines: u32) {
        if let Some(prefetchers) = self.prefetch.as_mut().filter(|_| lines > 0) {
            prefetchers.refused(lines);
        }
    }

    /// Requests the wanted lines that are neither here nor on their way, up to the first for which there is no room.
    fn ask<U: Uncore>(&mut self, wanted: Wanted, at: Time, uncore: &mut U) -> Result<Asked, ModelError> {
        let (mut wanted, mut lines) = (wanted, 0);
        while let Some(line) = wanted.next() {
            if self.caches.holds(line) || self.misses.awaits(line) {
                continue;
            }
            lines += 1;
            if self.has_no_way(line, at, uncore) {
                return Ok(Asked { lines, left: wanted.left() + 1 });
            }
            self.read(line, None, at, uncore)?;
        }
        Ok(Asked { lines, left: 0 })
    }

    /// Whether the superqueue has no room, or requests queue on the way to the line's memory.
    fn has_no_way<U: Uncore>(&mut self, line: Hpa, at: Time, uncore: &U) -> bool {
        if !self.misses.superqueue.has_room(at) {
            return true;
        }
        let congested = uncore.congested(line, at);
        if congested {
            self.stats.prefetches_refused.increment();
        }
        congested
    }

    /// Requests a line that nobody waits for. The superqueue has room. With a fill buffer the line comes to L1.
    fn read<U: Uncore>(&mut self, line: Hpa, buffer: Option<Time>, at: Time, uncore: &mut U) -> Result<(), ModelError> {
        self.expect_victim(line, uncore);
        let by = Reference::of_core(self.id, ReferenceKind::Prefetch);
        let leaves = self.misses.superqueue.take(at);
        let key = uncore.request(Want { by, line, op: Op::Prefetch, born: at, translated: at }, leaves)?;
        self.wait_for_superqueue(key, leaves);
        self.stats.prefetches.increment();
        self.misses.await_line(line, Awaited { waiters: Waiters::default(), store: false, buffer });
        Ok(())
    }
}
