//! A line of the directory: the page that it holds, and whether it is newer than the flash.

/// Changed, prefetched and page + 1 in a word; 0 holds nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Line(u32);

const CHANGED: u32 = 1 << 31;
const AHEAD: u32 = 1 << 30;
/// Pages that a directory can name.
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

    /// Whether a prefetch brought it and nobody has used it yet.
    pub fn is_ahead(self) -> bool {
        self.0 & AHEAD != 0
    }

    /// It was used, and perhaps changed.
    pub fn touch(&mut self, changes: bool) {
        self.0 = (self.0 & !AHEAD) | if changes { CHANGED } else { 0 };
    }
}
