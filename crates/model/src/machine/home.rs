//! The home agent: which node a line's memory is of, and whether the LLC has it.

use cxlab_kernel::Time;
use serde::{Deserialize, Serialize};

use crate::addr::Hpa;
use crate::cache::{Tags, Victim};
use crate::config::MachineSpec;
use crate::request::NodeId;

/// A stretch of host physical addresses and the node whose memory it is, as the SRAT table tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AddressRange {
    /// first byte
    pub start: u64,
    /// bytes
    pub length: u64,
    pub node: u16,
}

/// A range and where it begins in its node's memory.
#[derive(Clone, Copy, Debug)]
struct Mapped {
    range: AddressRange,
    offset: u64,
}

/// LLC tags and the address map.
pub struct Home {
    map: Vec<Mapped>,
    llc: Tags,
    hits: u64,
    misses: u64,
    /// from here to a memory controller or a root port, and back
    pub to_memory: Time,
    /// from here back to a core
    pub from_home: Time,
    /// from a core's miss to a look-up here
    pub to_home: Time,
}

impl Home {
    pub fn new(spec: &MachineSpec, ranges: &[AddressRange]) -> Result<Home, String> {
        let mut ranges = ranges.to_vec();
        ranges.sort_by_key(|range| range.start);
        let mut map: Vec<Mapped> = Vec::with_capacity(ranges.len());
        for range in ranges {
            if usize::from(range.node) >= spec.nodes.len() {
                return Err(format!(
                    "an address range is of node {}, but there are {} nodes",
                    range.node,
                    spec.nodes.len()
                ));
            }
            if map.last().is_some_and(|last| last.range.start + last.range.length > range.start) {
                return Err(format!("two address ranges overlap at {:#x}", range.start));
            }
            let offset = map.iter().filter(|m| m.range.node == range.node).map(|m| m.range.length).sum();
            map.push(Mapped { range, offset });
        }
        Ok(Home {
            map,
            llc: spec.host.llc.tags()?,
            hits: 0,
            misses: 0,
            to_memory: *spec.host.mesh.home_to_memory,
            from_home: spec.host.from_home(),
            to_home: *spec.host.mesh.to_home,
        })
    }

    fn find(&self, line: Hpa) -> Option<&Mapped> {
        self.map.iter().find(|m| line.get().wrapping_sub(m.range.start) < m.range.length)
    }

    /// Whose memory the line is in.
    pub fn node(&self, line: Hpa) -> Option<NodeId> {
        self.find(line).map(|mapped| NodeId(mapped.range.node))
    }

    /// How far into its node's memory the line is [B].
    pub fn offset(&self, line: Hpa) -> u64 {
        let mapped = self.find(line).expect("requests are of lines with a memory");
        line.get() - mapped.range.start + mapped.offset
    }

    /// The ranges, for people.
    pub fn ranges(&self) -> String {
        let show = |m: &Mapped| format!("node {} {:#x}+{:#x}", m.range.node, m.range.start, m.range.length);
        self.map.iter().map(show).collect::<Vec<_>>().join(", ")
    }

    pub fn look_up(&mut self, line: Hpa) -> bool {
        let hit = self.llc.touch(line, false);
        *if hit { &mut self.hits } else { &mut self.misses } += 1;
        hit
    }

    /// As a look-up that nobody counts.
    pub fn touch(&mut self, line: Hpa) {
        self.llc.touch(line, false);
    }

    /// A line that left a core's caches comes in: the changed line that has to leave for it.
    pub fn take_in(&mut self, victim: Victim) -> Option<Hpa> {
        let leaving = self.llc.insert_or_touch(victim.line, victim.changed)?;
        leaving.changed.then_some(leaving.line)
    }

    /// The line leaves the LLC: whether it was there and changed.
    pub fn forget(&mut self, line: Hpa) -> bool {
        self.llc.remove(line) == Some(true)
    }

    /// The line's memory will know it: whether it was changed.
    pub fn clean(&mut self, line: Hpa) -> bool {
        self.llc.clean(line)
    }

    /// Count from here.
    pub fn clear_stats(&mut self) {
        (self.hits, self.misses) = (0, 0);
    }

    pub fn hits_and_misses(&self) -> (u64, u64) {
        (self.hits, self.misses)
    }
}
