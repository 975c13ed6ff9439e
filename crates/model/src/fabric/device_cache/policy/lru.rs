//! LRU: the line unused longest leaves. Words: the set's count of uses, then the last use of each way.

use super::{Set, least};

pub fn words(ways: usize) -> usize {
    1 + ways
}

pub fn used(set: &mut Set<'_>, way: usize) {
    set.words[0] += 1;
    set.words[1 + way] = set.words[0];
}

pub fn admit(set: &mut Set<'_>) -> usize {
    let oldest = |set: &Set<'_>| least(set.ways(), |_| true, |way| (set.words[1 + way], 0));
    let way = set.empty().or_else(|| oldest(set)).expect("a set has a way");
    used(set, way);
    way
}
