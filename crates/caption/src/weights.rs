//! The best integer weights N:M for a share of CXL memory.
//!
//! ```text
//!   share 23.1 %  ->  node0 10, node1 3     the kernel puts 10 pages on DDR, then 3 on CXL
//!   share  0 %    ->  nodemask DDR          a weight of 0 does not exist: the nodemask says it
//! ```
//! Source: Documentation/ABI/testing/sysfs-kernel-mm-mempolicy-weighted-interleave (weights 1..255).

use crate::error::{Error, Result};
use crate::share::CxlShare;
use std::fmt;
use std::num::NonZeroU8;

/// Largest weight that is searched for. With larger ones, a program's first pages all land on one node. Up to it, the
/// reachable shares are at most 0.8 percentage points apart between 5 and 70 %.
pub const USUAL_BOUND: NonZeroU8 = NonZeroU8::new(32).unwrap();

/// Pages in a row on each DDR node, and on each CXL node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Weights {
    pub ddr: NonZeroU8,
    pub cxl: NonZeroU8,
}

/// How many nodes of each kind share the pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Nodes {
    pub ddr: usize,
    pub cxl: usize,
}

/// Placement that the kernel is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placement {
    DdrOnly,
    Interleaved(Weights),
    CxlOnly,
}

impl Weights {
    pub fn share(self, nodes: Nodes) -> CxlShare {
        let ddr = u64::from(self.ddr.get()) * nodes.ddr as u64;
        let cxl = u64::from(self.cxl.get()) * nodes.cxl as u64;
        CxlShare::of_pages(ddr, cxl).expect("weights are not 0")
    }

    /// The weights up to `bound` whose share is nearest; of equals, the smallest (the finest grain).
    pub fn nearest(share: CxlShare, nodes: Nodes, bound: NonZeroU8) -> Weights {
        let distance = |w: &Weights| (w.share(nodes).fraction() - share.fraction()).abs();
        let every = || (1..=bound.get()).filter_map(NonZeroU8::new);
        every()
            .flat_map(|ddr| every().map(move |cxl| Weights { ddr, cxl }))
            .min_by(|a, b| {
                let grain = |w: &Weights| u16::from(w.ddr.get()) + u16::from(w.cxl.get());
                distance(a).total_cmp(&distance(b)).then(grain(a).cmp(&grain(b)))
            })
            .expect("the bound is at least 1")
    }
}

impl Placement {
    pub fn nearest(share: CxlShare, nodes: Nodes, bound: NonZeroU8) -> Placement {
        if share == CxlShare::DDR_ONLY {
            Placement::DdrOnly
        } else if share == CxlShare::CXL_ONLY {
            Placement::CxlOnly
        } else {
            Placement::Interleaved(Weights::nearest(share, nodes, bound))
        }
    }

    /// "3:1" taken as it stands (weights 0..=255), "25%" as the nearest weights.
    pub fn parse(text: &str, nodes: Nodes) -> Result<Placement> {
        let share: CxlShare = text.parse()?;
        let Some((ddr, cxl)) = text.split_once(':') else {
            return Ok(Placement::nearest(share, nodes, USUAL_BOUND));
        };
        let weight = |side: &str| {
            side.trim().parse::<u8>().map_err(|_| Error::Parameter {
                parameter: "RATIO",
                given: text.to_string(),
                valid: "two weights from 0 to 255, as 3:1",
            })
        };
        match (NonZeroU8::new(weight(ddr)?), NonZeroU8::new(weight(cxl)?)) {
            (Some(ddr), Some(cxl)) => Ok(Placement::Interleaved(Weights { ddr, cxl })),
            (Some(_), None) => Ok(Placement::DdrOnly),
            (None, _) => Ok(Placement::CxlOnly),
        }
    }

    pub fn share(self, nodes: Nodes) -> CxlShare {
        match self {
            Placement::DdrOnly => CxlShare::DDR_ONLY,
            Placement::CxlOnly => CxlShare::CXL_ONLY,
            Placement::Interleaved(weights) => weights.share(nodes),
        }
    }
}

impl fmt::Display for Weights {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.ddr, self.cxl)
    }
}

impl fmt::Display for Placement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Placement::DdrOnly => write!(f, "DDR only"),
            Placement::CxlOnly => write!(f, "CXL only"),
            Placement::Interleaved(weights) => weights.fmt(f),
        }
    }
}
