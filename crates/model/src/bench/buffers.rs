//! A buffer says which physical lines a thread's array is made of.
//!
//! ```text
//!   line of the array -> 4 KiB page -> node, by the weights in turn -> 2 MiB frame of that node, dealt at random
//! ```
//!
//! Pages go round the nodes as MPOL_WEIGHTED_INTERLEAVE has them (Linux, mempolicy). A frame is where a huge page
//! happens to be. So threads do not march through the banks in step. A buffer has one stretch of virtual addresses
//! for each of its nodes. Pages of 4 KiB lie in frames of 2 MiB too, as Linux's allocator has them after boot.

use std::sync::Arc;

use cxlab_kernel::Stream;
use rustc_hash::FxHashMap;

use crate::MachineSpec;
use crate::addr::{Hpa, LINE_BYTES, LINES_PER_PAGE, NODE_STRIDE, PAGE_BYTES};
use crate::home::AddressRange;
use crate::request::NodeId;
use crate::translation::{AddressSpace, PageSize};

/// Size of a frame that buffers are made of, and so the least size of a buffer.
pub const FRAME_BYTES: u64 = 2 << 20;
/// Least memory of a node: 64 buffers of 128 MiB.
const NODE_BYTES: u64 = 8 << 30;
/// For each buffer, at least: more than an array of MLC's.
const BUFFER_BYTES: u64 = 128 << 20;
/// Behind them on each node, for page tables: more than the PTEs of all buffers of eight nodes take.
const TABLE_BYTES: u64 = 256 << 20;
const PAGES_PER_FRAME: u64 = FRAME_BYTES / PAGE_BYTES;

/// The frames of all nodes that are not yet dealt.
pub struct Frames {
    nodes: Vec<Vec<u64>>,
    /// of each node
    node_bytes: u64,
    /// frames of each node for one buffer
    each: usize,
    /// all frames in the order of their virtual addresses
    order: Arc<FxHashMap<u64, u64>>,
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
    frames: Arc<[u64]>,
}

impl Frames {
    /// Frames of each node for so many buffers, which have `all` bytes together where that is said.
    pub fn new(spec: &MachineSpec, buffers: u16, all: Option<u64>) -> Frames {
        let count = u64::from(buffers);
        let asked = all.map_or(0, |all| all.div_ceil(count * FRAME_BYTES) * count * FRAME_BYTES);
        let node_bytes = NODE_BYTES.max(count * BUFFER_BYTES).max(asked);
        let frames = node_bytes / FRAME_BYTES;
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
        let nodes: Vec<Vec<u64>> = (0..spec.nodes.len()).map(deal).collect();
        // A buffer's frames are the last that are left, in their order.
        let each = frames as usize / usize::from(buffers);
        let order = AddressSpace::frames(nodes.iter().flat_map(|node| node.rchunks(each).flatten().copied()));
        Frames { nodes, node_bytes, each, order }
    }

    /// Address space of the kernels, with its page tables on this node.
    pub fn space(&self, tables: NodeId, size: PageSize) -> AddressSpace {
        let base = Hpa::new(u64::from(tables.0) * NODE_STRIDE + self.node_bytes);
        let space = AddressSpace::new(Arc::clone(&self.order), base, size);
        let most = self.table_bytes();
        assert!(space.tables.bytes().get() <= most, "page tables of more than {most} B");
        space
    }

    /// Room for page tables on each node: a 128th is more than 8 B for each page of 4 KiB, of all nodes together.
    fn table_bytes(&self) -> u64 {
        TABLE_BYTES.max(self.node_bytes / 128)
    }

    pub fn ranges(&self) -> Vec<AddressRange> {
        let range = |node: usize| AddressRange {
            start: node as u64 * NODE_STRIDE,
            length: self.node_bytes + self.table_bytes(),
            node: node as u16,
        };
        (0..self.nodes.len()).map(range).collect()
    }

    /// Deal a buffer whose pages are shared so; it has no more lines than `most`.
    pub fn buffer(&mut self, shares: &[(NodeId, u32)], most: u64) -> Buffer {
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
        let lines = (rounds * round.len() as u64 * LINES_PER_PAGE).min(most);
        Buffer { nodes, round, lines }
    }
}

impl Buffer {
    pub fn lines(&self) -> u64 {
        self.lines
    }

    /// Address of line `number` of the array, which goes round.
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
