//! The page that a controller and a preloaded application share. Also compiled into the shim, so: core only.
//!
//! ```text
//!   0        8          16          24          32
//!   | magic  | sequence | DDR nodes | CXL nodes | CXL share, millionths |      odd sequence: being written
//! ```
//! One writer, many readers; a reader that meets a write in progress keeps what it has.

use core::sync::atomic::{AtomicU64, Ordering, fence};

/// "CAPTION1", little-endian.
pub const MAGIC: u64 = u64::from_le_bytes(*b"CAPTION1");
/// The file's size `[B]`: one page.
pub const SIZE: usize = 4096;
/// The environment variable that names the file to the shim.
pub const VARIABLE: &str = "CXLAB_CAPTION_CONTROL";

#[repr(C)]
#[derive(Debug)]
pub struct Control {
    magic: AtomicU64,
    sequence: AtomicU64,
    ddr_nodes: AtomicU64,
    cxl_nodes: AtomicU64,
    cxl_millionths: AtomicU64,
}

/// The placement that an application has to follow. If all nodes are 0, it is the system's default policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wish {
    /// Bit masks of node numbers below 64.
    pub ddr_nodes: u64,
    pub cxl_nodes: u64,
    /// Share of new pages on CXL `[1e-6]`.
    pub cxl_millionths: u64,
}

impl Control {
    pub fn sequence(&self) -> u64 {
        self.sequence.load(Ordering::Acquire)
    }

    pub fn is_valid(&self) -> bool {
        self.magic.load(Ordering::Acquire) == MAGIC
    }

    pub fn write(&self, wish: Wish) {
        let sequence = self.sequence.load(Ordering::Relaxed) | 1;
        self.sequence.store(sequence, Ordering::Relaxed);
        fence(Ordering::Release);
        self.ddr_nodes.store(wish.ddr_nodes, Ordering::Relaxed);
        self.cxl_nodes.store(wish.cxl_nodes, Ordering::Relaxed);
        self.cxl_millionths.store(wish.cxl_millionths, Ordering::Relaxed);
        self.magic.store(MAGIC, Ordering::Relaxed);
        self.sequence.store(sequence + 1, Ordering::Release);
    }

    /// The wish and its sequence; none while it is being written.
    pub fn read(&self) -> Option<(u64, Wish)> {
        let before = self.sequence();
        let wish = Wish {
            ddr_nodes: self.ddr_nodes.load(Ordering::Relaxed),
            cxl_nodes: self.cxl_nodes.load(Ordering::Relaxed),
            cxl_millionths: self.cxl_millionths.load(Ordering::Relaxed),
        };
        fence(Ordering::Acquire);
        let after = self.sequence.load(Ordering::Relaxed);
        (before == after && before.is_multiple_of(2) && self.is_valid()).then_some((before, wish))
    }
}
