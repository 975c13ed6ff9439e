//! The time-stamp counter as a clock: read between fences, calibrated against the kernel's raw monotonic clock.
//!
//! Source: Intel SDM vol. 2, RDTSC and LFENCE (ordering); AMD APM vol. 3, the same; CPUID Fn8000_0007 `EDX[8]` (invariant TSC).

use crate::error::{Error, Result};
use crate::summary::Summary;
use rustix::time::{ClockId, clock_gettime};
use serde::Serialize;
use std::arch::asm;
use std::arch::x86_64::__cpuid;
use std::ops::Sub;
use std::time::Duration;

/// A count of the time-stamp counter, as a point or as a span `[ticks]`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Ticks(pub u64);

impl Sub for Ticks {
    type Output = Ticks;
    /// Zero where `other` is later: an empty span minus the clock's own cost may come out below nothing.
    fn sub(self, other: Ticks) -> Ticks {
        Ticks(self.0.saturating_sub(other.0))
    }
}

/// The counter, after all earlier loads are done and before any later instruction starts.
#[inline(always)]
#[must_use]
pub fn now() -> Ticks {
    let (low, high): (u64, u64);
    // SAFETY: reads a counter; unprivileged on Linux (CR4.TSD is clear).
    unsafe {
        asm!("lfence", "rdtsc", "lfence", out("rax") low, out("rdx") high, options(nostack, preserves_flags));
    }
    Ticks(high << 32 | low)
}

/// The rate of the counter, and how well it is known.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Tsc {
    /// Counts a second `[Hz]`, the median of the rounds.
    pub hz: f64,
    /// Largest deviation of a round from the median `[parts per million]`.
    pub spread_ppm: f64,
    /// Counts at a constant rate in all power states.
    pub invariant: bool,
    /// Cost of one read: the median of reads back to back `[ticks]`. Spans are shortened by it.
    #[serde(rename = "read_cost_ticks")]
    pub cost: Ticks,
}

impl Tsc {
    /// Rounds, and the sleep in each: the clock pair is read within 1 us, so a round is good to about 100 ppm.
    const ROUNDS: usize = 7;
    const SLEEP: Duration = Duration::from_millis(10);

    /// It sleeps meanwhile: in a simulated guest that costs nothing.
    pub fn calibrate() -> Result<Tsc> {
        let rates: Vec<f64> = (0..Self::ROUNDS).map(|_| Self::round()).collect();
        let median = Summary::of(&rates).map_or(0.0, |s| s.median);
        if !(1e6..1e12).contains(&median) {
            return Err(Error::Tsc { detail: format!("{median:.0} Hz against CLOCK_MONOTONIC_RAW") });
        }
        let spread = rates.iter().map(|r| (r / median - 1.0).abs()).fold(0.0, f64::max);
        Ok(Tsc { hz: median, spread_ppm: spread * 1e6, invariant: is_invariant(), cost: cost() })
    }

    fn round() -> f64 {
        let (before, began) = pair();
        std::thread::sleep(Self::SLEEP);
        let (after, ended) = pair();
        (after - before).0 as f64 / (ended - began).as_secs_f64()
    }

    /// From one read to a later one `[ns]`, less the cost of a read.
    #[must_use]
    pub fn between(&self, began: Ticks, ended: Ticks) -> f64 {
        self.nanoseconds(ended - began - self.cost)
    }

    #[must_use]
    pub fn nanoseconds(&self, span: Ticks) -> f64 {
        span.0 as f64 * 1e9 / self.hz
    }
}

/// Both clocks at one moment: of several reads, the one that took the least time.
fn pair() -> (Ticks, Duration) {
    let reads = (0..16).map(|_| {
        let before = now();
        let time = clock_gettime(ClockId::MonotonicRaw);
        let cost = now() - before;
        (cost, Ticks(before.0 + cost.0 / 2), Duration::new(time.tv_sec as u64, time.tv_nsec as u32))
    });
    let (_, ticks, time) = reads.min_by_key(|(cost, ..)| *cost).expect("16 reads");
    (ticks, time)
}

fn cost() -> Ticks {
    let mut costs: [Ticks; 1001] = std::array::from_fn(|_| {
        let began = now();
        now() - began
    });
    costs.sort_unstable();
    costs[costs.len() / 2]
}

fn is_invariant() -> bool {
    const ADVANCED_POWER: u32 = 0x8000_0007;
    __cpuid(0x8000_0000).eax >= ADVANCED_POWER && __cpuid(ADVANCED_POWER).edx & (1 << 8) != 0
}
