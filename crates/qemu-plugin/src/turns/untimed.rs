//! Turns where nothing is timed: each vCPU goes on at the pace that it had in detail, so that all pass the same time.
//!
//! ```text
//!   detail:   pace of each = time without PAUSEs and halts / instructions      warming: at = instructions x pace + PAUSEs
//! ```
//!
//! Source: T. Carlson, W. Heirman and L. Eeckhout, Sampled simulation of multi-threaded applications, ISPASS 2013: threads
//! are fast-forwarded by the rates of the last detail, and samples are placed in time.

use cxlab_access::record::PAUSE_PS;

use crate::qemu;

/// How far a vCPU may be ahead of the one most behind [ps]: five sync intervals, and a few ten thousand instructions.
const SLICE_PS: u64 = 10_000_000;

/// Where each vCPU is in a stretch that is not timed.
pub struct Untimed {
    /// since the stretch began [ps]
    at_ps: Vec<u64>,
    pace_ps: Vec<u64>,
    /// it waits for an interrupt
    asleep: Vec<bool>,
    running: usize,
    /// time of its turn that is left [ps]
    left_ps: u64,
}

impl Untimed {
    pub fn new(vcpus: usize) -> Untimed {
        Untimed { at_ps: vec![0; vcpus], pace_ps: vec![1; vcpus], asleep: vec![false; vcpus], running: 0, left_ps: 0 }
    }

    /// A stretch begins on this vCPU; an instruction of each takes so long [ps].
    pub fn begin(&mut self, vcpu: usize, pace_ps: impl Iterator<Item = u64>) {
        self.pace_ps.clear();
        self.pace_ps.extend(pace_ps);
        self.at_ps.fill(0);
        self.asleep.fill(false);
        (self.running, self.left_ps) = (vcpu, SLICE_PS);
    }

    /// What has passed since the stretch began: where the one is that has come furthest [ps].
    pub fn passed_ps(&self) -> u64 {
        self.at_ps.iter().copied().max().unwrap_or(0)
    }

    /// Whether `vcpu` may enter a block; else it is another's turn.
    #[inline]
    pub fn enter(&mut self, vcpu: usize) -> bool {
        vcpu == self.running && self.left_ps > 0 || self.choose(vcpu)
    }

    #[cold]
    fn choose(&mut self, vcpu: usize) -> bool {
        if std::mem::take(&mut self.asleep[vcpu]) {
            self.at_ps[vcpu] = self.at_ps[vcpu].max(self.at_ps[self.running]);
        }
        let mut others_ps: Option<u64> = None;
        for other in (0..self.at_ps.len()).filter(|other| *other != vcpu) {
            if qemu::is_idle(other) {
                self.asleep[other] = true;
            } else if !self.asleep[other] {
                others_ps = Some(others_ps.unwrap_or(u64::MAX).min(self.at_ps[other]));
            } else {
                // Woken, and not yet run: it goes on from here.
                others_ps = Some(others_ps.unwrap_or(u64::MAX).min(self.at_ps[self.running]));
            }
        }
        let at_ps = self.at_ps[vcpu];
        let left_ps = match others_ps {
            None => SLICE_PS,
            Some(others_ps) => (others_ps + SLICE_PS).saturating_sub(at_ps),
        };
        if left_ps == 0 || others_ps.is_some_and(|others_ps| others_ps < at_ps && vcpu == self.running) {
            return false;
        }
        (self.running, self.left_ps) = (vcpu, left_ps);
        true
    }

    /// It executes so many instructions, the last of them PAUSE or not.
    #[inline]
    pub fn execute(&mut self, vcpu: usize, instructions: u64, pauses: bool) {
        self.stand(vcpu, instructions * self.pace_ps[vcpu] + if pauses { PAUSE_PS } else { 0 });
    }

    /// A device has kept it so long.
    pub fn stand(&mut self, vcpu: usize, ps: u64) {
        self.at_ps[vcpu] += ps;
        self.left_ps = self.left_ps.saturating_sub(ps);
    }

    /// It waits for an interrupt.
    pub fn halt(&mut self, vcpu: usize) {
        self.asleep[vcpu] = true;
    }

    /// All were idle for so long.
    pub fn idle(&mut self, ps: u64) {
        let until_ps = self.passed_ps() + ps;
        self.at_ps.fill(until_ps);
    }
}
