//! Faults: what happens to an access whose page is not mapped.
//!
//! Not modelled: protection faults, copy on write, faults of file pages.

use std::collections::VecDeque;

use cxlab_kernel::Time;

use super::policy::HintFault;
use super::{Effect, Frame, Mapping, Os, OsError, PageNumber, Reason, Work};
use crate::request::NodeId;

impl Os {
    pub(super) fn fault(
        &mut self,
        number: PageNumber,
        now: Time,
        core: usize,
        work: &mut VecDeque<Work>,
    ) -> Result<(), OsError> {
        match self.table.page(number).mapping {
            // Another core has brought it in the meantime.
            Mapping::Present(_) => {}
            Mapping::Untouched => {
                let frame = self.place(number)?;
                self.stats.first_touches.increment();
                work.push_back(Work::Spend(self.costs.fault));
                work.push_back(Work::Clear { frame, line: 0 });
            }
            Mapping::Hinted(frame, since) => {
                work.push_back(Work::Spend(self.costs.fault));
                self.hint_fault(number, frame, since, now, core, work);
            }
            Mapping::Moving(_) => {
                self.stats.wait_ns.record(self.costs.poll);
                work.push_back(Work::Sleep { until: now + self.costs.poll });
                work.push_back(Work::Then(Effect::Fault(number)));
            }
            Mapping::Swapped => self.swap_in(number, now, work),
        }
        Ok(())
    }

    /// Give an untouched page a frame by its process's mempolicy, and map it.
    pub(super) fn place(&mut self, number: PageNumber) -> Result<Frame, OsError> {
        let process = usize::from(self.table.page(number).process);
        let placement = &mut self.processes[process].placement;
        let (wanted, falls_back) = (placement.next(), placement.falls_back());
        let frame = self.frame(wanted, falls_back).ok_or(OsError::OutOfMemory { page: number })?;
        let page = self.table.page_mut(number);
        (page.mapping, page.accessed) = (Mapping::Present(frame), true);
        self.lru.add(&mut self.table, number, frame.node, false);
        Ok(frame)
    }

    /// A frame of the wanted node, else of the nearest; above the least watermark as long as any node is.
    fn frame(&mut self, wanted: NodeId, falls_back: bool) -> Option<Frame> {
        let others = (0..self.frames.nodes()).map(|node| NodeId(node as u16)).filter(|node| *node != wanted);
        let nodes: Vec<NodeId> = std::iter::once(wanted).chain(others.filter(|_| falls_back)).collect();
        for least in [true, false] {
            for node in &nodes {
                let left = if least { self.frames.min(*node) } else { 0 };
                if let Some(frame) = self.frames.take(*node, left) {
                    return Some(frame);
                }
            }
        }
        self.swap_out_for(wanted)
    }

    fn hint_fault(
        &mut self,
        number: PageNumber,
        frame: Frame,
        since: Time,
        now: Time,
        core: usize,
        work: &mut VecDeque<Work>,
    ) {
        self.stats.hint_faults.increment();
        let page = self.table.page_mut(number);
        (page.mapping, page.accessed) = (Mapping::Present(frame), true);
        let was_active = page.active;
        let (fast, _) = self.tiers;
        let free = self.frames.free(fast);
        let seen =
            HintFault { latency: now.since(since), active: was_active, free, capacity: self.frames.capacity(fast) };
        let verdict = self.tiering.judge(now, seen, &mut self.stats);
        if verdict.activate && !was_active {
            self.lru.activate(&mut self.table, number, frame.node);
        }
        let Some(left) = verdict.promote_leaving(&self.frames, fast) else { return };
        let was_listed = self.table.page(number).active;
        self.lru.remove(&mut self.table, number, frame.node);
        if !self.migrate(number, fast, left, Reason::Promotion { begun: now }, core, work) {
            self.stats.refused_full.increment();
            self.lru.add(&mut self.table, number, frame.node, was_listed);
        }
    }

    /// Mark pages of the slow tier of the core's process, so that their next accesses fault: task_numa_work.
    pub(super) fn scan(&mut self, now: Time, core: usize, work: &mut VecDeque<Work>) {
        let (Some(scan), Some(id)) = (self.tiering.scan(), self.runs[core]) else { return };
        let process = &mut self.processes[id];
        if now < process.next_scan {
            return;
        }
        process.next_scan = now + scan.period;
        let (first, count, mut cursor) = (process.first.0, process.count, process.cursor);
        let (mut marked, mut looked) = (0, 0);
        while marked < scan.pages && looked < scan.most_looks.min(count) {
            let number = PageNumber(first + cursor);
            cursor = (cursor + 1) % count;
            looked += 1;
            if let Mapping::Present(frame) = self.table.page(number).mapping
                && self.slow(frame)
            {
                self.table.page_mut(number).mapping = Mapping::Hinted(frame, now);
                marked += 1;
            }
        }
        self.processes[id].cursor = cursor;
        self.stats.scanned.add(u64::from(marked));
        let flush = if marked > 0 { self.shoot_down(id, core) } else { Time::ZERO };
        work.push_back(Work::Spend(self.costs.entry * u64::from(looked) + flush));
    }

    /// When the next scan of the core's process is due, if its pages are scanned at all.
    pub(super) fn scan_due(&self, core: usize) -> Option<Time> {
        self.tiering.scan()?;
        self.runs[core].map(|process| self.processes[process].next_scan)
    }
}
