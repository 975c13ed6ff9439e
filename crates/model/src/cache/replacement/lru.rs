//! LRU: the line unused longest leaves. The row is kept in the order of use, used last first.

use crate::cache::entry::Entry;

/// To the front.
#[inline]
pub fn used(row: &mut [Entry], way: usize) -> usize {
    row[..=way].rotate_right(1);
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
