//! The targets of a node's addresses: the way and the device address that lead to a line's memory.
//!
//! ```text
//!   line of a node -> range, offset -> HDM decoders -> way of the fabric, device address
//! ```

use super::address_map::{AddressMap, AddressRange};
use crate::addr::{Dpa, Hpa};
use crate::fabric::{HdmDecoders, WayId};
use crate::request::NodeId;

/// How a place in a node's memory is decoded to a way.
#[derive(Clone, Debug)]
pub enum Decode {
    /// the node has one way only
    One,
    /// by offset in the node, with the machine file's interleave
    ByOffset(HdmDecoders),
    /// by host physical address, with decoders that Linux committed
    Committed(HdmDecoders),
}

/// The ways to a node's memory.
#[derive(Clone, Debug)]
pub struct Behind {
    /// in the order of the node's devices
    pub ways: Vec<WayId>,
    pub decode: Decode,
    /// where the node's part of each device begins `[B]`
    pub from: u64,
}

/// A range of a node, and its place in the node's memory.
#[derive(Clone, Copy, Debug)]
struct Stretch {
    range: AddressRange,
    /// bytes of the node's ranges below it
    offset: u64,
}

/// A node's ranges and the ways behind them.
#[derive(Clone)]
struct NodeTargets {
    stretches: Vec<Stretch>,
    behind: Behind,
}

/// The targets of all nodes.
#[derive(Clone)]
pub struct Targets {
    nodes: Vec<NodeTargets>,
}

impl Targets {
    /// `behind` has one entry for each node.
    pub fn new(map: &AddressMap, behind: Vec<Behind>) -> Targets {
        let stretches = |node: usize| {
            let mut below = 0;
            let place = |range: AddressRange| {
                let offset = below;
                below += range.length;
                Stretch { range, offset }
            };
            map.of_node(NodeId(node as u16)).map(place).collect()
        };
        let nodes = behind.into_iter().enumerate();
        Targets { nodes: nodes.map(|(node, behind)| NodeTargets { stretches: stretches(node), behind }).collect() }
    }

    /// The way to the memory of a node's line, and the device address at its end.
    #[inline]
    pub fn locate(&self, node: NodeId, line: Hpa) -> (WayId, Dpa) {
        let NodeTargets { stretches, behind } = &self.nodes[usize::from(node.0)];
        let holds = |stretch: &&Stretch| line.get().wrapping_sub(stretch.range.start) < stretch.range.length;
        let stretch = stretches.iter().find(holds).expect("requests are of lines with a memory");
        let offset = line.get() - stretch.range.start + stretch.offset;
        let (decoders, address) = match &behind.decode {
            Decode::One => return (behind.ways[0], Dpa::new(behind.from + offset)),
            Decode::ByOffset(decoders) => (decoders, Hpa::new(offset)),
            Decode::Committed(decoders) => (decoders, line),
        };
        let (target, dpa) = decoders.decode(address).expect("ranges end within the devices");
        (behind.ways[usize::from(target.0)], Dpa::new(behind.from + dpa.get()))
    }

    /// The ways to a node's memory, in the order of its devices.
    #[must_use]
    pub fn ways(&self, node: NodeId) -> &[WayId] {
        &self.nodes[usize::from(node.0)].behind.ways
    }
}
