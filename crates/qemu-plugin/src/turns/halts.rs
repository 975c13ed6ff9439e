//! Halts: which vCPUs wait for an interrupt, and whose records tell that one of them goes on.

use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;

use crate::qemu;

/// Bits of the vCPUs that wait for an interrupt.
static HALTED: AtomicUsize = AtomicUsize::new(0);
/// The vCPU that executed the last block or marker. If it wakes another vCPU, its records say so.
static SPEAKER: AtomicUsize = AtomicUsize::new(0);
/// The vCPU whose block the model was told of last, executed or not.
static NAMED: AtomicUsize = AtomicUsize::new(0);

/// Bits of those that have halted.
pub(super) fn halted() -> usize {
    HALTED.load(Relaxed)
}

/// The vCPU whose block the model was told of last.
pub(super) fn named() -> usize {
    NAMED.load(Relaxed)
}

pub fn is_halted(vcpu: usize) -> bool {
    halted() >> vcpu & 1 == 1
}

pub fn any_halted() -> bool {
    halted() != 0
}

/// Whether one that waits for an interrupt has got one.
pub fn any_woken() -> bool {
    let mut left = halted();
    while left != 0 {
        if qemu::has_work(left.trailing_zeros() as usize) {
            return true;
        }
        left &= left - 1;
    }
    false
}

/// It waits for an interrupt from here on.
pub fn halt(vcpu: usize) {
    HALTED.fetch_or(1 << vcpu, Relaxed);
}

/// It goes on: whether it had halted.
pub(super) fn end_halt(vcpu: usize) -> bool {
    HALTED.fetch_and(!(1 << vcpu), Relaxed) >> vcpu & 1 == 1
}

pub fn speaker() -> usize {
    SPEAKER.load(Relaxed)
}

/// It has executed something.
pub fn speak(vcpu: usize) {
    SPEAKER.store(vcpu, Relaxed);
    NAMED.store(vcpu, Relaxed);
}

/// The model is told which block of it is next. It takes a speaker that has halted to sleep from here on.
pub fn name_next(vcpu: usize) {
    NAMED.store(vcpu, Relaxed);
}
