//! Buffers: which physical lines a thread's array is made of.
//!
//! ```text
//!   line of the array -> 4 KiB page -> node, by the weights in turn -> 2 MiB frame of that node, dealt at random
//! ```
//!
//! Pages go round the nodes as MPOL_WEIGHTED_INTERLEAVE has them (Linux, mempolicy); a frame is where a huge page
//! happens to be, so threads do not march through the banks in step.

use std::rc::Rc;

use cxlab_kernel::Stream;

use crate::MachineSpec;
use crate::addr::{Hpa, LINE_BYTES, PAGE_BYTES};
use crate::machine::AddressRange;
use crate::request::NodeId;

const FRAME_BYTES: u64 = 2 << 20;
/// Of each node: more than 64 buffers that no LLC holds.
const NODE_BYTES: u64 = 8 << 30;
/// Between the first bytes of two nodes: more than any node has.
const NODE_STRIDE: u64 = 1 << 44;
const LINES_PER_PAGE: u64 = PAGE_BYTES / LINE_BYTES;
const PAGES_PER_FRAME: u64 = FRAME_BYTES / PAGE_BYTES;

/// The frames of all nodes that are not yet dealt.
pub struct Frames {
    nodes: Vec<Vec<u64>>,
    /// frames of each node for one buffer
    each: usize,
}

/// A thread's array.
#[derive(Clone, Debug)]
pub struct Buffer {
    nodes: Vec<Part>,
    /// which part each page of a round is in, and its place among the pages of that part in the round
    round: Vec<(usize, u64)>,
    lines: u64,
}

#[derive(Clone, Debug)]
struct Part {
    weight: u64,
    frames: Rc<[u64]>,
}

impl Frames {
    pub fn new(spec: &MachineSpec, buffers: u16) -> Frames {
        let frames = NODE_BYTES / FRAME_BYTES;
        let deal = |node: usize| {
            let mut random = Stream::new(0, &format!("frames of node {node}"));
            let start = node as u64 * NODE_STRIDE;
            let mut frames: Vec<u64> = (0..frames).map(|frame| start + frame * FRAME_BYTES).collect();
            // Fisher and Yates (Knuth vol. 2, 3.4.2 P).
            for last in (1..frames.len()).rev() {
                frames.swap(last, random.below(last as u64 + 1) as usize);
            }
            frames
        };
        Frames { nodes: (0..spec.nodes.len()).map(deal).collect(), each: frames as usize / usize::from(buffers) }
    }

    pub fn ranges(&self) -> Vec<AddressRange> {
        let range =
            |node: usize| AddressRange { start: node as u64 * NODE_STRIDE, length: NODE_BYTES, node: node as u16 };
        (0..self.nodes.len()).map(range).collect()
    }

    /// Deal a buffer whose pages are shared so.
    pub fn buffer(&mut self, shares: &[(NodeId, u32)]) -> Buffer {
        let part = |(node, weight): &(NodeId, u32)| {
            let frames = &mut self.nodes[usize::from(node.0)];
            let dealt = frames.split_off(frames.len() - self.each);
            Part { weight: u64::from(*weight), frames: dealt.into() }
        };
        let nodes: Vec<Part> = shares.iter().map(part).collect();
        let pages = |(index, part): (usize, &Part)| (0..part.weight).map(move |place| (index, place));
        let round: Vec<_> = nodes.iter().enumerate().flat_map(pages).collect();
        let most_weight = nodes.iter().map(|part| part.weight).max().expect("a placement names a node");
        let rounds = self.each as u64 * PAGES_PER_FRAME / most_weight;
        let lines = rounds * round.len() as u64 * LINES_PER_PAGE;
        Buffer { nodes, round, lines }
    }
}

impl Buffer {
    pub fn lines(&self) -> u64 {
        self.lines
    }

    /// Where line `number` of the array is; it goes round.
    #[inline]
    pub fn line(&self, number: u64) -> Hpa {
        let number = number % self.lines;
        let (page, inside) = (number / LINES_PER_PAGE, number % LINES_PER_PAGE);
        let length = self.round.len() as u64;
        let (part, place) = self.round[(page % length) as usize];
        let part = &self.nodes[part];
        let page = page / length * part.weight + place;
        let frame = part.frames[(page / PAGES_PER_FRAME) as usize];
        Hpa::new(frame + page % PAGES_PER_FRAME * PAGE_BYTES + inside * LINE_BYTES)
    }
}
