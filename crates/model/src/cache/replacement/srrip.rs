//! SRRIP predicts a line's next use as one of four distances. The line whose use is furthest away leaves first.
//!
//! This is static re-reference interval prediction with hit priority and two bits. A new line is expected in a long
//! time (2), a used one at once (0). The first line from the left that is expected in the distant future (3) leaves.
//! While there is none, all lines are expected later by one. A scan cannot push out what is in use. Source: Jaleel,
//! Theobald, Steely, Emer, ISCA 2010, section 4.2, DOI 10.1145/1815961.1815971.

use crate::cache::entry::Entry;

/// Expected at once.
const NEAR: u8 = 0;
/// Expected in a long time.
const LONG: u8 = Entry::MOST_REREFERENCE - 1;
/// Expected last.
const DISTANT: u8 = Entry::MOST_REREFERENCE;

/// Hit priority: expected at once.
#[inline]
pub fn used(row: &mut [Entry], way: usize) {
    row[way].set_rereference(NEAR);
}

/// The first in the distant future; all grow older until there is one.
pub fn victim(row: &mut [Entry]) -> usize {
    loop {
        if let Some(way) = row.iter().position(|entry| entry.rereference() == DISTANT) {
            return way;
        }
        for entry in &mut *row {
            entry.set_rereference(entry.rereference() + 1);
        }
    }
}

/// Expected in a long time.
#[inline]
pub fn filled(row: &mut [Entry], way: usize) {
    row[way].set_rereference(LONG);
}
