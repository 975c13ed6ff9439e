//! Sync points: where a vCPU tells the model that it is here, and learns what time it is there or a little before.
//!
//! One that lags lets QEMU run beside the model; one that does not is a question: where is this vCPU now?

use cxlab_access::record::PAUSE_PS;
use cxlab_access::ring::{Reply, Told};
use cxlab_access::{Record, Vcpu};

use super::Stream;
use crate::{clock, qemu, turns};

/// Simulated time between two sync points of a vCPU [ps]: timers are late by at most two of them, three where there are
/// several vCPUs.
const INTERVAL_PS: u64 = 2_000_000;
/// Sync points that a vCPU may be ahead of the model. Where there are several vCPUs, another one may have to run before
/// the last is answered.
pub(super) const LAG: u8 = 1;
pub(super) const LAG_OF_SEVERAL: u8 = 2;
/// Bounds on the instructions between two sync points.
const QUANTUM: std::ops::RangeInclusive<u64> = 500..=20_000;

/// The sync points of one vCPU.
#[derive(Clone, Copy)]
pub(super) struct Syncs {
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
    pub(super) const START: Syncs = Syncs { count: 0, told: 0, since: 0, quantum: *QUANTUM.start() };

    /// So many instructions are executed, the last of them PAUSE or not: whether a sync point is due.
    #[inline]
    pub(super) fn execute(&mut self, instructions: u64, pauses: bool) -> bool {
        // A PAUSE takes its share of the interval.
        self.since += instructions + if pauses { self.quantum * PAUSE_PS / INTERVAL_PS } else { 0 };
        self.since >= self.quantum
    }

    /// An interval begins.
    pub(super) fn begin(&mut self) {
        self.since = 0;
    }
}

impl Stream {
    /// Go on when the model has come to the sync point `lag` before the one that is here.
    pub(super) fn sync(&mut self, vcpu: usize, lag: u8) {
        self.syncs[vcpu].count += 1;
        let sequence = self.syncs[vcpu].count;
        self.turns.sync(vcpu, sequence);
        self.push(vcpu, Record::Sync { sequence, lag });
        self.producer.publish();
        let awaited = sequence.saturating_sub(u64::from(lag));
        if awaited > self.syncs[vcpu].told {
            self.syncs[vcpu].told = awaited;
            match self.wait(Reply::Sync(Vcpu::new(vcpu)), awaited) {
                Told::Time(ps) => {
                    let pace_ps = self.turns.synced(vcpu, awaited, ps);
                    self.syncs[vcpu].quantum = (INTERVAL_PS / pace_ps).clamp(*QUANTUM.start(), *QUANTUM.end());
                    self.show(ps);
                }
                Told::Later(behind) => self.turns.step_back(vcpu, behind),
            }
        }
        self.syncs[vcpu].begin();
        clock::run_due_timers(vcpu);
        // One that has been woken by somebody else gets its turn.
        if turns::several() && turns::any_halted() {
            qemu::end_turn(vcpu);
        }
    }
}
