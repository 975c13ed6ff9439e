//! LFRU: half of the lines are privileged and leave that half in the order of their use. The least used of the other
//! lines leaves.
//!
//! A new line is not privileged. It becomes privileged when it is used again. The privileged line unused longest then
//! makes way, and keeps its count. Words: the set's count of uses, then for each way its last use, its number of uses,
//! and whether it is privileged.

use super::{Set, least};

pub fn words(ways: usize) -> usize {
    1 + 3 * ways
}

fn last(way: usize) -> usize {
    1 + 3 * way
}

fn count(way: usize) -> usize {
    2 + 3 * way
}

fn privileged(way: usize) -> usize {
    3 + 3 * way
}

pub fn used(set: &mut Set<'_>, way: usize) {
    set.words[0] += 1;
    set.words[last(way)] = set.words[0];
    set.words[count(way)] += 1;
    set.words[privileged(way)] = 1;
    let held = |way: &usize| set.words[privileged(*way)] == 1;
    if (0..set.ways()).filter(held).count() > set.ways() / 2 {
        let oldest = least(set.ways(), |way| held(&way), |way| (set.words[last(way)], 0));
        set.words[privileged(oldest.expect("one was counted"))] = 0;
    }
}

pub fn admit(set: &mut Set<'_>) -> usize {
    let way = set.empty().unwrap_or_else(|| {
        let rank = |way: usize| (set.words[count(way)], set.words[last(way)]);
        least(set.ways(), |way| set.words[privileged(way)] == 0, rank).expect("at most half of them are privileged")
    });
    set.words[0] += 1;
    set.words[last(way)] = set.words[0];
    (set.words[count(way)], set.words[privileged(way)]) = (1, 0);
    way
}
