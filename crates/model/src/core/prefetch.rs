//! Prefetches under way, and what bounds them: the superqueue, and the lines that the LLC may be sent for.

use cxlab_kernel::Time;

use super::misses::{Slot, Waiting};
use super::window::Waiters;
use super::{Core, Uncore};
use crate::cache::{Hit, PrefetchSpec, Prefetchers, Wanted};
use crate::error::ModelError;
use crate::frontend::LineAccess;
use crate::request::{Level, Op};

/// A core's prefetchers and their lines under way.
#[derive(Debug)]
pub struct ReadAhead {
    prefetchers: Prefetchers,
    superqueue: u32,
    llc_lines: u32,
    to_l2: u32,
    to_llc: u32,
}

impl ReadAhead {
    /// `None` where they are off.
    pub fn new(spec: &PrefetchSpec) -> Option<ReadAhead> {
        spec.enabled.then(|| ReadAhead {
            prefetchers: Prefetchers::new(spec),
            superqueue: *spec.superqueue,
            llc_lines: *spec.llc_lines,
            to_l2: 0,
            to_llc: 0,
        })
    }

    /// Where the next line may come to; `demand` are the misses in the superqueue.
    fn room(&self, demand: u32) -> Option<Level> {
        if demand + self.to_l2 < self.superqueue {
            return Some(Level::L2);
        }
        (self.to_llc < self.llc_lines).then_some(Level::Llc)
    }

    fn under_way(&mut self, level: Level) -> &mut u32 {
        match level {
            Level::L2 => &mut self.to_l2,
            Level::Llc => &mut self.to_llc,
        }
    }

    /// A prefetched line is here.
    pub fn returned(&mut self, level: Level) {
        *self.under_way(level) -= 1;
    }
}

impl Core {
    /// Let the prefetchers see an access.
    pub(super) fn read_ahead<U: Uncore>(
        &mut self,
        access: LineAccess,
        hit: Hit,
        at: Time,
        uncore: &mut U,
    ) -> Result<(), ModelError> {
        let Some(ahead) = &mut self.prefetch else { return Ok(()) };
        let strided =
            if access.store { Wanted::default() } else { ahead.prefetchers.loaded(access.place, access.line()) };
        let streamed = if hit == Hit::L1 { Wanted::default() } else { ahead.prefetchers.missed(access.line()) };
        self.ask(strided, at, uncore)?;
        self.overtake(at, uncore);
        self.stream(streamed, at, uncore)
    }

    /// A load that waits for a fill buffer finds its line in L2 later, if a stream asks for it meanwhile.
    pub(super) fn overtake<U: Uncore>(&mut self, at: Time, uncore: &mut U) {
        while let Some(Waiting { key, awaited: Some(line) }) = self.misses.first_waiting() {
            let Some(ahead) = self.prefetch.as_mut() else { return };
            let level = ahead.room(self.misses.held());
            let Some(level) = level.filter(|_| ahead.prefetchers.follows(line)) else { return };
            if uncore.congested(line, level) {
                self.stats.prefetches_refused.increment();
                return;
            }
            *ahead.under_way(level) += 1;
            self.misses.leave_as_prefetch(line, level);
            uncore.depart(key, at);
        }
    }

    fn stream<U: Uncore>(&mut self, wanted: Wanted, at: Time, uncore: &mut U) -> Result<(), ModelError> {
        let refused = self.ask(wanted, at, uncore)?;
        if let Some(ahead) = self.prefetch.as_mut().filter(|_| refused > 0) {
            ahead.prefetchers.refused(refused);
        }
        Ok(())
    }

    /// Ask for lines that are neither here nor on their way: how many were refused.
    fn ask<U: Uncore>(&mut self, wanted: Wanted, at: Time, uncore: &mut U) -> Result<u32, ModelError> {
        let mut lines = wanted;
        while let Some(line) = lines.next() {
            if self.caches.holds(line) || self.misses.awaits(line) {
                continue;
            }
            let ahead = self.prefetch.as_mut().expect("it wants lines");
            let level = ahead.room(self.misses.held());
            let Some(level) = level else { return Ok(lines.left() + 1) };
            if uncore.congested(line, level) {
                self.stats.prefetches_refused.increment();
                return Ok(lines.left() + 1);
            }
            let key = uncore.request(self.id, line, Op::Prefetch(level), at, at)?;
            uncore.depart(key, at);
            *ahead.under_way(level) += 1;
            self.stats.prefetches.increment();
            self.misses.await_line(line, false, Waiters::default(), Slot::Prefetch(level));
        }
        Ok(0)
    }
}
