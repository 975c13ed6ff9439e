//! Hints to the caches of the computer that simulates. They change nothing but speed.
//!
//! Tags of a large simulated cache do not fit into the caches of the host. The model knows a set's number long before it
//! looks there. So it asks for the set's memory when it learns the number.

/// Bytes that a host's cache moves at once, on all processors that CXLab runs on.
const LINE: usize = 64;

/// Lets the host fetch what `wanted` holds, because it will be read soon.
#[inline]
pub fn fetch<T>(wanted: &[T]) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let bytes = size_of_val(wanted);
        for offset in (0..bytes).step_by(LINE).chain(bytes.checked_sub(1)) {
            let place = wanted.as_ptr().cast::<i8>().wrapping_add(offset);
            // SAFETY: a prefetch changes nothing that a program sees, and the place lies within `wanted`.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(place) }
        }
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = wanted;
}
