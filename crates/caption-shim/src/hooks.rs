//! C functions that stand before the allocator's. Each calls the allocator, then places what it gave.
//!
//! The allocator is whichever comes next (RTLD_NEXT): glibc's, jemalloc's, ... While it is being looked up, the look-up's
//! own requests are served from a small arena that is never given back.

use crate::{follower, policy};
use libc::{c_char, c_int, c_void, size_t};
use std::mem::transmute;
use std::ptr::{null_mut, slice_from_raw_parts_mut};
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};

#[used]
#[unsafe(link_section = ".init_array")]
static START: extern "C" fn() = start;

extern "C" fn start() {
    follower::start();
}

/// A function of the next allocator.
struct Next {
    /// Ends with a 0.
    name: &'static [u8],
    address: AtomicPtr<c_void>,
}

static MALLOC: Next = Next::new(b"malloc\0");
static CALLOC: Next = Next::new(b"calloc\0");
static REALLOC: Next = Next::new(b"realloc\0");
static FREE: Next = Next::new(b"free\0");
static POSIX_MEMALIGN: Next = Next::new(b"posix_memalign\0");
static ALIGNED_ALLOC: Next = Next::new(b"aligned_alloc\0");
static MEMALIGN: Next = Next::new(b"memalign\0");
static LOOKING_UP: AtomicBool = AtomicBool::new(false);

impl Next {
    const fn new(name: &'static [u8]) -> Next {
        Next { name, address: AtomicPtr::new(null_mut()) }
    }

    /// None during a look-up.
    fn get(&self) -> Option<*mut c_void> {
        let known = self.address.load(Ordering::Acquire);
        if !known.is_null() {
            return Some(known);
        }
        if LOOKING_UP.swap(true, Ordering::Acquire) {
            return None;
        }
        // SAFETY: a name that ends with 0.
        let found = unsafe { libc::dlsym(libc::RTLD_NEXT, self.name.as_ptr().cast::<c_char>()) };
        self.address.store(found, Ordering::Release);
        LOOKING_UP.store(false, Ordering::Release);
        (!found.is_null()).then_some(found)
    }
}

/// Serves the look-up.
#[repr(align(16))]
struct Arena(std::cell::UnsafeCell<[u8; Arena::SIZE]>);

// SAFETY: every byte is handed out once, by an atomic counter.
unsafe impl Sync for Arena {}

static ARENA: Arena = Arena(std::cell::UnsafeCell::new([0; Arena::SIZE]));
static ARENA_USED: AtomicUsize = AtomicUsize::new(0);

impl Arena {
    const SIZE: usize = 64 << 10;

    /// Zeroed, aligned to 16.
    fn take(size: usize) -> *mut c_void {
        let size = size.next_multiple_of(16);
        let from = ARENA_USED.fetch_add(size, Ordering::Relaxed);
        if from + size > Arena::SIZE {
            return null_mut();
        }
        slice_from_raw_parts_mut(ARENA.0.get().cast::<u8>().wrapping_add(from), size).cast()
    }

    fn owns(address: *mut c_void) -> bool {
        let start = ARENA.0.get() as usize;
        (start..start + Arena::SIZE).contains(&(address as usize))
    }
}

/// # Safety
/// As malloc(3).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn malloc(size: size_t) -> *mut c_void {
    let Some(next) = MALLOC.get() else {
        return Arena::take(size);
    };
    // SAFETY: the next allocator's malloc.
    let address = unsafe { transmute::<*mut c_void, extern "C" fn(size_t) -> *mut c_void>(next)(size) };
    follower::follow(address, size);
    address
}

/// # Safety
/// As calloc(3).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn calloc(count: size_t, size: size_t) -> *mut c_void {
    let Some(next) = CALLOC.get() else {
        return Arena::take(count.saturating_mul(size));
    };
    // SAFETY: the next allocator's calloc.
    let address = unsafe { transmute::<*mut c_void, extern "C" fn(size_t, size_t) -> *mut c_void>(next)(count, size) };
    follower::follow(address, count.saturating_mul(size));
    address
}

/// # Safety
/// As realloc(3).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn realloc(old: *mut c_void, size: size_t) -> *mut c_void {
    if Arena::owns(old) {
        // SAFETY: a new block; what the old one holds is at most what is left of the arena.
        return unsafe {
            let left = ARENA.0.get() as usize + Arena::SIZE - old as usize;
            let new = malloc(size);
            if !new.is_null() {
                new.copy_from_nonoverlapping(old, size.min(left));
            }
            new
        };
    }
    let Some(next) = REALLOC.get() else {
        return null_mut();
    };
    // SAFETY: the next allocator's realloc, on its own block.
    let address =
        unsafe { transmute::<*mut c_void, extern "C" fn(*mut c_void, size_t) -> *mut c_void>(next)(old, size) };
    follower::follow(address, size);
    address
}

/// # Safety
/// As free(3).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn free(old: *mut c_void) {
    if Arena::owns(old) {
        return;
    }
    if let Some(next) = FREE.get() {
        // SAFETY: the next allocator's free, on its own block.
        unsafe { transmute::<*mut c_void, extern "C" fn(*mut c_void)>(next)(old) };
    }
}

/// # Safety
/// As posix_memalign(3).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn posix_memalign(out: *mut *mut c_void, alignment: size_t, size: size_t) -> c_int {
    let Some(next) = POSIX_MEMALIGN.get() else {
        return libc::ENOMEM;
    };
    // SAFETY: the next allocator's posix_memalign; `out` is the caller's, and set where the code is 0.
    unsafe {
        let code = transmute::<*mut c_void, extern "C" fn(*mut *mut c_void, size_t, size_t) -> c_int>(next)(
            out, alignment, size,
        );
        if code == 0 {
            follower::follow(*out, size);
        }
        code
    }
}

/// # Safety
/// As aligned_alloc(3).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aligned_alloc(alignment: size_t, size: size_t) -> *mut c_void {
    aligned(&ALIGNED_ALLOC, alignment, size)
}

/// # Safety
/// As memalign(3).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn memalign(alignment: size_t, size: size_t) -> *mut c_void {
    aligned(&MEMALIGN, alignment, size)
}

fn aligned(next: &Next, alignment: size_t, size: size_t) -> *mut c_void {
    let Some(next) = next.get() else {
        return null_mut();
    };
    // SAFETY: the next allocator's function of this shape.
    let address =
        unsafe { transmute::<*mut c_void, extern "C" fn(size_t, size_t) -> *mut c_void>(next)(alignment, size) };
    follower::follow(address, size);
    address
}

/// # Safety
/// As mmap(2).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mmap(
    address: *mut c_void,
    length: size_t,
    protection: c_int,
    flags: c_int,
    file: c_int,
    offset: libc::off_t,
) -> *mut c_void {
    // SAFETY: the caller's request, as it is.
    let mapped = unsafe { policy::raw_mmap(address as usize, length, protection, flags, file, offset) };
    let private = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    if mapped != libc::MAP_FAILED && flags & private == private && length >= follower::LARGE {
        follower::follow(mapped, length);
    }
    mapped
}

/// # Safety
/// As mmap(2).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mmap64(
    address: *mut c_void,
    length: size_t,
    protection: c_int,
    flags: c_int,
    file: c_int,
    offset: libc::off_t,
) -> *mut c_void {
    // SAFETY: on 64-bit Linux the two are one.
    unsafe { mmap(address, length, protection, flags, file, offset) }
}
