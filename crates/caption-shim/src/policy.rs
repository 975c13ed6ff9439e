//! mbind(2) and set_mempolicy(2), raw; a refusal is said once and changes nothing.

use std::sync::atomic::{AtomicBool, Ordering};

const MPOL_DEFAULT: libc::c_long = 0;
/// These nodes first, others where they are full (Linux 5.15): a full CXL node must not kill the application.
const MPOL_PREFERRED_MANY: libc::c_long = 5;
/// The kernel reads one bit less than it is told.
const BITS: libc::c_long = 65;

/// A whole word: what is narrower leaves the upper half of an argument on the stack undefined.
const NO_FLAGS: libc::c_long = 0;

/// Mode, mask, bits: as the two calls take them.
struct Policy {
    mode: libc::c_long,
    mask: [u64; 1],
    bits: libc::c_long,
}

impl Policy {
    /// No node is the system's default policy.
    fn of(nodes: u64) -> Policy {
        match nodes {
            0 => Policy { mode: MPOL_DEFAULT, mask: [0], bits: 0 },
            _ => Policy { mode: MPOL_PREFERRED_MANY, mask: [nodes], bits: BITS },
        }
    }
}

/// New pages of a range go to `nodes`. The range is page-aligned.
pub fn bind(start: usize, length: usize, nodes: u64) {
    let policy = Policy::of(nodes);
    // SAFETY: the call changes where pages come from, never what is in them; the mask outlives it.
    let code = unsafe {
        libc::syscall(libc::SYS_mbind, start, length, policy.mode, policy.mask.as_ptr(), policy.bits, NO_FLAGS)
    };
    complain(code);
}

/// New pages of the calling thread go to `nodes`.
pub fn set(nodes: u64) {
    let policy = Policy::of(nodes);
    // SAFETY: as for `bind`.
    let code = unsafe { libc::syscall(libc::SYS_set_mempolicy, policy.mode, policy.mask.as_ptr(), policy.bits) };
    complain(code);
}

fn complain(code: libc::c_long) {
    static SAID: AtomicBool = AtomicBool::new(false);
    if code != 0 && !SAID.swap(true, Ordering::Relaxed) {
        say(
            "the kernel refuses a memory policy (node without memory, cpuset, or before Linux 5.15); those pages stay as they were",
        );
    }
}

/// To standard error without allocating.
pub fn say(text: &str) {
    for part in ["cxlab-caption shim: ", text, "\n"] {
        // SAFETY: writes bytes that live through the call.
        unsafe { libc::write(2, part.as_ptr().cast(), part.len()) };
    }
}

/// mmap(2) without a hook in between; every argument a whole word.
///
/// # Safety
/// As mmap(2).
pub unsafe fn raw_mmap(
    address: usize,
    length: usize,
    protection: i32,
    flags: i32,
    file: i32,
    offset: i64,
) -> *mut libc::c_void {
    let word = libc::c_long::from;
    // SAFETY: the caller's request, to the kernel.
    let mapped =
        unsafe { libc::syscall(libc::SYS_mmap, address, length, word(protection), word(flags), word(file), offset) };
    mapped as *mut libc::c_void
}
