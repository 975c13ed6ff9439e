//! Sync points of one vCPU. There it tells the model that it has come so far, and learns the time of that point or of
//! one a little before.
//!
//! One that lags lets QEMU run beside the model; one that does not is a question: where is this vCPU now?

use std::num::NonZeroU64;

use cxlab_access::record::PAUSE_PS;

use crate::turns;

/// Simulated time between two sync points of a vCPU `[ps]`: timers are late by at most two of them, three where there are
/// several vCPUs.
const INTERVAL_PS: u64 = 2_000_000;
/// Sync points that a vCPU may be ahead of the model. Where there are several vCPUs, another one may have to run before
/// the last is answered.
pub const LAG: u8 = 1;
pub const LAG_OF_SEVERAL: u8 = 2;
/// Bounds on the instructions between two sync points.
const QUANTUM: std::ops::RangeInclusive<u64> = 500..=20_000;
/// Instructions between two sync points of each of several vCPUs, at most, times the vCPUs. If a program becomes slower,
/// each vCPU goes on by its old pace until the first of these is answered. With bounds of 20,000, some of 48 vCPUs were
/// 220 us ahead of what they believed. With 500, the lead of all together was what they do in a window of 10 us.
const QUANTA_OF_SEVERAL: u64 = 12_000;
/// Bounds of that for each vCPU. With fewer instructions, QEMU and the model wait for each other. Four vCPUs together had
/// 0.76 of the speed of one with 250, and have 0.84 with 2,000 (`make speed`, stream_threads).
const MOST_OF_SEVERAL: std::ops::RangeInclusive<u64> = 250..=2_000;

/// Bounds on the instructions between two sync points of one of so many vCPUs.
fn bounds(vcpus: usize) -> std::ops::RangeInclusive<u64> {
    if vcpus == 1 {
        return QUANTUM;
    }
    let most = (QUANTA_OF_SEVERAL / vcpus as u64).clamp(*MOST_OF_SEVERAL.start(), *MOST_OF_SEVERAL.end());
    most * 4 / 5..=most
}

/// A question at a sync point.
#[derive(Clone, Copy)]
pub enum Question {
    /// where the vCPU is; it goes on when the sync point so many before this one is answered
    After { lag: u8 },
    /// when all before has committed and all stores have left the core, and the core `owns` this line
    Drained { owns: Option<NonZeroU64> },
}

impl Question {
    /// Where the vCPU is now.
    pub const HERE: Question = Question::After { lag: 0 };
}

/// The sync points of one vCPU.
#[derive(Clone, Copy)]
pub struct Syncs {
    /// so far
    count: u64,
    /// the last one that the model has said something to
    told: u64,
    /// instructions since the last one
    since: u64,
    /// instructions in an interval, follows the pace
    quantum: u64,
}

impl Syncs {
    pub const START: Syncs = Syncs { count: 0, told: 0, since: 0, quantum: *QUANTUM.start() };

    /// So many instructions are executed, the last of them PAUSE or not: whether a sync point is due.
    #[inline]
    pub fn execute(&mut self, instructions: u64, pauses: bool) -> bool {
        // A PAUSE takes its share of the interval.
        self.since += instructions + if pauses { self.quantum * PAUSE_PS / INTERVAL_PS } else { 0 };
        self.since >= self.quantum
    }

    /// An interval begins.
    pub fn begin(&mut self) {
        self.since = 0;
    }

    /// The number of the sync point that is here.
    pub fn reach(&mut self) -> u64 {
        self.count += 1;
        self.count
    }

    /// The sync point `lag` before the last one, if the model has yet to say something to it.
    pub fn awaits(&mut self, lag: u8) -> Option<u64> {
        let awaited = self.count.saturating_sub(u64::from(lag));
        (awaited > self.told).then(|| {
            self.told = awaited;
            awaited
        })
    }

    /// An instruction takes so long by now `[ps]`.
    pub fn follow(&mut self, pace_ps: u64) {
        let bounds = bounds(turns::vcpus());
        self.quantum = (INTERVAL_PS / pace_ps).clamp(*bounds.start(), *bounds.end());
    }
}

#[cfg(test)]
mod tests {
    use super::bounds;

    #[test]
    fn the_more_vcpus_the_sooner_each_learns_that_it_has_become_slow() {
        assert_eq!(bounds(1), 500..=20_000);
        assert_eq!(bounds(4), 1600..=2000);
        assert_eq!(bounds(12), 800..=1000);
        // 12,000 instructions of all together.
        for vcpus in [6, 12, 24, 48] {
            assert_eq!(vcpus as u64 * bounds(vcpus).end(), 12_000);
        }
        assert_eq!(bounds(64), 200..=250);
    }
}
