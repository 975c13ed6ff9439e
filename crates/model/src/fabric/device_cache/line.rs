//! A line of the directory: the page that it holds, and whether that page is newer than the flash.

/// The changed bit, the prefetched bit and page + 1 in one word. The word 0 holds nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Line(u32);

const CHANGED: u32 = 1 << 31;
const AHEAD: u32 = 1 << 30;
/// Most pages that a directory can name.
pub const MOST_PAGES: u64 = AHEAD as u64 - 1;

impl Line {
    pub fn new(page: u32, changed: bool, ahead: bool) -> Line {
        Line((page + 1) | if changed { CHANGED } else { 0 } | if ahead { AHEAD } else { 0 })
    }

    #[inline]
    pub fn page(self) -> Option<u32> {
        (self.0 & (AHEAD - 1)).checked_sub(1)
    }

    pub fn is_changed(self) -> bool {
        self.0 & CHANGED != 0
    }

    /// Whether a prefetch brought the page, and no request has used it yet.
    pub fn is_ahead(self) -> bool {
        self.0 & AHEAD != 0
    }

    /// Notes a use of the page, which may have changed it.
    pub fn touch(&mut self, changes: bool) {
        self.0 = (self.0 & !AHEAD) | if changes { CHANGED } else { 0 };
    }
}
