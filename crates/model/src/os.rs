//! The operating system of the model: it knows where pages are, and moves them.
//!
//! ```text
//!   application --virtual line--> page table --present--> physical line -> core
//!                                    | not so
//!                                    v
//!        fault: first touch (mempolicy -> frames) | hint fault -> policy -> promotion | wait | swap-in
//!        kswapd, on a core of its own: LRU by accessed bits -> demotion | swap-out
//! ```
//!
//! Kernel work is a program of the core that does it. A migration unmaps, shoots the TLBs down, loads and stores 64
//! lines, and maps again. So its bytes are on the channels and its time on the cores. Its page is away meanwhile. A
//! policy sees accessed bits, hint faults, free frames and the clock; never who will be accessed next. Not modelled:
//! huge pages, page tables' own memory, page cache, several threads of kswapd, memory control groups.

mod costs;
mod error;
mod fault;
mod frames;
mod lru;
mod mempolicy;
mod migration;
mod page_table;
pub mod policy;
mod process;
mod reclaim;
mod stats;
mod swap;
mod system;
mod work;

use std::collections::VecDeque;

use cxlab_kernel::Time;

use crate::addr::Hpa;
pub use crate::addr::{LINES_PER_PAGE, PageNumber, VirtualLine};
use crate::mem::AccessKind;
use crate::request::NodeId;

pub use costs::{COSTS, CostSpec};
pub use error::OsError;
pub use frames::{Capacity, Frame};
pub use mempolicy::{Mempolicy, Placement, Share};
pub use page_table::Mapping;
pub use process::Process;
pub use stats::OsStats;
pub use swap::{SSD, SsdSpec};
pub use system::System;
pub use work::{Effect, Reason, Work};

use frames::Frames;
use lru::Lru;
use page_table::PageTable;
use policy::Tiering;
use swap::Ssd;

/// State of the operating system that all cores share.
pub struct Os {
    costs: CostSpec,
    table: PageTable,
    frames: Frames,
    lru: Lru,
    tiering: Tiering,
    swap: Option<Ssd>,
    /// pages that the SSD is to move, in the order in which it was asked
    dma: Vec<(Frame, AccessKind)>,
    processes: Vec<Process>,
    /// the process that each core runs; none: kswapd
    runs: Vec<Option<usize>>,
    /// interrupt handling that a core has still to do
    interrupts: Vec<Time>,
    /// the fast tier and the slow one, if there is one
    tiers: (NodeId, Option<NodeId>),
    stats: OsStats,
    /// kernel time of each core since counting began
    kernel_time: Vec<Time>,
}

impl Os {
    #[must_use]
    pub fn stats(&self) -> &OsStats {
        &self.stats
    }

    #[must_use]
    pub fn processes(&self) -> &[Process] {
        &self.processes
    }

    /// Kernel time of each core since counting began; the last core is kswapd's.
    #[must_use]
    pub fn kernel_time(&self) -> &[Time] {
        &self.kernel_time
    }

    /// Pages of a process that are on each node.
    #[must_use]
    pub fn resident(&self, process: usize) -> Vec<u64> {
        let mut count = vec![0; self.frames.nodes()];
        for page in self.processes[process].pages() {
            if let Some(frame) = self.table.page(page).mapping.frame() {
                count[usize::from(frame.node.0)] += 1;
            }
        }
        count
    }

    /// Count from here.
    pub fn clear_stats(&mut self) {
        self.stats = OsStats::default();
        self.kernel_time.fill(Time::ZERO);
    }

    /// Where a line is, if its page is mapped: what a core's page walk does, accessed bit included.
    #[inline]
    fn translate(&mut self, line: VirtualLine) -> Result<Hpa, PageNumber> {
        let number = line.page();
        let page = self.table.page_mut(number);
        match page.mapping {
            Mapping::Present(frame) => {
                page.accessed = true;
                Ok(frame.line(line.in_page()))
            }
            _ => Err(number),
        }
    }

    /// The time has come for an effect of kernel work on a core.
    fn happen(&mut self, effect: Effect, now: Time, core: usize, work: &mut VecDeque<Work>) -> Result<(), OsError> {
        match effect {
            Effect::Fault(page) => self.fault(page, now, core, work)?,
            Effect::Moved { page, to, reason } => self.moved(page, to, reason, now),
            Effect::SwappedIn { page, asked } => self.swapped_in(page, asked, now)?,
            Effect::Scan => self.scan(now, core, work),
            Effect::Reclaim => self.reclaim(now, core, work),
        }
        for (frame, kind) in self.dma.drain(..).rev() {
            work.push_front(Work::Dma { frame, kind });
        }
        Ok(())
    }

    /// Have the other cores of a process drop their translations: what the initiator waits.
    fn shoot_down(&mut self, process: usize, initiator: usize) -> Time {
        let mut others = 0;
        for core in self.processes[process].cores() {
            if core != initiator {
                self.interrupts[core] += self.costs.flush_handler;
                others += 1;
            }
        }
        self.stats.shootdowns.increment();
        self.stats.interrupts.add(others);
        if others == 0 { self.costs.local_flush } else { self.costs.shootdown + self.costs.shootdown_each * others }
    }

    fn slow(&self, frame: Frame) -> bool {
        self.tiers.1 == Some(frame.node)
    }
}
