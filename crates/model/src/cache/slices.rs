//! The LLC's slices: a non-inclusive victim cache spread over the mesh.
//!
//! ```text
//!   line -> hash -> slice --+-- lines of a cluster's own DDR: the slices of that cluster (sub-NUMA clustering)
//!                           +-- lines of CXL memory, of the other socket, or without clusters: any slice
//!   low bits of the line -> set of the slice
//! ```
//!
//! A slice is where its lines' home agent is. Who evicts does not matter, whose memory the line is in does: MICRO'23
//! (Sun et al.), 4.3 and figure 5. Intel's hash is not printed (Maurice et al., RAID 2015, found its shape on older parts);
//! here it is Fibonacci's (Knuth vol. 3, 6.4). Not modelled: way masks (CAT, DDIO).

use schemars::JsonSchema;

use serde::{Deserialize, Serialize};

use super::{CoreId, LineState, LlcSpec, Reference, ReferenceKind, Tags, Victim};
use crate::addr::Hpa;

/// A slice by its place in the socket: those of cluster 0 first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SliceId(pub u16);

/// A sub-NUMA cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct ClusterId(pub u16);

/// Tags of all slices.
#[derive(Clone, Debug)]
pub struct Slices {
    tags: Tags,
    sets: u64,
    slices: u64,
    of_cluster: u64,
}

impl Slices {
    /// Empty slices in `clusters` equal clusters.
    pub fn new(spec: &LlcSpec, clusters: u32) -> Result<Slices, String> {
        spec.check()?;
        let (sets, slices) = (spec.sets()?, u64::from(*spec.slices));
        let tags = Tags::new((sets * slices) as usize, *spec.ways, *spec.replacement);
        Ok(Slices { tags, sets, slices, of_cluster: slices / u64::from(clusters) })
    }

    /// The slice of a line whose memory is that of `cluster`, or of none.
    #[inline]
    #[must_use]
    pub fn slice(&self, line: Hpa, cluster: Option<ClusterId>) -> SliceId {
        let hash = line.line_number().wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let spread = |over: u64| ((u128::from(hash) * u128::from(over)) >> 64) as u64;
        SliceId(match cluster {
            Some(ClusterId(cluster)) => u64::from(cluster) * self.of_cluster + spread(self.of_cluster),
            None => spread(self.slices),
        } as u16)
    }

    /// The place of its set among those of all slices.
    #[inline]
    #[must_use]
    pub fn set(&self, slice: SliceId, line: Hpa) -> usize {
        (u64::from(slice.0) * self.sets + (line.line_number() & (self.sets - 1))) as usize
    }

    /// Whether the slice has the line; it becomes the one used last.
    #[inline]
    pub fn touch(&mut self, slice: SliceId, line: Hpa, by: Reference) -> bool {
        let set = self.set(slice, line);
        self.tags.touch(set, line, by).is_some()
    }

    /// A victim of the L2 of `core` comes in: what leaves for it.
    pub fn take_in(&mut self, slice: SliceId, victim: Victim, core: CoreId) -> Option<Victim> {
        let by = Reference::of_core(core, ReferenceKind::WriteBack);
        let set = self.set(slice, victim.line);
        if let Some(entry) = self.tags.touch(set, victim.line, by) {
            if victim.changed {
                entry.set_state(LineState::Modified);
            }
            return None;
        }
        let state = if victim.changed { LineState::Modified } else { LineState::Exclusive };
        self.tags.insert(set, victim.line, state, by)
    }

    /// The line leaves: whether it was here and changed.
    pub fn forget(&mut self, slice: SliceId, line: Hpa) -> bool {
        let set = self.set(slice, line);
        self.tags.remove(set, line).is_some_and(|entry| entry.state() == LineState::Modified)
    }

    /// The line's memory will know it: whether it was changed.
    pub fn clean(&mut self, slice: SliceId, line: Hpa) -> bool {
        let set = self.set(slice, line);
        let Some(entry) = self.tags.find(set, line).filter(|entry| entry.state() == LineState::Modified) else {
            return false;
        };
        entry.set_state(LineState::Exclusive);
        true
    }

    /// Lines held.
    #[must_use]
    pub fn len(&self) -> usize {
        self.tags.len()
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.tags.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MachineSpec;

    #[test]
    fn victims_of_a_clusters_own_lines_stay_in_it_and_the_others_go_anywhere() {
        // MICRO'23 figure 5, four clusters of 8 slices; consecutive lines spread evenly (1/32 or 1/8 each, within 5 %).
        let spec = MachineSpec::load("6430-cxl-a-snc4").unwrap();
        let slices = Slices::new(&spec.host.llc, spec.clusters()).unwrap();
        const LINES: u64 = 320_000;
        for (cluster, wanted) in [(None, 0..32), (Some(ClusterId(0)), 0..8), (Some(ClusterId(3)), 24..32)] {
            let mut counts = [0u64; 32];
            for number in 0..LINES {
                counts[usize::from(slices.slice(Hpa::new(number * 64), cluster).0)] += 1;
            }
            let share = LINES as f64 / wanted.len() as f64;
            for (slice, count) in counts.into_iter().enumerate() {
                let wanted = if wanted.contains(&slice) { share } else { 0.0 };
                assert!((count as f64 - wanted).abs() <= 0.05 * wanted, "{cluster:?}: {count} lines in slice {slice}");
            }
        }
    }
}
