//! FIFO: the line that came first leaves. Words: the set's count of lines, then the number of each way's line.

use super::{Set, least};

pub fn words(ways: usize) -> usize {
    1 + ways
}

pub fn admit(set: &mut Set<'_>) -> usize {
    let first = |set: &Set<'_>| least(set.ways(), |_| true, |way| (set.words[1 + way], 0));
    let way = set.empty().or_else(|| first(set)).expect("a set has a way");
    set.words[0] += 1;
    set.words[1 + way] = set.words[0];
    way
}
