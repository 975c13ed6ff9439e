//! The mesh: the distance of each core from each slice of the LLC.
//!
//! ```text
//!   SNC-4 on 8 columns x 6 rows:   0 0 0 0 1 1 1 1     a core stands beside the slice of its number;
//!                                  0 0 0 0 1 1 1 1     a message goes along its column, then along its row
//!                                  0 0 0 0 1 1 1 1
//!                                  2 2 2 2 3 3 3 3
//!                                  ...
//! ```
//!
//! Host files give means over the slices of a core's own cluster, or over all slices if there are no clusters. The
//! stops between make a slice nearer or farther than that mean. So each core's own mean is the host file's value. Lines
//! that may be in any slice (CXL memory under SNC) take longer on their way. Not modelled: which cores are cut off at
//! the rim, contention of the rings, distances from a slice to a memory controller.

use std::ops::Range;

use cxlab_kernel::Time;

use super::MeshSpec;
use crate::cache::{LlcSpec, SliceId};
use crate::request::CoreId;

/// Parts that the mesh is laid out from.
#[derive(Clone, Copy, Debug)]
pub struct Floorplan<'a> {
    pub mesh: &'a MeshSpec,
    pub llc: &'a LlcSpec,
    /// physical cores of the socket
    pub cores: u32,
    /// sub-NUMA clusters of the socket
    pub clusters: u32,
}

impl Floorplan<'_> {
    /// Time from the home agent back to the core.
    fn way_back(&self) -> Time {
        self.llc.latency.since(*self.mesh.to_home)
    }
}

/// Times between cores and slices, derived once.
#[derive(Clone, Debug)]
pub struct Mesh {
    slices: usize,
    cores: usize,
    /// for each core and slice: time from the address to a known LLC miss, and from there back
    ways: Vec<(Time, Time)>,
}

impl Mesh {
    pub fn new(plan: &Floorplan<'_>) -> Result<Mesh, String> {
        let grid = Grid::new(plan)?;
        let (slices, cores) = (*plan.llc.slices as usize, plan.cores as usize);
        let of_cluster = slices / plan.clusters as usize;
        let (to, from) = (*plan.mesh.to_home, plan.way_back());
        let mut ways = Vec::with_capacity(cores * slices);
        for core in 0..cores {
            let place = core * slices / cores;
            let hops: Vec<i64> = (0..slices).map(|slice| grid.hops_ps(place, slice)).collect();
            let own = place / of_cluster * of_cluster;
            let mean = hops[own..own + of_cluster].iter().sum::<i64>() / of_cluster as i64;
            for hops in hops {
                let moved = |time: Time| {
                    let ps = time.as_ps() as i64 + hops - mean;
                    u64::try_from(ps).map(Time::from_ps).map_err(|_| {
                        format!("a slice is nearer than 0 ns: {time} one way less {} ps of mesh", mean - hops)
                    })
                };
                ways.push((moved(to)?, moved(from)?));
            }
        }
        Ok(Mesh { slices, cores, ways })
    }

    /// Mean time over some slices, from the address to the data of a hit.
    pub fn mean_round_trip(&self, core: CoreId, slices: Range<u16>) -> Time {
        let count = slices.len() as u64;
        let sum: Time =
            slices.map(|slice| self.to_home(core, SliceId(slice)) + self.to_core(core, SliceId(slice))).sum();
        Time::from_ps((sum.as_ps() + count / 2) / count)
    }

    /// The least time from an address at any core to a known miss at any slice.
    pub fn shortest_way(&self) -> Time {
        self.ways.iter().map(|(to, _)| *to).min().unwrap_or(Time::ZERO)
    }

    #[inline]
    fn way(&self, core: CoreId, slice: SliceId) -> (Time, Time) {
        // The two hardware threads of a core have the same place.
        self.ways[usize::from(core.0) % self.cores * self.slices + usize::from(slice.0)]
    }

    /// Time from the address at a core to a known miss at the slice.
    #[inline]
    pub fn to_home(&self, core: CoreId, slice: SliceId) -> Time {
        self.way(core, slice).0
    }

    /// Time from the slice back to the core.
    #[inline]
    pub fn to_core(&self, core: CoreId, slice: SliceId) -> Time {
        self.way(core, slice).1
    }
}

/// Places of the slices.
struct Grid {
    /// clusters side by side
    beside: usize,
    of_cluster: usize,
    /// columns and rows of a cluster
    cluster: (usize, usize),
    across: Time,
    along: Time,
}

impl Grid {
    fn new(plan: &Floorplan<'_>) -> Result<Grid, String> {
        let &Floorplan { mesh, llc, cores, clusters } = plan;
        let (columns, rows) = (*mesh.columns, *mesh.rows);
        let slices = *llc.slices;
        let (beside, above) = match clusters {
            1 => (1, 1),
            2 => (2, 1),
            4 => (2, 2),
            other => return Err(format!("{other} sub-NUMA clusters; valid: 1, 2 or 4")),
        };
        if slices > columns * rows || !columns.is_multiple_of(beside) || !rows.is_multiple_of(above) {
            return Err(format!(
                "{slices} slices in {clusters} clusters do not fit a mesh of {columns} x {rows} stops"
            ));
        }
        if !slices.is_multiple_of(clusters) || !cores.is_multiple_of(clusters) {
            return Err(format!("{slices} slices and {cores} cores are not {clusters} equal clusters"));
        }
        Ok(Grid {
            beside: beside as usize,
            of_cluster: (slices / clusters) as usize,
            cluster: ((columns / beside) as usize, (rows / above) as usize),
            across: *mesh.hop_across,
            along: *mesh.hop_along,
        })
    }

    fn place(&self, slice: usize) -> (usize, usize) {
        let (cluster, inside) = (slice / self.of_cluster, slice % self.of_cluster);
        let (columns, rows) = self.cluster;
        let corner = (cluster % self.beside * columns, cluster / self.beside * rows);
        (corner.0 + inside % columns, corner.1 + inside / columns)
    }

    /// Time of one way between two slices `[ps]`.
    fn hops_ps(&self, from: usize, to: usize) -> i64 {
        let (from, to) = (self.place(from), self.place(to));
        let way = self.across * from.0.abs_diff(to.0) as u64 + self.along * from.1.abs_diff(to.1) as u64;
        way.as_ps() as i64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MachineSpec;

    fn mean(mesh: &Mesh, core: u16, slices: Range<u16>) -> f64 {
        mesh.mean_round_trip(CoreId(core), slices).as_ns()
    }

    #[test]
    fn the_mean_over_a_cores_own_slices_is_the_host_files_latency() {
        for (machine, clusters) in [("8468v-asic", 1), ("spr-a1000", 4), ("6430-cxl-a-snc4", 4), ("9754-cz120", 1)] {
            let spec = MachineSpec::load(machine).unwrap();
            let mesh = Mesh::new(&spec.floorplan()).unwrap();
            let (slices, cores) = (*spec.host.llc.slices as u16, *spec.host.cores as u16);
            for core in 0..cores {
                let of_cluster = slices / clusters as u16;
                let own = core * slices / cores / of_cluster * of_cluster;
                let found = mean(&mesh, core, own..own + of_cluster);
                // Each way's mean is rounded down to a picosecond.
                assert!((found - spec.host.llc.latency.as_ns()).abs() < 0.003, "{machine} core {core}: {found}");
                // Slices of other clusters are farther.
                let all = mean(&mesh, core, 0..slices);
                assert!(all - found > if clusters == 1 { -0.001 } else { 1.0 }, "{machine} core {core}: {all}");
            }
        }
    }

    #[test]
    fn the_way_to_a_slice_is_its_stops() {
        // Core 0 is at the corner. Slice 1 is one column farther than slice 0, one way.
        let spec = MachineSpec::load("8468v-asic").unwrap();
        let mesh = Mesh::new(&spec.floorplan()).unwrap();
        let host = &spec.host;
        let way = |slice| mesh.to_home(CoreId(0), SliceId(slice));
        assert_eq!(way(1) - way(0), *host.mesh.hop_across);
        assert_eq!(way(*host.mesh.columns as u16) - way(0), *host.mesh.hop_along);
    }
}
