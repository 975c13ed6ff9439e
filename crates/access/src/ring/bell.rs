//! A bell: a side that waits sleeps at it, and the other side rings it.
//!
//! ```text
//!   waits    set the bell, look again, sleep     nothing is missed: each side writes its word,
//!   rings    write the words, look at the bell   and reads the other's only behind a fence
//! ```
//!
//! On a busy host a process that was rung runs before those that compute. One that yields stands behind them in line.
//!
//! Source: futex(2); Linux Documentation/scheduler/sched-eevdf.rst.

use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::atomic::{AtomicU32, fence};
use std::time::Duration;

const SILENT: u32 = 0;
const SET: u32 = 1;

/// A word in memory that both sides map.
#[derive(Debug, Default)]
pub struct Bell(AtomicU32);

impl Bell {
    /// This side is about to sleep. It has to look once more whether what it waits for is there.
    pub(super) fn set(&self) {
        self.0.store(SET, Relaxed);
        fence(SeqCst);
    }

    /// Sleeps until the bell is rung, at most this long. Returns at once if it has been rung since it was set.
    pub(super) fn sleep(&self, at_most: Duration) {
        let (tv_sec, tv_nsec) = (at_most.as_secs() as libc::time_t, at_most.subsec_nanos().into());
        let time = libc::timespec { tv_sec, tv_nsec };
        // SAFETY: the word and the time live as long as the call. A wake-up without cause does no harm: the waiter
        // looks again.
        unsafe { libc::syscall(libc::SYS_futex, self.0.as_ptr(), libc::FUTEX_WAIT, SET, &raw const time) };
    }

    /// Wakes the other side if it sleeps: something that it may wait for has been written.
    #[inline]
    pub(super) fn ring(&self) {
        fence(SeqCst);
        if self.0.load(Relaxed) == SET {
            self.wake();
        }
    }

    #[cold]
    fn wake(&self) {
        if self.0.swap(SILENT, Relaxed) == SET {
            // SAFETY: the word lives as long as the call.
            unsafe { libc::syscall(libc::SYS_futex, self.0.as_ptr(), libc::FUTEX_WAKE, 1) };
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Instant;

    use super::*;

    const LONG: Duration = Duration::from_millis(900);

    #[test]
    fn who_was_rung_before_sleep_does_not_sleep() {
        let bell = Bell::default();
        bell.set();
        bell.ring();
        let begun = Instant::now();
        bell.sleep(LONG);
        assert!(begun.elapsed() < LONG / 2);
    }

    #[test]
    fn who_sleeps_is_woken_and_wakes_alone_if_nobody_rings() {
        let bell = Arc::new(Bell::default());
        let sleeper = std::thread::spawn({
            let bell = Arc::clone(&bell);
            move || {
                let begun = Instant::now();
                bell.set();
                bell.sleep(LONG);
                begun.elapsed()
            }
        });
        while bell.0.load(SeqCst) != SET {
            std::thread::yield_now();
        }
        bell.ring();
        assert!(sleeper.join().unwrap() < LONG / 2);
        bell.set();
        let begun = Instant::now();
        bell.sleep(Duration::from_millis(30));
        assert!(begun.elapsed() >= Duration::from_millis(25));
    }
}
