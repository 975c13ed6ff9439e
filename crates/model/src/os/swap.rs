//! Swap: pages on an SSD, whose commands queue for its channels.
//!
//! ```text
//!   fault on a swapped page -> command -> [ channel, first free ] -> frame -> mapped
//! ```
//! The lines of each page go over the channels of its memory by DMA.
//!
//! Not modelled: read-ahead, and write-back before a frame is free. The write takes a channel's time, but the frame is
//! free at once, as with a swap cache that is clean. A page that was read is mapped while its lines enter the memory.

use std::collections::VecDeque;

use cxlab_kernel::{Server, Time};

use super::{Effect, Frame, Mapping, Os, OsError, PageNumber, Work};
use crate::mem::AccessKind;
use crate::request::NodeId;

/// An SSD's figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SsdSpec {
    /// commands under way at once
    pub channels: usize,
    /// of a read of 4 KiB
    pub read: Time,
    /// of a write of 4 KiB, into the drive's own buffer
    pub write: Time,
}

/// An NVMe drive for data centres. 80 us and 20 us have the order of data sheets (Samsung PM9A3). 64 channels make
/// 800,000 reads a second. Assumptions.
pub const SSD: SsdSpec = SsdSpec { channels: 64, read: Time::from_ns(80_000), write: Time::from_ns(20_000) };

pub(super) struct Ssd {
    spec: SsdSpec,
    channels: Vec<Server>,
    next: usize,
}

impl Ssd {
    pub fn new(spec: SsdSpec) -> Ssd {
        Ssd { channels: (0..spec.channels).map(|_| Server::default()).collect(), spec, next: 0 }
    }

    /// Commands go round the channels: when this one is done.
    fn command(&mut self, now: Time, busy: Time) -> Time {
        self.next = (self.next + 1) % self.channels.len();
        self.channels[self.next].reserve(now, busy) + busy
    }
}

impl Os {
    pub(super) fn swap_in(&mut self, number: PageNumber, now: Time, work: &mut VecDeque<Work>) {
        let ssd = self.swap.as_mut().expect("pages are swapped only where there is swap");
        let done = ssd.command(now, ssd.spec.read);
        work.push_back(Work::Spend(self.costs.fault + self.costs.block_request));
        work.push_back(Work::Sleep { until: done });
        work.push_back(Work::Then(Effect::SwappedIn { page: number, asked: now }));
    }

    pub(super) fn swapped_in(&mut self, number: PageNumber, asked: Time, now: Time) -> Result<(), OsError> {
        // Two threads may have asked for the page.
        if self.table.page(number).mapping == Mapping::Swapped {
            let frame = self.place(number)?;
            self.dma.push((frame, AccessKind::Write));
            self.stats.swap_ins.increment();
        }
        self.stats.swap_wait_ns.record(now.since(asked));
        Ok(())
    }

    /// Write a page of the node to the SSD; its frame.
    pub(super) fn swap_out(&mut self, node: NodeId, now: Option<Time>, most_looks: u32) -> (Option<Frame>, u32) {
        if self.swap.is_none() {
            return (None, 0);
        }
        let (victim, looks) = self.lru.victim(&mut self.table, node, most_looks);
        let Some(number) = victim else { return (None, looks) };
        let Mapping::Present(frame) = self.table.page(number).mapping else { unreachable!("victims are present") };
        let ssd = self.swap.as_mut().expect("it was looked for");
        if let Some(now) = now {
            ssd.command(now, ssd.spec.write);
        }
        self.dma.push((frame, AccessKind::Read));
        self.table.page_mut(number).mapping = Mapping::Swapped;
        self.stats.swap_outs.increment();
        (Some(frame), looks)
    }

    /// Direct reclaim: a frame of a page that goes to the SSD, before time begins or when kswapd is too slow.
    pub(super) fn swap_out_for(&mut self, node: NodeId) -> Option<Frame> {
        // Twice round both lists: the first clears accessed bits.
        let most_looks = 4 * self.frames.capacity(node) as u32;
        self.swap_out(node, None, most_looks).0
    }
}
