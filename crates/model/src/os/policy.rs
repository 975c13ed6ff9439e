//! Tiering policies: which pages change their tier. One file a policy.
//!
//! ```text
//!   scan marks pages -> hint fault: { latency since the mark, active?, free frames } -> policy -> promote? activate?
//!   kswapd: start and stop marks of the policy
//! ```
//! A policy sees what Linux sees at a hint fault, and nothing else.

mod none;
mod numa_balancing;
mod tpp;

use cxlab_kernel::Time;

use super::OsStats;
use super::frames::Frames;
use crate::request::NodeId;

pub use none::NoTiering;
pub use numa_balancing::{NumaBalancing, NumaBalancingSpec};
pub use tpp::{Tpp, TppSpec};

/// How often a process's pages are marked, and how many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScanSpec {
    pub period: Time,
    /// pages marked in a period
    pub pages: u32,
    /// pages looked at for them
    pub most_looks: u32,
}

/// Facts that are known at a hint fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HintFault {
    /// since the page was marked
    pub latency: Time,
    /// the page is on its node's active list
    pub active: bool,
    /// frames free on the fast tier
    pub free: usize,
    /// frames of the fast tier
    pub capacity: usize,
}

/// Decision of a policy about a hint fault.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Verdict {
    pub promote: Option<Reserve>,
    /// have the page on the active list
    pub activate: bool,
}

/// Which frames a promotion leaves to others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reserve {
    /// those below the high watermark (migrate_balanced_pgdat)
    HighWatermark,
    /// none: a promotion may take the last
    Nothing,
}

/// The policy in force.
#[derive(Clone, Debug)]
pub enum Tiering {
    None(NoTiering),
    NumaBalancing(NumaBalancing),
    Tpp(Tpp),
}

impl Tiering {
    pub(super) fn scan(&self) -> Option<ScanSpec> {
        match self {
            Tiering::None(_) => None,
            Tiering::NumaBalancing(policy) => Some(policy.spec.scan),
            Tiering::Tpp(policy) => Some(policy.spec.scan),
        }
    }

    pub(super) fn judge(&mut self, now: Time, fault: HintFault, stats: &mut OsStats) -> Verdict {
        match self {
            Tiering::None(_) => Verdict::default(),
            Tiering::NumaBalancing(policy) => policy.judge(now, fault, stats),
            Tiering::Tpp(policy) => policy.judge(fault, stats),
        }
    }

    pub(super) fn demotes(&self) -> bool {
        !matches!(self, Tiering::None(_))
    }

    /// Free frames below which kswapd starts, and at which it stops.
    pub(super) fn reclaim_marks(&self, frames: &Frames, node: NodeId) -> (usize, usize) {
        match self {
            Tiering::None(_) => (frames.low(node), frames.high(node)),
            // Promotions wake kswapd as soon as they find less than the high watermark, and it makes room for them.
            Tiering::NumaBalancing(_) => (frames.high(node) + 1, frames.promo(node)),
            Tiering::Tpp(policy) => policy.reclaim_marks(frames.high(node), frames.capacity(node)),
        }
    }

    pub(super) fn reclaiming(&mut self, free: usize, start: usize, stop: usize) -> bool {
        let working = match self {
            Tiering::None(policy) => &mut policy.reclaiming,
            Tiering::NumaBalancing(policy) => &mut policy.reclaiming,
            Tiering::Tpp(policy) => &mut policy.reclaiming,
        };
        *working = free < start || (*working && free < stop);
        *working
    }
}

impl Verdict {
    /// Frames that a promotion has to leave, if there is one.
    pub(super) fn promote_leaving(self, frames: &Frames, node: NodeId) -> Option<usize> {
        self.promote.map(|reserve| match reserve {
            Reserve::HighWatermark => frames.high(node),
            Reserve::Nothing => 0,
        })
    }
}
