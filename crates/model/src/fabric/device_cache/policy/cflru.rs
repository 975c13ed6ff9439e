//! CFLRU: among the half of the lines unused longest, the oldest unchanged line leaves. If all are changed, the oldest
//! leaves.
//!
//! An unchanged line costs no program of flash. The words are those of LRU.

use super::{Set, least, lru};

pub fn words(ways: usize) -> usize {
    lru::words(ways)
}

pub fn used(set: &mut Set<'_>, way: usize) {
    lru::used(set, way);
}

pub fn admit(set: &mut Set<'_>) -> usize {
    let way = set.empty().unwrap_or_else(|| victim(set));
    used(set, way);
    way
}

fn victim(set: &Set<'_>) -> usize {
    let age = |way: usize| (set.words[1 + way], 0);
    let window = set.ways().div_ceil(2);
    let younger = |way: usize| (0..set.ways()).filter(|other| age(*other) < age(way)).count();
    let clean = |way: usize| !set.lines[way].is_changed() && younger(way) < window;
    least(set.ways(), clean, age).or_else(|| least(set.ways(), |_| true, age)).expect("a set has a way")
}
