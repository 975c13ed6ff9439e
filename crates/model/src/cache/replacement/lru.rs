//! LRU evicts the line that was unused longest. The row is kept in the order of use, the last used line first.

use crate::cache::entry::Entry;

/// To the front.
#[inline]
pub fn used(row: &mut [Entry], way: usize) -> usize {
    if way > 0 {
        let entry = row[way];
        row.copy_within(..way, 1);
        row[0] = entry;
    }
    0
}

/// The last of the row; empty ways are there too.
#[inline]
pub fn victim(row: &[Entry]) -> usize {
    row.len() - 1
}

/// Behind all that are held.
pub fn emptied(row: &mut [Entry], way: usize) {
    row[way..].rotate_left(1);
}
