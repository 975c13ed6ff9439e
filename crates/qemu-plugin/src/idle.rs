//! Idling: if a vCPU waits for an interrupt, it jumps to the next timer instead of waiting for the host's clock.
//!
//! ```text
//!   vCPUs halt --> wake us --> [big lock] model settles --> request in flight? stand still, look again
//!                                                       --> else time := next timer, run it --> vCPU wakes
//!                                                       --> or the disk's next answer, if that is before
//! ```
//!
//! Where somebody may type, idle time passes no faster than the host's.

use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Condvar, Mutex};
use std::time::Duration;

use crate::arguments::Idle;
use crate::mode::Mode;
use crate::qemu::{self, BigLock, Cpu};
use crate::stream::For;
use crate::{clock, host_files, mode, stop, stream, turns, under_way};

static HALTED: Mutex<bool> = Mutex::new(false);
static WAKE: Condvar = Condvar::new();
static PACE: AtomicBool = AtomicBool::new(false);

/// Time between two looks for what only the host can bring: a request's answer, a key.
const PAUSE: Duration = Duration::from_micros(20);
/// Longest time that a drive may take if no timer is set: far longer than it does `[ps]`.
const LONGEST_REST_PS: u64 = 1_000_000_000_000;
const LONG_PAUSE: Duration = Duration::from_millis(1);

pub fn set_pace(idle: Idle) {
    PACE.store(idle == Idle::Pace, Relaxed);
}

pub fn start() {
    std::thread::Builder::new().name("cxlab-idle".into()).spawn(watch).expect("a thread can be started");
}

/// QEMU asks whether the thread of this vCPU, which has nothing to do, is idle. It asks for one vCPU after the other
/// until one is not. QEMU holds the big lock, so the watcher gets its turn when QEMU waits.
pub unsafe extern "C" fn thread_is_idle(cpu: Cpu) -> bool {
    if !qemu::asks_whether_idle() && cpu == qemu::cpu(turns::vcpus() - 1) {
        *HALTED.lock().expect("nobody panics with it") = true;
        WAKE.notify_one();
    }
    true
}

fn watch() {
    loop {
        let mut halted = HALTED.lock().expect("nobody panics with it");
        while !*halted {
            halted = WAKE.wait(halted).expect("nobody panics with it");
        }
        *halted = false;
        drop(halted);
        while let Some(pause) = step() {
            std::thread::sleep(pause);
        }
    }
}

/// Bring an idle guest to its next timer. `None`: it is no longer idle; else look again after the pause.
fn step() -> Option<Duration> {
    let lock = BigLock::take();
    if !qemu::all_idle(&lock) || !qemu::runs(&lock) {
        return None;
    }
    if mode::in_detail() {
        stream::with(|stream| stream.feed.settle(turns::speaker()));
    }
    if under_way::holds() && answer_requests(&lock) {
        return Some(Duration::ZERO);
    }
    if host_files::in_flight(&lock) > 0 {
        return Some(PAUSE);
    }
    if stop::is_awaited(&lock) {
        return Some(LONG_PAUSE);
    }
    match qemu::next_timer_in_ns() {
        next if under_way::holds() => rest(next.map_or(LONGEST_REST_PS, |ns| ns * 1000), &lock),
        None => return Some(LONG_PAUSE),
        Some(0) => {}
        Some(ns) if PACE.load(Relaxed) => return pace(lock, ns),
        Some(ns) => jump(ns * 1000, &lock),
    }
    qemu::run_timers(&lock);
    Some(Duration::ZERO)
}

/// Answers requests that are done. Returns whether there were any.
fn answer_requests(lock: &BigLock) -> bool {
    if !mode::tells() {
        // Detail has ended while devices were at work.
        under_way::answer_all(lock);
        return true;
    }
    stream::with(|stream| stream.feed.answer(lock))
}

/// Let so much of the guest's time pass, or less where the run has come to its bound.
fn jump(ps: u64, lock: &BigLock) {
    let over = match mode::now() {
        Mode::Counted => {
            clock::skip(ps);
            false
        }
        Mode::Warming => stream::with(|stream| stream.warm_idle(ps, For::Timer)),
        Mode::Detail => stream::with(|stream| stream.idle(ps)),
    };
    if over {
        stop::is_over_idle(lock);
    }
}

/// Let so much of the guest's time pass, or less where a request to the disk is done before.
fn rest(ps: u64, lock: &BigLock) {
    if stream::with(|stream| stream.rest(ps, lock)) {
        stop::is_over_idle(lock);
    }
}

/// Let a little of the host's time pass, at most to the timer, and the guest's with it.
fn pace(lock: BigLock, ns: u64) -> Option<Duration> {
    drop(lock);
    let span = Duration::from_nanos(ns).min(LONG_PAUSE);
    std::thread::sleep(span);
    let lock = BigLock::take();
    if !qemu::all_idle(&lock) {
        return None;
    }
    jump(span.as_nanos() as u64 * 1000, &lock);
    qemu::run_timers(&lock);
    Some(Duration::ZERO)
}
