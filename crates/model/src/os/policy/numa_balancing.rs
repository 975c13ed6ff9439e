//! NUMA balancing's tiering mode (kernel.numa_balancing = 2): hot page selection.
//!
//! ```text
//!   hint fault --room on the fast tier?--> promote, threshold back to its default
//!              --latency >= threshold----> cold
//!              --above the rate limit----> not now
//!              else promote
//!   each long period: more candidates than the limit allows? threshold down by 1/8 of its default, else up (to twice)
//! ```
//! Source: Linux 6.1, kernel/sched/fair.c: should_numa_migrate_memory, numa_promotion_adjust_threshold,
//! numa_promotion_rate_limit. Seconds of Linux are milliseconds here. Not modelled: the scan period's adaptation to
//! locality (it stays at its least).

use cxlab_kernel::Time;

use super::{HintFault, Reserve, ScanSpec, Verdict};
use crate::os::OsStats;

/// Linux's settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NumaBalancingSpec {
    pub scan: ScanSpec,
    /// a page is hot if it is accessed within this time of its mark
    pub hot_threshold: Time,
    /// between two changes of the threshold
    pub adjust_period: Time,
    /// promotion candidates in `rate_period` `[pages]`
    pub rate_limit: u64,
    pub rate_period: Time,
}

/// Marks 256 MB in 1 s, as a rate: 65.5 pages of 4 KiB in 1 ms (numa_balancing_scan_size_mb, scan_period_min_ms). It
/// looks at up to eight times as many (task_numa_work: virtpages).
pub(super) const SCAN: ScanSpec = ScanSpec { period: Time::from_ns(1_000_000), pages: 66, most_looks: 8 * 66 };

impl NumaBalancingSpec {
    /// Defaults of Linux 6.1, 1 ms for 1 s: hot_threshold_ms 1000, scan_period_max_ms 60000, promote_rate_limit 65536 MB/s.
    pub const LINUX: NumaBalancingSpec = NumaBalancingSpec {
        scan: SCAN,
        hot_threshold: Time::from_ns(1_000_000),
        adjust_period: Time::from_ns(60_000_000),
        rate_limit: 65536 * 256 / 1000,
        rate_period: Time::from_ns(1_000_000),
    };
}

/// The policy and what it remembers.
#[derive(Clone, Debug)]
pub struct NumaBalancing {
    pub(super) spec: NumaBalancingSpec,
    threshold: Time,
    /// candidates ever
    candidates: u64,
    /// when the threshold was changed last, and the candidates until then
    adjusted: (Time, u64),
    /// when the rate's period began, and the candidates until then
    rated: (Time, u64),
    pub(super) reclaiming: bool,
}

/// NUMA_MIGRATION_ADJUST_STEPS.
const STEPS: u64 = 16;

impl NumaBalancing {
    #[must_use]
    pub fn new(spec: NumaBalancingSpec) -> NumaBalancing {
        NumaBalancing {
            threshold: spec.hot_threshold,
            spec,
            candidates: 0,
            adjusted: (Time::ZERO, 0),
            rated: (Time::ZERO, 0),
            reclaiming: false,
        }
    }

    /// The threshold now.
    #[must_use]
    pub fn threshold(&self) -> Time {
        self.threshold
    }

    /// Decides what becomes of a page at its hint fault.
    pub fn judge(&mut self, now: Time, fault: HintFault, stats: &mut OsStats) -> Verdict {
        let promote = Verdict { promote: Some(Reserve::HighWatermark), activate: false };
        // pgdat_free_space_enough: a sixteenth of the node beside the watermark (or 1 GB, which is more than these nodes).
        if fault.free > fault.capacity / 16 {
            self.threshold = self.spec.hot_threshold;
            stats.candidates.increment();
            return promote;
        }
        self.adjust(now);
        if fault.latency >= self.threshold {
            stats.refused_cold.increment();
            return Verdict::default();
        }
        stats.candidates.increment();
        if self.limited(now) {
            stats.refused_rate.increment();
            return Verdict::default();
        }
        promote
    }

    fn adjust(&mut self, now: Time) {
        let (since, before) = self.adjusted;
        if now.since(since) <= self.spec.adjust_period {
            return;
        }
        let periods = self.spec.adjust_period.as_ps() / self.spec.rate_period.as_ps();
        let allowed = self.spec.rate_limit * periods;
        let found = self.candidates - before;
        let step = Time::from_ps(self.spec.hot_threshold.as_ps() * 2 / STEPS);
        if found > allowed * 11 / 10 {
            self.threshold = self.threshold.since(step).max(step);
        } else if found < allowed * 9 / 10 {
            self.threshold = (self.threshold + step).min(self.spec.hot_threshold * 2);
        }
        self.adjusted = (now, self.candidates);
    }

    fn limited(&mut self, now: Time) -> bool {
        self.candidates += 1;
        if now.since(self.rated.0) > self.spec.rate_period {
            self.rated = (now, self.candidates);
        }
        self.candidates - self.rated.1 >= self.spec.rate_limit
    }
}
