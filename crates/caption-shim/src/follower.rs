//! Follows the control page: places what was just allocated.
//!
//! ```text
//!   large (2 chunks and more)   chunk  chunk  chunk ...   each bound to its side; neighbours of one side in one call
//!   small                       after every chunk's worth of small requests the thread's policy turns to the next side
//! ```

use crate::control::{Control, SIZE, VARIABLE, Wish};
use crate::policy;
use crate::sides::{Dealer, Side};
use std::cell::Cell;
use std::ffi::CStr;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering};

const PAGE: usize = 4096;
/// Least chunk `[B]`: one huge page, so that placing does not split them.
const CHUNK: usize = 2 << 20;
/// Most chunks of one allocation: the kernel limits a process to 65530 ranges (vm.max_map_count).
const MOST_CHUNKS: usize = 64;
/// Larger requests are placed by range, smaller ones by the thread's policy.
pub const LARGE: usize = 2 * CHUNK;

static CONTROL: AtomicPtr<Control> = AtomicPtr::new(null_mut());
static LARGE_DEALER: Dealer = Dealer::new();
static SMALL_DEALER: Dealer = Dealer::new();

thread_local! {
    /// Small bytes that this thread may still ask for on its present side.
    static LEFT: Cell<usize> = const { Cell::new(0) };
    /// The control page's sequence that this thread's policy follows.
    static FOLLOWED: Cell<u64> = const { Cell::new(0) };
}

/// Maps the control page that the environment names; without one the shim does nothing.
pub fn start() {
    let mut name = [0u8; VARIABLE_LENGTH];
    name[..VARIABLE.len()].copy_from_slice(VARIABLE.as_bytes());
    // SAFETY: the name ends with a 0; the program has not started, nothing changes the environment.
    let path = unsafe { libc::getenv(name.as_ptr().cast()) };
    if path.is_null() {
        return policy::say("CXLAB_CAPTION_CONTROL names no control file; doing nothing");
    }
    // SAFETY: a string of the environment, ended by 0.
    match map(unsafe { CStr::from_ptr(path) }) {
        Some(control) => CONTROL.store(control, Ordering::Release),
        None => policy::say(
            "the control file cannot be read; start `cxlab-caption run --control FILE` first. Doing nothing",
        ),
    }
}

const VARIABLE_LENGTH: usize = VARIABLE.len() + 1;

fn map(path: &CStr) -> Option<*mut Control> {
    // SAFETY: plain system calls on a path that ends with 0; a file that is too short is not mapped, so no read can fault.
    unsafe {
        let file = libc::open(path.as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC);
        if file < 0 {
            return None;
        }
        let mut status: libc::stat = std::mem::zeroed();
        let whole = libc::fstat(file, &mut status) == 0 && status.st_size >= SIZE as libc::off_t;
        let address = if whole {
            policy::raw_mmap(0, SIZE, libc::PROT_READ, libc::MAP_SHARED, file, 0)
        } else {
            libc::MAP_FAILED
        };
        libc::close(file);
        (address != libc::MAP_FAILED).then_some(address.cast())
    }
}

/// Places memory that was just handed out. Keeps errno.
pub fn follow(address: *mut libc::c_void, size: usize) {
    let control = CONTROL.load(Ordering::Acquire);
    if control.is_null() || address.is_null() {
        return;
    }
    // SAFETY: `start` mapped it for the process's life; it holds only atomics.
    let control = unsafe { &*control };
    // SAFETY: the calling thread's own errno.
    let errno = unsafe { &mut *libc::__errno_location() };
    let before = *errno;
    if size >= LARGE {
        if let Some((_, wish)) = control.read() {
            spread(address as usize, size, wish);
        }
    } else {
        turn(control, size);
    }
    *errno = before;
}

fn nodes(wish: Wish, side: Side) -> u64 {
    match side {
        Side::Ddr => wish.ddr_nodes,
        Side::Cxl => wish.cxl_nodes,
    }
}

/// Small requests: the thread's policy changes side when its chunk is used up, or when the control page has changed.
fn turn(control: &Control, size: usize) {
    let left = LEFT.get();
    if left >= size && FOLLOWED.get() == control.sequence() {
        return LEFT.set(left - size);
    }
    if let Some((sequence, wish)) = control.read() {
        policy::set(nodes(wish, SMALL_DEALER.deal(wish.cxl_millionths)));
        LEFT.set(CHUNK.saturating_sub(size));
        FOLLOWED.set(sequence);
    }
}

/// Large requests: the whole pages inside, chunk by chunk.
fn spread(address: usize, size: usize, wish: Wish) {
    let start = address.next_multiple_of(PAGE);
    let end = (address + size) / PAGE * PAGE;
    let chunk = (size / MOST_CHUNKS).next_multiple_of(CHUNK).max(CHUNK);
    let mut from = start;
    let mut side = LARGE_DEALER.deal(wish.cxl_millionths);
    let mut at = start + chunk;
    while at < end {
        let next = LARGE_DEALER.deal(wish.cxl_millionths);
        if next != side {
            policy::bind(from, at - from, nodes(wish, side));
            (from, side) = (at, next);
        }
        at += chunk;
    }
    policy::bind(from, end - from, nodes(wish, side));
}
