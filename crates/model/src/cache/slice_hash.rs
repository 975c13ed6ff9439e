//! The hash of a line gives the slice of the LLC that may hold it, and so its home agent.
//!
//! ```text
//!   line -> hash -> slice --+-- lines of a cluster's own DDR: the slices of that cluster (sub-NUMA clustering)
//!                           +-- lines of CXL memory, of the other socket, or without clusters: any slice
//! ```
//!
//! The core that evicts a line does not matter. The memory of the line does. Source: MICRO'23 (Sun et al.), 4.3 and
//! figure 5. Intel prints no hash. Maurice et al., RAID 2015, found its shape on older parts. Here it is Fibonacci's
//! (Knuth vol. 3, 6.4).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::LlcSpec;
use crate::addr::Hpa;

/// A slice by its place in the socket: those of cluster 0 first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SliceId(pub u16);

/// A sub-NUMA cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct ClusterId(pub u16);

/// The hash over all slices and over those of a cluster.
#[derive(Clone, Copy, Debug)]
pub struct SliceHash {
    slices: u64,
    of_cluster: u64,
}

impl SliceHash {
    /// The hash over the LLC's slices in `clusters` equal clusters.
    #[must_use]
    pub fn new(spec: &LlcSpec, clusters: u32) -> SliceHash {
        let slices = u64::from(*spec.slices);
        SliceHash { slices, of_cluster: slices / u64::from(clusters) }
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
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MachineSpec;

    #[test]
    fn lines_of_a_clusters_own_memory_stay_in_it_and_the_others_go_anywhere() {
        // MICRO'23 figure 5, four clusters of 8 slices; consecutive lines spread evenly (1/32 or 1/8 each, within 5 %).
        let spec = MachineSpec::load("6430-cxl-a-snc4").unwrap();
        let hash = SliceHash::new(&spec.host.llc, spec.clusters());
        const LINES: u64 = 320_000;
        for (cluster, wanted) in [(None, 0..32), (Some(ClusterId(0)), 0..8), (Some(ClusterId(3)), 24..32)] {
            let mut counts = [0u64; 32];
            for number in 0..LINES {
                counts[usize::from(hash.slice(Hpa::new(number * 64), cluster).0)] += 1;
            }
            let share = LINES as f64 / wanted.len() as f64;
            for (slice, count) in counts.into_iter().enumerate() {
                let wanted = if wanted.contains(&slice) { share } else { 0.0 };
                assert!((count as f64 - wanted).abs() <= 0.05 * wanted, "{cluster:?}: {count} lines in slice {slice}");
            }
        }
    }
}
