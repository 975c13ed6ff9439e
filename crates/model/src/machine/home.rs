//! The home agent: which node a line's memory is of, and whether the LLC has it.

use cxlab_kernel::Time;
use serde::{Deserialize, Serialize};

use super::mesh::Mesh;
use crate::addr::{Hpa, LINE_BYTES};
use crate::cache::{ClusterId, SliceId, Slices, Victim};
use crate::coherence::{Cores, SnoopFilter};
use crate::config::MachineSpec;
use crate::request::{HomeId, NodeId};

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
    /// whose slices its lines stay in
    cluster: Option<ClusterId>,
}

/// LLC slices and the address map.
pub struct Home {
    map: Vec<Mapped>,
    llc: Slices,
    /// who has a line; a machine of one core has nobody to ask
    pub filter: Option<SnoopFilter>,
    /// L2 look-up for a snoop
    pub snooped: Time,
    hits: u64,
    misses: u64,
    /// from here to a memory controller or a root port, and back
    pub to_memory: Time,
    /// between cores and slices
    pub mesh: Mesh,
}

impl Home {
    pub fn new(spec: &MachineSpec, cores: u16, ranges: &[AddressRange]) -> Result<Home, String> {
        if cores > Cores::MOST {
            return Err(format!("{cores} cores; valid: 1 to {}", Cores::MOST));
        }
        let private = spec.host.l2.capacity.get() / LINE_BYTES * u64::from(cores);
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
            let cluster = spec.nodes[usize::from(range.node)].sub_numa_cluster.as_deref().copied();
            map.push(Mapped { range, offset, cluster });
        }
        Ok(Home {
            map,
            llc: Slices::new(&spec.host.llc, spec.clusters())?,
            filter: (cores > 1).then(|| SnoopFilter::new(private as usize)),
            snooped: spec.host.core.frequency.cycles(spec.host.l2.latency.0),
            hits: 0,
            misses: 0,
            to_memory: *spec.host.mesh.home_to_memory,
            mesh: Mesh::new(spec)?,
        })
    }

    fn find(&self, line: Hpa) -> Option<&Mapped> {
        self.map.iter().find(|m| line.get().wrapping_sub(m.range.start) < m.range.length)
    }

    /// Whose memory the line is in, and at which slice its home agent is.
    #[inline]
    pub fn of(&self, line: Hpa) -> Option<HomeId> {
        let mapped = self.find(line)?;
        Some(HomeId { node: NodeId(mapped.range.node), slice: self.llc.slice(line, mapped.cluster) })
    }

    fn slice(&self, line: Hpa) -> SliceId {
        self.of(line).expect("a cached line has a memory").slice
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

    pub fn look_up(&mut self, slice: SliceId, line: Hpa) -> bool {
        let hit = self.llc.touch(slice, line);
        *if hit { &mut self.hits } else { &mut self.misses } += 1;
        hit
    }

    /// As a look-up that nobody counts.
    pub fn touch(&mut self, line: Hpa) {
        self.llc.touch(self.slice(line), line);
    }

    /// A line that left a core's caches comes in: the changed line that has to leave for it.
    pub fn take_in(&mut self, victim: Victim) -> Option<Hpa> {
        let leaving = self.llc.take_in(self.slice(victim.line), victim)?;
        leaving.changed.then_some(leaving.line)
    }

    /// The line leaves the LLC: whether it was there and changed.
    pub fn forget(&mut self, slice: SliceId, line: Hpa) -> bool {
        self.llc.forget(slice, line)
    }

    /// The line's memory will know it: whether it was changed.
    pub fn clean(&mut self, slice: SliceId, line: Hpa) -> bool {
        self.llc.clean(slice, line)
    }

    /// Count from here.
    pub fn clear_stats(&mut self) {
        (self.hits, self.misses) = (0, 0);
    }

    pub fn hits_and_misses(&self) -> (u64, u64) {
        (self.hits, self.misses)
    }
}
