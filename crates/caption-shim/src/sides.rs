//! Chooses the side of a chunk. Carrying the remainder keeps the share exactly over any run of chunks.

use std::sync::atomic::{AtomicU64, Ordering};

const WHOLE: u64 = 1_000_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    Ddr,
    Cxl,
}

/// Deals chunks to the sides; shared by all threads.
#[derive(Debug)]
pub struct Dealer {
    /// Dealt so far `[millionths of a chunk on CXL]`.
    dealt: AtomicU64,
}

impl Dealer {
    pub const fn new() -> Dealer {
        // Half a chunk ahead: 50 % does not begin with two on DDR's side of the rounding.
        Dealer { dealt: AtomicU64::new(WHOLE / 2) }
    }

    /// The next chunk, at a share of CXL in millionths.
    pub fn deal(&self, cxl_millionths: u64) -> Side {
        let share = cxl_millionths.min(WHOLE);
        let before = self.dealt.fetch_add(share, Ordering::Relaxed);
        if before / WHOLE == (before + share) / WHOLE { Side::Ddr } else { Side::Cxl }
    }
}
