//! The address map: it gives the node of a line's memory, and the slice of the line's home agent.

use serde::{Deserialize, Serialize};

use crate::addr::Hpa;
use crate::cache::{ClusterId, SliceHash};
use crate::request::{HomeId, NodeId};

/// A stretch of host physical addresses and its node, as the SRAT table gives them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AddressRange {
    /// first byte
    pub start: u64,
    /// bytes
    pub length: u64,
    pub node: u16,
}

/// A range, and the cluster that holds its lines.
#[derive(Clone, Copy, Debug)]
struct Mapped {
    range: AddressRange,
    /// cluster whose slices hold the range's lines
    cluster: Option<ClusterId>,
}

/// All ranges, by address.
#[derive(Clone)]
pub struct AddressMap {
    map: Vec<Mapped>,
    hash: SliceHash,
}

impl AddressMap {
    /// # Errors
    /// Names a range whose node does not exist, or two ranges that overlap.
    pub fn new(ranges: &[AddressRange], clusters: &[Option<ClusterId>], hash: SliceHash) -> Result<AddressMap, String> {
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
            map.push(Mapped { range, cluster });
        }
        Ok(AddressMap { map, hash })
    }

    /// The node of a line's memory, and the slice of its home agent; `None` if the line has no memory.
    #[inline]
    pub fn home(&self, line: Hpa) -> Option<HomeId> {
        let mapped = self.map.iter().find(|m| line.get().wrapping_sub(m.range.start) < m.range.length)?;
        Some(HomeId { node: NodeId(mapped.range.node), slice: self.hash.slice(line, mapped.cluster) })
    }

    /// The ranges of a node, by address.
    pub fn of_node(&self, node: NodeId) -> impl Iterator<Item = AddressRange> {
        self.map.iter().map(|m| m.range).filter(move |range| range.node == node.0)
    }

    /// Text of the ranges, for error messages.
    #[must_use]
    pub fn ranges(&self) -> String {
        let show = |m: &Mapped| format!("node {} {:#x}+{:#x}", m.range.node, m.range.start, m.range.length);
        self.map.iter().map(show).collect::<Vec<_>>().join(", ")
    }
}
