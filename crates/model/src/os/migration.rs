//! Migration moves a page from one frame to another.
//!
//! ```text
//!   take a frame -> migration entry -> [ unmap | shoot-down | 64 loads, 64 stores past the caches | fence ] -> map
//!                   others wait                      time of the core that does it                           go on
//! ```
//! The stores bypass the caches, as rep movs does for a page (no read for ownership). So a migration reads 4096 B and
//! writes 4096 B. A page marked for hint faults is not in any TLB, so its promotion needs no shoot-down (Linux,
//! mm/rmap.c: PROT_NONE entries are not flushed again). Not modelled: migration of a batch with one flush (Linux
//! 6.3), copies by a device.

use std::collections::VecDeque;

use cxlab_kernel::Time;

use super::{Effect, Frame, LINES_PER_PAGE, Mapping, Os, PageNumber, Reason, Work};
use crate::request::NodeId;

impl Os {
    /// Begin to move a present page to a node; whether a frame was to be had.
    pub(super) fn migrate(
        &mut self,
        number: PageNumber,
        to: NodeId,
        left: usize,
        reason: Reason,
        core: usize,
        work: &mut VecDeque<Work>,
    ) -> bool {
        let page = *self.table.page(number);
        let (Mapping::Present(from) | Mapping::Hinted(from, _)) = page.mapping else { return false };
        let Some(frame) = self.frames.take(to, left) else { return false };
        let flush = match reason {
            Reason::Promotion { .. } => self.costs.local_flush,
            Reason::Demotion { .. } => self.shoot_down(usize::from(page.process), core),
        };
        self.table.page_mut(number).mapping = Mapping::Moving(from);
        work.push_back(Work::Spend(self.costs.unmap_and_map + flush));
        work.push_back(Work::Copy { from, to: frame, line: 0 });
        work.push_back(Work::Fence);
        work.push_back(Work::Then(Effect::Moved { page: number, to: frame, reason }));
        true
    }

    /// The page is where it should be.
    pub(super) fn moved(&mut self, number: PageNumber, to: Frame, reason: Reason, now: Time) {
        let page = self.table.page_mut(number);
        let Mapping::Moving(from) = page.mapping else { unreachable!("only moving pages arrive") };
        page.mapping = Mapping::Present(to);
        self.stats.copied_lines.add(LINES_PER_PAGE);
        let begun = match reason {
            Reason::Promotion { begun } => {
                self.stats.promotions.increment();
                if std::mem::replace(&mut page.demoted, false) {
                    self.stats.ping_pongs.increment();
                }
                begun
            }
            Reason::Demotion { begun } => {
                self.stats.demotions.increment();
                page.demoted = true;
                begun
            }
        };
        self.stats.migration_ns.record(now.since(begun));
        let active = matches!(reason, Reason::Promotion { .. });
        self.frames.give_back(from);
        self.lru.add(&mut self.table, number, to.node, active);
    }
}
