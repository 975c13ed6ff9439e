//! QLRU: ages of two bits; a hit makes a line young, and the first old line leaves.
//!
//! This is QLRU_H00_M1_R0_U1 of nanoBench. A hit sets the line's age to 0 (H00). A new line has age 1 (M1). The first
//! line of age 3 from the left leaves (R0). If no line of a full set has age 3 after that, all but the line just used
//! grow older (U1). They grow by as much as the oldest of them lacks. A cyclic walk over a little more than the cache
//! keeps a part of its lines. Source: Abel and Reineke, nanoBench, ISPASS 2020, and uops.info/cache.html: L2 and L3
//! of Cannon Lake and Ice Lake. Not modelled: sets of the L3 that now and then insert at age 3, if that serves the
//! sets that are compared better.

use crate::cache::entry::Entry;

const YOUNG: u8 = 0;
const NEW: u8 = 1;
const OLD: u8 = Entry::MOST_REREFERENCE;

/// A hit: as young as can be.
#[inline]
pub fn used(row: &mut [Entry], way: usize) {
    row[way].set_rereference(YOUNG);
    grow_older(row, way);
}

/// An empty way, else the first that is old; a set of one way has none.
#[inline]
pub fn victim(row: &[Entry]) -> usize {
    let mut old = None;
    for (way, entry) in row.iter().enumerate() {
        if entry.is_empty() {
            return way;
        }
        if old.is_none() && entry.rereference() == OLD {
            old = Some(way);
        }
    }
    old.unwrap_or(0)
}

#[inline]
pub fn filled(row: &mut [Entry], way: usize) {
    row[way].set_rereference(NEW);
    grow_older(row, way);
}

/// An empty way counts as old.
#[inline]
fn grow_older(row: &mut [Entry], but: usize) {
    let is_old = |entry: &Entry| entry.is_empty() || entry.rereference() == OLD;
    let (left, right) = row.split_at_mut(but);
    let right = &mut right[1..];
    if left.iter().any(is_old) || right.iter().any(is_old) {
        return;
    }
    let Some(oldest) = left.iter().chain(&*right).map(|entry| entry.rereference()).max() else { return };
    for entry in left.iter_mut().chain(right) {
        entry.set_rereference(entry.rereference() + OLD - oldest);
    }
}
