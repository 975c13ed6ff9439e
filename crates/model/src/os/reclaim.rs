//! kswapd keeps frames free, on a core of its own.
//!
//! ```text
//!   fast tier below its mark --oldest inactive page--> slow tier --full?--> SSD
//! ```
//! Source: Linux, mm/vmscan.c (demote_folio_list). TPP (Maruf et al., ASPLOS 2023) for reclaim that is decoupled from
//! allocation: the policy says where it starts and where it stops.

use std::collections::VecDeque;

use cxlab_kernel::Time;

use super::{Effect, Mapping, Os, Reason, Work};
use crate::request::NodeId;

/// Pages that one round looks at: SWAP_CLUSTER_MAX (Linux, include/linux/swap.h).
const ROUND: u32 = 32;

impl Os {
    /// One round: a page leaves, or kswapd sleeps.
    pub(super) fn reclaim(&mut self, now: Time, core: usize, work: &mut VecDeque<Work>) {
        let (fast, slow) = self.tiers;
        let looks = match slow {
            Some(slow) if self.wants_room(fast) && self.tiering.demotes() => self.demote(fast, slow, now, core, work),
            _ => None,
        };
        let looks = looks.or_else(|| self.swap_oldest(slow.unwrap_or(fast), now));
        match looks {
            Some(looks) => work.push_back(Work::Spend(self.costs.entry * u64::from(looks))),
            None => work.push_back(Work::Sleep { until: now + self.costs.kswapd_poll }),
        }
        work.push_back(Work::Then(Effect::Reclaim));
    }

    /// Whether kswapd works: from its start mark until its stop mark.
    fn wants_room(&mut self, node: NodeId) -> bool {
        let (start, stop) = self.tiering.reclaim_marks(&self.frames, node);
        self.tiering.reclaiming(self.frames.free(node), start, stop)
    }

    /// Looks taken; none if there was nothing to look at.
    fn demote(&mut self, fast: NodeId, slow: NodeId, now: Time, core: usize, work: &mut VecDeque<Work>) -> Option<u32> {
        let (victim, looks) = self.lru.victim(&mut self.table, fast, ROUND);
        if let Some(number) = victim
            && !self.migrate(number, slow, 0, Reason::Demotion { begun: now }, core, work)
        {
            self.lru.add(&mut self.table, number, fast, false);
            return None;
        }
        Some(looks)
    }

    fn swap_oldest(&mut self, node: NodeId, now: Time) -> Option<u32> {
        if self.frames.free(node) >= self.frames.low(node) {
            return None;
        }
        let (frame, looks) = self.swap_out(node, Some(now), ROUND);
        if let Some(frame) = frame {
            self.frames.give_back(frame);
        }
        (looks > 0).then_some(looks)
    }

    /// A process ends: its frames are free.
    pub(super) fn release(&mut self, process: usize) {
        for number in self.processes[process].pages() {
            let page = self.table.page_mut(number);
            if let Mapping::Present(frame) | Mapping::Hinted(frame, _) = page.mapping {
                page.mapping = Mapping::Untouched;
                self.lru.remove(&mut self.table, number, frame.node);
                self.frames.give_back(frame);
            }
        }
    }
}
