//! Frames: the physical pages of each node, dealt at random as after a long uptime.
//!
//! ```text
//!   free >= high: kswapd sleeps    low .. high: it works until high (promo where promotions want room)
//!   min .. low: it is woken        free < min: only the kernel takes frames; others fall back, or swap
//! ```
//! Source of the watermarks' order and gaps: Linux, mm/page_alloc.c (watermark_scale_factor = 10: 0.1 % of the node),
//! with a least gap, as the nodes here are small. Not modelled: zones, per-CPU lists, huge frames.

use std::collections::VecDeque;

use cxlab_kernel::Stream;

use crate::addr::{Hpa, LINE_BYTES, NODE_STRIDE, PAGE_BYTES};
use crate::home::AddressRange;
use crate::request::NodeId;

/// Assumption: so many frames lie between two watermarks of a small node.
const LEAST_GAP: usize = 8;

/// A physical page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    pub node: NodeId,
    pub number: u32,
}

/// Frames of each node, in the order of the machine's nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capacity(pub Vec<u32>);

struct NodeFrames {
    free: VecDeque<u32>,
    capacity: usize,
}

pub(super) struct Frames {
    nodes: Vec<NodeFrames>,
}

impl Frame {
    /// A line of it.
    #[inline]
    #[must_use]
    pub fn line(self, number: u64) -> Hpa {
        Hpa::new(u64::from(self.node.0) * NODE_STRIDE + u64::from(self.number) * PAGE_BYTES + number * LINE_BYTES)
    }
}

impl Capacity {
    /// Address ranges of the nodes.
    #[must_use]
    pub fn ranges(&self) -> Vec<AddressRange> {
        let range = |(node, frames): (usize, &u32)| AddressRange {
            start: node as u64 * NODE_STRIDE,
            length: u64::from((*frames).max(1)) * PAGE_BYTES,
            node: node as u16,
        };
        self.0.iter().enumerate().map(range).collect()
    }
}

impl Frames {
    pub fn new(capacity: &Capacity, seed: u64) -> Frames {
        let deal = |(node, frames): (usize, &u32)| {
            let mut random = Stream::new(seed, &format!("frames of node {node}"));
            let mut free: Vec<u32> = (0..*frames).collect();
            // Fisher and Yates (Knuth vol. 2, 3.4.2 P).
            for last in (1..free.len()).rev() {
                free.swap(last, random.below(last as u64 + 1) as usize);
            }
            NodeFrames { capacity: free.len(), free: free.into() }
        };
        Frames { nodes: capacity.0.iter().enumerate().map(deal).collect() }
    }

    pub fn nodes(&self) -> usize {
        self.nodes.len()
    }

    fn node(&self, node: NodeId) -> &NodeFrames {
        &self.nodes[usize::from(node.0)]
    }

    pub fn free(&self, node: NodeId) -> usize {
        self.node(node).free.len()
    }

    pub fn capacity(&self, node: NodeId) -> usize {
        self.node(node).capacity
    }

    fn gap(&self, node: NodeId) -> usize {
        (self.capacity(node) / 1000).max(LEAST_GAP)
    }

    pub fn min(&self, node: NodeId) -> usize {
        self.gap(node)
    }

    pub fn low(&self, node: NodeId) -> usize {
        2 * self.gap(node)
    }

    pub fn high(&self, node: NodeId) -> usize {
        3 * self.gap(node)
    }

    /// Where kswapd stops if promotions want room (WMARK_PROMO).
    pub fn promo(&self, node: NodeId) -> usize {
        4 * self.gap(node)
    }

    /// A frame that leaves at least `left` others free.
    pub fn take(&mut self, node: NodeId, left: usize) -> Option<Frame> {
        let frames = &mut self.nodes[usize::from(node.0)].free;
        if frames.len() <= left {
            return None;
        }
        frames.pop_front().map(|number| Frame { node, number })
    }

    pub fn give_back(&mut self, frame: Frame) {
        self.nodes[usize::from(frame.node.0)].free.push_back(frame.number);
    }
}
