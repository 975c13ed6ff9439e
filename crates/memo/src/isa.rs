//! One access to one cache line, by the widest vectors that the CPU has.
//!
//! The accesses are `asm!` and not intrinsics: a load whose value nobody uses must stay, as exactly this instruction, without
//! a spill beside it. With AVX-512 an access is one instruction of 64 bytes; with AVX2 it is two of 32.
//!
//! A store writes the line's own address into each of its words, because the stored values matter. On a Zen 5 (EPYC,
//! family 1Ah) non-temporal stores of lines of zeroes ran at 70 to 81 GB/s. Stores of other values ran at 22 to 38
//! GB/s, alternately in one loop.
//!
//! Source: Intel SDM vol. 2, VMOVDQA, VMOVNTDQA, VMOVNTDQ, VPBROADCAST, CLWB.

use crate::error::{Error, Result};
use serde::Serialize;
use std::arch::asm;
use std::arch::x86_64::__cpuid_count;
use std::fmt;

/// A cache line `[B]`.
pub const LINE: usize = 64;

/// The accesses of one instruction set. For all four:
///
/// # Safety
/// The CPU has the instruction set, and `line` is the start of a mapped line; a store's line is the caller's to overwrite.
#[allow(clippy::missing_safety_doc)] // said once, above
pub trait Vector {
    unsafe fn load(line: *mut u8);
    unsafe fn load_nontemporal(line: *mut u8);
    unsafe fn store(line: *mut u8);
    unsafe fn store_nontemporal(line: *mut u8);
}

macro_rules! access {
    ($name:ident: $($instruction:literal),+) => {
        #[inline(always)]
        unsafe fn $name(line: *mut u8) {
            // SAFETY: the trait's condition; xmm0 names the whole of zmm0 to the register allocator.
            unsafe { asm!($($instruction),+, line = in(reg) line, out("xmm0") _, options(nostack, preserves_flags)) }
        }
    };
}

#[derive(Clone, Copy, Debug)]
pub struct Avx512;

impl Vector for Avx512 {
    access!(load: "vmovdqa64 zmm0, [{line}]");
    access!(load_nontemporal: "vmovntdqa zmm0, [{line}]");
    access!(store: "vpbroadcastq zmm0, {line}", "vmovdqa64 [{line}], zmm0");
    access!(store_nontemporal: "vpbroadcastq zmm0, {line}", "vmovntdq [{line}], zmm0");
}

#[derive(Clone, Copy, Debug)]
pub struct Avx2;

impl Vector for Avx2 {
    access!(load: "vmovdqa ymm0, [{line}]", "vmovdqa ymm0, [{line} + 32]");
    access!(load_nontemporal: "vmovntdqa ymm0, [{line}]", "vmovntdqa ymm0, [{line} + 32]");
    access!(store:
        "vmovq xmm0, {line}", "vpbroadcastq ymm0, xmm0",
        "vmovdqa [{line}], ymm0", "vmovdqa [{line} + 32], ymm0");
    access!(store_nontemporal:
        "vmovq xmm0, {line}", "vpbroadcastq ymm0, xmm0",
        "vmovntdq [{line}], ymm0", "vmovntdq [{line} + 32], ymm0");
}

/// Whether the CPU has CLWB: bit 24 of EBX of cpuid leaf 7 (Intel SDM vol. 2, CPUID), which all with AVX2 have.
#[must_use]
pub fn has_write_back() -> bool {
    __cpuid_count(7, 0).ebx >> 24 & 1 == 1
}

/// The line is written back; it may stay in the caches.
///
/// # Safety
/// The CPU [has](has_write_back) the instruction; the line is mapped.
#[inline(always)]
pub unsafe fn write_back(line: *mut u8) {
    // SAFETY: the caller's conditions.
    unsafe { asm!("clwb [{line}]", line = in(reg) line, options(nostack, preserves_flags)) }
}

/// Which of the two a run uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, clap::ValueEnum)]
pub enum Isa {
    #[value(name = "avx512")]
    #[serde(rename = "AVX-512")]
    Avx512,
    #[value(name = "avx2")]
    #[serde(rename = "AVX2")]
    Avx2,
}

impl Isa {
    /// The widest; MEM030 without AVX2.
    pub fn detect() -> Result<Isa> {
        if is_x86_feature_detected!("avx512f") {
            Ok(Isa::Avx512)
        } else if is_x86_feature_detected!("avx2") {
            Ok(Isa::Avx2)
        } else {
            Err(Error::Processor { missing: "AVX2" })
        }
    }

    /// `wanted` if the CPU has it, else the widest that it has. MEM030 for one that it lacks.
    pub fn choose(wanted: Option<Isa>) -> Result<Isa> {
        let widest = Isa::detect()?;
        match wanted {
            Some(Isa::Avx512) if widest != Isa::Avx512 => Err(Error::Processor { missing: "AVX-512" }),
            Some(isa) => Ok(isa),
            None => Ok(widest),
        }
    }
}

impl fmt::Display for Isa {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Isa::Avx512 => "AVX-512",
            Isa::Avx2 => "AVX2",
        })
    }
}

/// Clears the upper halves of the vector registers: without it, code without AVX runs slower afterwards (Intel SDM vol. 1, 14.3).
pub fn leave_vectors() {
    // SAFETY: every CPU that memo runs on has AVX; all vector registers are declared clobbered.
    unsafe { asm!("vzeroupper", clobber_abi("C"), options(nostack, nomem, preserves_flags)) }
}

/// Runs `$body` with `$vector` naming the type of `$isa`.
#[macro_export]
macro_rules! with_vector {
    ($isa:expr, $vector:ident => $body:expr) => {
        match $isa {
            $crate::isa::Isa::Avx512 => {
                type $vector = $crate::isa::Avx512;
                $body
            }
            $crate::isa::Isa::Avx2 => {
                type $vector = $crate::isa::Avx2;
                $body
            }
        }
    };
}
