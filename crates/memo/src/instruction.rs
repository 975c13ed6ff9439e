//! The four ways to access memory that MICRO 2023 section 4.1 tells apart, and one batch of them, timed.
//!
//! ```text
//!   clflush x 16 | mfence | rdtsc | 16 accesses back to back | fence | rdtsc
//! ```
//!
//! The paper's artifact (ece-fast-lab/cxl_type3_tests, memo_ae/src/workload.h) has a clwb behind each of its st: here that is
//! an instruction of its own, st-wb.

use crate::error::{Error, Result};
use crate::isa::{self, Vector};
use crate::tsc::{self, Ticks};
use serde::Serialize;
use std::arch::x86_64::{_mm_clflush, _mm_lfence, _mm_mfence};
use std::fmt;

/// Accesses of a batch: the paper's.
pub const BATCH: usize = 16;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, clap::ValueEnum)]
pub enum Instruction {
    /// Temporal load.
    #[value(name = "ld")]
    #[serde(rename = "ld")]
    Load,
    /// Non-temporal load.
    #[value(name = "nt-ld")]
    #[serde(rename = "nt-ld")]
    NontemporalLoad,
    /// Temporal store: reads its line for ownership.
    #[value(name = "st")]
    #[serde(rename = "st")]
    Store,
    /// A temporal store, and clwb of its line.
    #[value(name = "st-wb")]
    #[serde(rename = "st-wb")]
    StoreAndWriteBack,
    /// Non-temporal store.
    #[value(name = "nt-st")]
    #[serde(rename = "nt-st")]
    NontemporalStore,
}

impl Instruction {
    /// Those of the paper.
    pub const FOUR: [Instruction; 4] =
        [Instruction::Load, Instruction::NontemporalLoad, Instruction::Store, Instruction::NontemporalStore];

    /// Whether this processor has it: MEM001 if not.
    pub fn check(self) -> Result<()> {
        if self != Instruction::StoreAndWriteBack || isa::has_write_back() {
            return Ok(());
        }
        let valid = "ld, nt-ld, st and nt-st: this processor has no clwb".into();
        Err(Error::Parameter { parameter: "--instruction", given: self.to_string(), valid })
    }

    /// From flushed lines to the fence after the last access.
    ///
    /// # Safety
    /// The CPU has `V` and passes [`Instruction::check`]; the lines are mapped, distinct, and the caller's to overwrite.
    #[must_use]
    pub unsafe fn time_batch<V: Vector>(self, lines: &[*mut u8; BATCH]) -> Ticks {
        // SAFETY: passed on.
        unsafe {
            match self {
                Instruction::Load => timed(lines, |l| V::load(l), after_loads),
                Instruction::NontemporalLoad => timed(lines, |l| V::load_nontemporal(l), after_loads),
                Instruction::Store => timed(lines, |l| V::store(l), after_stores),
                Instruction::StoreAndWriteBack => timed(
                    lines,
                    |l| {
                        V::store(l);
                        isa::write_back(l);
                    },
                    after_stores,
                ),
                Instruction::NontemporalStore => timed(lines, |l| V::store_nontemporal(l), after_stores),
            }
        }
    }

    /// Times a batch without accesses: the cost of clock and fence.
    #[must_use]
    pub fn time_nothing(self, lines: &[*mut u8; BATCH]) -> Ticks {
        // SAFETY: flushing mapped lines writes them back, no more; nothing is accessed.
        unsafe {
            match self {
                Instruction::Load | Instruction::NontemporalLoad => timed(lines, |_| (), after_loads),
                Instruction::Store | Instruction::StoreAndWriteBack | Instruction::NontemporalStore => {
                    timed(lines, |_| (), after_stores)
                }
            }
        }
    }
}

impl fmt::Display for Instruction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Instruction::Load => "ld",
            Instruction::NontemporalLoad => "nt-ld",
            Instruction::Store => "st",
            Instruction::StoreAndWriteBack => "st-wb",
            Instruction::NontemporalStore => "nt-st",
        })
    }
}

/// LFENCE waits until every earlier load has its data.
#[inline(always)]
fn after_loads() {
    // SAFETY: SSE2, which x86-64 always has.
    unsafe { _mm_lfence() }
}

/// MFENCE waits until every earlier store, non-temporal ones too, is globally visible.
#[inline(always)]
fn after_stores() {
    // SAFETY: SSE2, which x86-64 always has.
    unsafe { _mm_mfence() }
}

/// A function for each way, so that none has fewer registers for its lines because of another.
///
/// # Safety
/// The lines are mapped; `access` may have them.
#[inline(never)]
unsafe fn timed(lines: &[*mut u8; BATCH], access: impl Fn(*mut u8), fence: impl Fn()) -> Ticks {
    for &line in lines {
        // SAFETY: the line is mapped.
        unsafe { _mm_clflush(line) };
    }
    // SAFETY: SSE2, which x86-64 always has.
    unsafe { _mm_mfence() };
    let began = tsc::now();
    for &line in lines {
        access(line);
    }
    fence();
    tsc::now() - began
}
