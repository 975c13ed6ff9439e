//! TPP, transparent page placement.
//!
//! ```text
//!   hint fault --page active?--> promote, the last free frame too
//!              --inactive------> have it active; the next hint fault promotes (the guard against ping-pong)
//!   kswapd: starts and stops above the watermark of allocation, so that new and promoted pages find room
//! ```
//! Source: Maruf et al., TPP, ASPLOS 2023, sections 5.1 to 5.4; demotion watermark: 2 % of the node
//! (demote_scale_factor). The scan is that of NUMA balancing, slow tier only. Not modelled: file pages placed on the slow tier
//! first (section 5.5).

use super::numa_balancing::SCAN;
use super::{HintFault, Reserve, ScanSpec, Verdict};
use crate::os::OsStats;

/// TPP's settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TppSpec {
    pub scan: ScanSpec,
    /// frames that demotion keeps free above the high watermark: one of so many
    pub demote_one_of: usize,
}

impl TppSpec {
    pub const PUBLISHED: TppSpec = TppSpec { scan: SCAN, demote_one_of: 50 };
}

/// The policy and what it remembers.
#[derive(Clone, Debug)]
pub struct Tpp {
    pub(super) spec: TppSpec,
    pub(super) reclaiming: bool,
}

impl Tpp {
    #[must_use]
    pub fn new(spec: TppSpec) -> Tpp {
        Tpp { spec, reclaiming: false }
    }

    /// Decides what becomes of a page at its hint fault.
    pub fn judge(&mut self, fault: HintFault, stats: &mut OsStats) -> Verdict {
        if fault.active {
            stats.candidates.increment();
            return Verdict { promote: Some(Reserve::Nothing), activate: true };
        }
        stats.refused_cold.increment();
        Verdict { promote: None, activate: true }
    }

    pub(super) fn reclaim_marks(&self, high: usize, capacity: usize) -> (usize, usize) {
        let kept = high + capacity / self.spec.demote_one_of;
        (kept, kept)
    }
}
