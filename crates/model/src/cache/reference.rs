//! A reference says what touches a line, as a replacement policy sees it.
//!
//! ```text
//!   instruction -> core -> L1, L2 -> Request -> LLC        each look-up and each fill names the reference that asks for the line
//! ```
//!
//! Not modelled: a victim does not carry the instruction that had brought it, so the LLC takes victims of L2 in without one.

use std::num::NonZeroU64;

/// A core, by its place in the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CoreId(pub u16);

/// A number that stands for the address of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProgramCounter(NonZeroU64);

impl ProgramCounter {
    /// From a number that no other instruction of the program has; the largest two count as one.
    #[inline]
    #[must_use]
    pub fn new(number: u64) -> ProgramCounter {
        ProgramCounter(NonZeroU64::MIN.saturating_add(number))
    }

    /// Spread over so many bits: Fibonacci's hash (Knuth vol. 3, 6.4).
    #[inline]
    #[must_use]
    pub fn hash(self, bits: u32) -> u64 {
        self.0.get().wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (u64::BITS - bits)
    }
}

/// Why a line is touched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReferenceKind {
    Load,
    Store,
    /// read ahead, by an instruction or by a prefetcher
    Prefetch,
    /// a walk of the page tables reads an entry
    Walk,
    /// a line leaves the cache above
    WriteBack,
}

impl ReferenceKind {
    /// Kind of an instruction's access.
    #[inline]
    #[must_use]
    pub fn of(store: bool) -> ReferenceKind {
        if store { ReferenceKind::Store } else { ReferenceKind::Load }
    }
}

/// A reference: the core, kind and instruction that touch a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reference {
    pub kind: ReferenceKind,
    pub core: CoreId,
    /// `None` where no instruction asks: hardware prefetches, walks, write-backs, lines that are there before time begins
    pub instruction: Option<ProgramCounter>,
}

impl Reference {
    /// Without an instruction.
    #[inline]
    #[must_use]
    pub fn of_core(core: CoreId, kind: ReferenceKind) -> Reference {
        Reference { kind, core, instruction: None }
    }
}
