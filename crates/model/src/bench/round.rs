//! A round goes over a buffer without end, page by page. It serves caches that hold more than a run can touch.

use super::buffers::Buffer;
use super::order::Order;
use crate::addr::{Hpa, LINES_PER_PAGE};

/// A buffer that a thread goes round.
pub struct Round<'a> {
    pub buffer: &'a Buffer,
    pub order: &'a Order,
    /// lines of a round
    pub lines: u64,
    /// lines that it has passed
    pub next: u64,
    pub stores: bool,
    /// whether its lines are read: by loads, or to be owned
    pub reads: bool,
}

impl Round<'_> {
    /// Any line of the page that comes after so many.
    pub fn page(&self, pages: u64) -> Hpa {
        let turn = self.next + pages * LINES_PER_PAGE;
        self.buffer.line(self.order.near(turn) % self.lines)
    }
}
