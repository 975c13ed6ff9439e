//! STREAM's four kernels: what each does with three arrays, and the bytes that STREAM counts for it.
//!
//! ```text
//!   copy   c = a          scale  b = 3 c          add  c = a + b          triad  a = b + 3 c
//!   16 B an element       16 B                    24 B                    24 B
//! ```
//!
//! STREAM does not count the read for ownership of ordinary stores. The memory therefore moves up to 3/2 (copy, scale) or 4/3
//! (add, triad) of what is printed. The stores are ordinary: copy is kept from becoming memcpy, which may store past the caches.
//! Source: J. D. McCalpin, STREAM 5.10 (stream.c, "run rules").

use serde::Serialize;
use std::arch::asm;
use std::fmt;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kernel {
    Copy,
    Scale,
    Add,
    Triad,
}

/// The factor of scale and triad.
pub const SCALAR: f64 = 3.0;
/// Doubles of a cache line: threads share no line.
pub const GRAIN: usize = 8;

impl Kernel {
    pub const ALL: [Kernel; 4] = [Kernel::Copy, Kernel::Scale, Kernel::Add, Kernel::Triad];

    /// Bytes that STREAM counts for an element.
    #[must_use]
    pub fn bytes(self) -> u64 {
        match self {
            Kernel::Copy | Kernel::Scale => 16,
            Kernel::Add | Kernel::Triad => 24,
        }
    }

    /// Over slices of one length, a multiple of 8.
    #[inline(never)]
    pub fn run(self, a: &mut [f64], b: &mut [f64], c: &mut [f64]) {
        match self {
            Kernel::Copy => {
                for (c, a) in c.chunks_exact_mut(GRAIN).zip(a.chunks_exact(GRAIN)) {
                    c.copy_from_slice(a);
                    keep_order();
                }
            }
            Kernel::Scale => b.iter_mut().zip(&*c).for_each(|(b, c)| *b = SCALAR * c),
            Kernel::Add => c.iter_mut().zip(&*a).zip(&*b).for_each(|((c, a), b)| *c = a + b),
            Kernel::Triad => a.iter_mut().zip(&*b).zip(&*c).for_each(|((a, b), c)| *a = b + SCALAR * c),
        }
    }
}

impl fmt::Display for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Kernel::Copy => "copy",
            Kernel::Scale => "scale",
            Kernel::Add => "add",
            Kernel::Triad => "triad",
        })
    }
}

/// The compiler may not merge what is before with what is after, so a loop around it stays a loop.
#[inline(always)]
fn keep_order() {
    // SAFETY: no instruction.
    unsafe { asm!("", options(nostack, preserves_flags)) }
}
