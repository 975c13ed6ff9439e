//! The address map: it gives the node of a line's memory, and the way and the device address that lead to it.
//!
//! ```text
//!   line -> range -> node, offset -> HDM decoders -> way of the fabric, device address
//!              |
//!              '-> slice of the LLC, and so home agent
//! ```

use serde::{Deserialize, Serialize};

use crate::addr::{Dpa, Hpa};
use crate::cache::ClusterId;
use crate::fabric::{HdmDecoders, WayId};
use crate::request::NodeId;

/// A stretch of host physical addresses and its node, as the SRAT table gives them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AddressRange {
    /// first byte
    pub start: u64,
    /// bytes
    pub length: u64,
    pub node: u16,
}

/// A range and its offset in its node's memory.
#[derive(Clone, Copy, Debug)]
pub struct Mapped {
    range: AddressRange,
    offset: u64,
    /// cluster whose slices hold the range's lines
    pub cluster: Option<ClusterId>,
}

impl Mapped {
    pub fn node(&self) -> NodeId {
        NodeId(self.range.node)
    }
}

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

/// All ranges, by address.
#[derive(Clone)]
pub struct AddressMap {
    map: Vec<Mapped>,
    /// ways to each node's memory, by node
    behind: Vec<Behind>,
}

impl AddressMap {
    /// # Errors
    /// Names a range whose node does not exist, or two ranges that overlap.
    pub fn new(
        ranges: &[AddressRange],
        clusters: &[Option<ClusterId>],
        behind: Vec<Behind>,
    ) -> Result<AddressMap, String> {
        let mut ranges = ranges.to_vec();
        ranges.sort_by_key(|range| range.start);
        let mut map: Vec<Mapped> = Vec::with_capacity(ranges.len());
        for range in ranges {
            let Some(cluster) = clusters.get(usize::from(range.node)).copied() else {
                let (node, nodes) = (range.node, clusters.len());
                return Err(format!("an address range is of node {node}, but there are {nodes} nodes"));
            };
            if map.last().is_some_and(|last| last.range.start + last.range.length > range.start) {
                return Err(format!("two address ranges overlap at {:#x}", range.start));
            }
            let offset = map.iter().filter(|m| m.range.node == range.node).map(|m| m.range.length).sum();
            map.push(Mapped { range, offset, cluster });
        }
        Ok(AddressMap { map, behind })
    }

    #[inline]
    pub fn find(&self, line: Hpa) -> Option<&Mapped> {
        self.map.iter().find(|m| line.get().wrapping_sub(m.range.start) < m.range.length)
    }

    /// The way to a line's memory, and the device address at its end.
    #[inline]
    pub fn locate(&self, line: Hpa) -> (WayId, Dpa) {
        let mapped = self.find(line).expect("requests are of lines with a memory");
        let offset = line.get() - mapped.range.start + mapped.offset;
        let behind = &self.behind[usize::from(mapped.range.node)];
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
        &self.behind[usize::from(node.0)].ways
    }

    /// Text of the ranges, for error messages.
    #[must_use]
    pub fn ranges(&self) -> String {
        let show = |m: &Mapped| format!("node {} {:#x}+{:#x}", m.range.node, m.range.start, m.range.length);
        self.map.iter().map(show).collect::<Vec<_>>().join(", ")
    }
}
