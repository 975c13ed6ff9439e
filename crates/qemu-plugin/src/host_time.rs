//! Hides the host's time from vCPUs. QEMU sizes a vCPU's TLB by how many entries were used in the last 100 ms.
//!
//! ```text
//!   tlb_flush --> tlb_mmu_resize_locked --> gettimeofday      in QEMU's table of imports: ours
//!     a vCPU's thread: 1 ms more with each call               any other thread: the host's time
//! ```
//!
//! The size decides which entry leaves, so it decides when QEMU walks the guest's tables anew. A walk sets the accessed bit, and by
//! that bit Linux chooses which pages it reclaims. With a clock that counts flushes, the size depends on what the guest does alone.
//! Source: accel/tcg/cputlb.c and include/qemu/timer.h of QEMU 10.0; System V ABI, chapter 5 (dynamic linking).

use std::cell::Cell;
use std::ffi::{c_int, c_void};

use crate::qemu::{self, Cpu};
use crate::{imports, series};

/// Time that one call takes. So QEMU's window of 100 ms is a number of flushes.
const CALL_MICROSECONDS: i64 = 1000;
/// Later than any host's time `[s]`, so that a window that has begun by the host's time is over.
const BEGIN_SECONDS: i64 = 1 << 33;
const MICROSECONDS_PER_SECOND: i64 = 1_000_000;

thread_local! {
    /// on a thread of vCPUs: how often it has asked
    static CALLS: Cell<Option<i64>> = const { Cell::new(None) };
}

/// Put our function into QEMU's table of imports.
pub fn start() -> Result<(), String> {
    let replaced = imports::replace(c"gettimeofday", time_of_day as *mut c_void)?;
    if replaced { Ok(()) } else { Err(series::lacks("gettimeofday")) }
}

/// This thread executes vCPUs from here on.
pub fn is_of_vcpus() {
    CALLS.set(Some(CALLS.get().unwrap_or(0)));
}

/// Give a vCPU the empty TLB that it has in a QEMU that has just started. The caller is work on a vCPU of the same thread.
pub fn forget_translations(cpu: Cpu) {
    // SAFETY: no vCPU executes a block meanwhile, and QEMU makes its TLBs with the same function.
    unsafe {
        (qemu::functions().tlb_destroy)(cpu);
        (qemu::functions().tlb_init)(cpu);
    }
}

/// QEMU, in the place of gettimeofday(2).
unsafe extern "C" fn time_of_day(time: *mut libc::timeval, zone: *mut c_void) -> c_int {
    let Some(calls) = CALLS.get() else {
        // SAFETY: the caller's arguments, passed on.
        return unsafe { libc::gettimeofday(time, zone.cast()) };
    };
    CALLS.set(Some(calls + 1));
    let passed = calls * CALL_MICROSECONDS;
    // SAFETY: the caller gives a place for the time.
    unsafe {
        (*time).tv_sec = BEGIN_SECONDS + passed / MICROSECONDS_PER_SECOND;
        (*time).tv_usec = passed % MICROSECONDS_PER_SECOND;
    }
    0
}
