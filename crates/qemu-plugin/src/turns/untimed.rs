//! Turns where nothing is timed: each vCPU goes on at the pace that it has in detail, so that all pass the same time.
//!
//! ```text
//!   detail:   pace of each = time without PAUSEs and halts / instructions      warming: at = instructions x pace + PAUSEs
//! ```
//!
//! A turn ends where a vCPU is further ahead of the one most behind than a slice, and where it wakes another. While one
//! spins, nobody runs ahead of anybody, as in detail: else each hand-over of a lock would cost a slice of spinning.
//! Source: T. Carlson, W. Heirman and L. Eeckhout, Sampled simulation of multi-threaded applications, ISPASS 2013: threads
//! are fast-forwarded by the rates of the last detail, and samples are placed in time.

use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;

use cxlab_access::record::PAUSE_PS;

use super::SPIN;
use crate::qemu::{self, Cpu};

/// Greatest lead of a vCPU over the one most behind `[ps]`. If two wait for each other without PAUSE or a sleep, one
/// waits so much too long. Of 10 us a barrier of two threads made 1.5 times the time of detail
/// (tests/programs/crew.c).
const SLICE_PS: u64 = 2_000_000;

/// Bits of the vCPUs that wait for an interrupt, and of those that have got one since the running one's turn began.
static ASLEEP: AtomicUsize = AtomicUsize::new(0);
static WOKEN: AtomicUsize = AtomicUsize::new(0);
/// The vCPU that runs while nothing is timed.
static RUNNING: AtomicUsize = AtomicUsize::new(0);

/// It waits for an interrupt.
pub fn fall_asleep(vcpu: usize) {
    ASLEEP.fetch_or(1 << vcpu, Relaxed);
}

/// Number of vCPUs that are awake, of so many; one at least.
pub fn awake(vcpus: usize) -> usize {
    (vcpus - ASLEEP.load(Relaxed).count_ones() as usize).max(1)
}

/// See which of so many wait for an interrupt. Asked by `vcpu`, which does not.
pub fn look_who_sleeps(vcpu: usize, vcpus: usize) {
    let sleeps = |other: &usize| *other != vcpu && qemu::is_idle(*other);
    ASLEEP.store((0..vcpus).filter(sleeps).map(|other| 1 << other).sum(), Relaxed);
}

/// One that sleeps gets an interrupt: whoever runs ends its turn.
pub fn wakes(cpu: Cpu, vcpus: usize) {
    let asleep = ASLEEP.load(Relaxed);
    if let Some(vcpu) = (0..vcpus).find(|vcpu| asleep >> vcpu & 1 == 1 && qemu::cpu(*vcpu) == cpu) {
        WOKEN.fetch_or(1 << vcpu, Relaxed);
        qemu::end_turn(RUNNING.load(Relaxed));
    }
}

/// Progress of each vCPU in a stretch that is not timed.
pub struct Untimed {
    /// since the stretch began `[ps]`; the one that has come furthest
    at_ps: Vec<u64>,
    furthest_ps: u64,
    pace_ps: Vec<u64>,
    /// instructions since each executed PAUSE
    since_pause: Vec<u64>,
    running: usize,
    /// time of its turn that is left `[ps]`
    left_ps: u64,
}

impl Untimed {
    pub fn new(vcpus: usize) -> Untimed {
        Untimed {
            at_ps: vec![0; vcpus],
            furthest_ps: 0,
            pace_ps: vec![1; vcpus],
            since_pause: vec![SPIN; vcpus],
            running: 0,
            left_ps: 0,
        }
    }

    /// A stretch begins on this vCPU; an instruction of each takes so long `[ps]`.
    pub fn begin(&mut self, vcpu: usize, pace_ps: impl Iterator<Item = u64>) {
        self.pace_ps.clear();
        self.pace_ps.extend(pace_ps);
        self.at_ps.fill(0);
        self.since_pause.fill(SPIN);
        self.furthest_ps = 0;
        self.run(vcpu, SLICE_PS);
    }

    fn run(&mut self, vcpu: usize, left_ps: u64) {
        (self.running, self.left_ps) = (vcpu, left_ps);
        RUNNING.store(vcpu, Relaxed);
    }

    /// Time since the stretch began, by the vCPU that has come furthest `[ps]`.
    pub fn passed_ps(&self) -> u64 {
        self.furthest_ps
    }

    /// Whether `vcpu` may enter a block; else it is another's turn.
    #[inline]
    pub fn enter(&mut self, vcpu: usize) -> bool {
        vcpu == self.running && self.left_ps > 0 || self.choose(vcpu)
    }

    #[cold]
    fn choose(&mut self, vcpu: usize) -> bool {
        self.wake(WOKEN.swap(0, Relaxed) | 1 << vcpu);
        let (mut others_ps, mut spins) = (None, false);
        for other in (0..self.at_ps.len()).filter(|other| *other != vcpu && !qemu::is_idle(*other)) {
            self.wake(1 << other);
            others_ps = Some(others_ps.unwrap_or(u64::MAX).min(self.at_ps[other]));
            spins |= self.since_pause[other] < SPIN;
        }
        let at_ps = self.at_ps[vcpu];
        let ahead_ps = if spins { PAUSE_PS } else { SLICE_PS };
        let left_ps = others_ps.map_or(SLICE_PS, |others_ps: u64| (others_ps + ahead_ps).saturating_sub(at_ps));
        if left_ps == 0 || others_ps.is_some_and(|others_ps| others_ps < at_ps && vcpu == self.running) {
            return false;
        }
        self.run(vcpu, left_ps);
        true
    }

    /// Those of these vCPUs that slept have come to where the running one is.
    fn wake(&mut self, vcpus: usize) {
        let now_ps = self.at_ps[self.running];
        let mut woken = ASLEEP.fetch_and(!vcpus, Relaxed) & vcpus;
        while woken != 0 {
            let vcpu = woken.trailing_zeros() as usize;
            self.at_ps[vcpu] = self.at_ps[vcpu].max(now_ps);
            woken &= woken - 1;
        }
    }

    /// It executes so many instructions, the last of them PAUSE or not.
    #[inline]
    pub fn execute(&mut self, vcpu: usize, instructions: u64, pauses: bool) {
        self.since_pause[vcpu] = if pauses { 0 } else { self.since_pause[vcpu] + instructions };
        self.pass(vcpu, instructions * self.pace_ps[vcpu] + if pauses { PAUSE_PS } else { 0 });
    }

    /// It goes on by so long.
    #[inline]
    pub fn pass(&mut self, vcpu: usize, ps: u64) {
        self.at_ps[vcpu] += ps;
        self.furthest_ps = self.furthest_ps.max(self.at_ps[vcpu]);
        self.left_ps = self.left_ps.saturating_sub(ps);
    }

    /// All were idle for so long.
    pub fn idle(&mut self, ps: u64) {
        self.furthest_ps += ps;
        self.at_ps.fill(self.furthest_ps);
    }
}
