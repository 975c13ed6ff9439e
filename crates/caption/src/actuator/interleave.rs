//! The kernel's weighted-interleave weights.
//!
//! ```text
//!   /sys/kernel/mm/mempolicy/weighted_interleave/
//!     node0  node1 ...      1..=255, read by every task under MPOL_WEIGHTED_INTERLEAVE, at its next page
//!     auto                  "true" until someone writes a weight (6.16; named `__auto_type` on some kernels)
//! ```
//! Does not model: 0 % and 100 %. A weight of 0 does not exist; the ends are 255:1 and 1:255, and the log says so. The exact
//! ends are nodemasks: `place`, or the shim.
//! Source: Documentation/ABI/testing/sysfs-kernel-mm-mempolicy-weighted-interleave; the second name seen on Linux 6.18.

use super::Applied;
use crate::error::{Error, Result};
use crate::root::{Attribute, Root};
use crate::share::CxlShare;
use crate::topology::{NodeSet, Topology};
use crate::weights::{Placement, USUAL_BOUND, Weights};
use std::num::NonZeroU8;
use std::path::PathBuf;

const WEIGHTS: &str = "sys/kernel/mm/mempolicy/weighted_interleave";
const AUTO_NAMES: [&str; 2] = ["auto", "__auto_type"];
const MOST: NonZeroU8 = NonZeroU8::MAX;

#[derive(Debug)]
pub struct Interleave {
    directory: PathBuf,
    topology: Topology,
    dry: bool,
    last: Option<Weights>,
}

impl Interleave {
    /// CAP033 where the kernel has no weights; a dry run needs none.
    pub fn new(root: &Root, topology: Topology, dry: bool) -> Result<Interleave> {
        let directory = root.path(WEIGHTS);
        if !dry && !directory.is_dir() {
            let release = root.read("proc/sys/kernel/osrelease").unwrap_or_else(|_| "of unknown release".into());
            return Err(Error::NoWeightedInterleave { path: directory, release });
        }
        Ok(Interleave { directory, topology, dry, last: None })
    }

    /// Everything that `apply` changes, as it stands now, in the order in which to put it back.
    pub fn current(&self) -> Result<Vec<Attribute>> {
        let nodes = self.topology.all();
        let weights = nodes.iter().map(|node| self.directory.join(format!("node{node}")));
        let auto = AUTO_NAMES.iter().map(|name| self.directory.join(name)).find(|path| path.exists());
        // The automatic flag last: writing a weight clears it.
        weights.chain(auto).map(Attribute::current).collect()
    }

    /// The share that the weights give now: where a search starts, so that starting changes nothing.
    pub fn share_in_force(&self) -> Result<CxlShare> {
        let pages = |nodes: &NodeSet| -> Result<u64> { nodes.iter().map(|node| self.weight_of(node)).sum() };
        CxlShare::of_pages(pages(&self.topology.ddr)?, pages(&self.topology.cxl)?)
    }

    fn weight_of(&self, node: u32) -> Result<u64> {
        let attribute = Attribute::current(self.directory.join(format!("node{node}")))?;
        let refused = || std::io::Error::other(format!("{:?} is no weight", attribute.content));
        attribute.content.parse().map_err(|_| Error::io("understand", &attribute.path)(refused()))
    }

    /// Whether these weights are already in force.
    pub fn stands(&self, weights: Weights) -> Result<bool> {
        let wanted = self.attributes(weights);
        let found: Vec<Attribute> = wanted.iter().map(|a| Attribute::current(a.path.clone())).collect::<Result<_>>()?;
        Ok(found == wanted)
    }

    pub fn apply(&mut self, share: CxlShare) -> Result<Applied> {
        let weights = match Placement::nearest(share, self.topology.counts(), USUAL_BOUND) {
            Placement::DdrOnly => Weights { ddr: MOST, cxl: NonZeroU8::MIN },
            Placement::CxlOnly => Weights { ddr: NonZeroU8::MIN, cxl: MOST },
            Placement::Interleaved(weights) => weights,
        };
        self.put(weights)
    }

    /// These weights as they stand.
    pub fn put(&mut self, weights: Weights) -> Result<Applied> {
        let attributes = if self.last == Some(weights) { Vec::new() } else { self.attributes(weights) };
        if !self.dry {
            attributes.iter().try_for_each(Attribute::set)?;
        }
        self.last = Some(weights);
        Ok(Applied {
            share: weights.share(self.topology.counts()),
            placement: weights.to_string(),
            writes: attributes.iter().map(Attribute::to_string).collect(),
        })
    }

    fn attributes(&self, weights: Weights) -> Vec<Attribute> {
        let of = |node: u32, weight: NonZeroU8| Attribute {
            path: self.directory.join(format!("node{node}")),
            content: weight.to_string(),
        };
        let ddr = self.topology.ddr.iter().map(|node| of(node, weights.ddr));
        let cxl = self.topology.cxl.iter().map(|node| of(node, weights.cxl));
        ddr.chain(cxl).collect()
    }
}
