//! CLOCK: a hand goes round the ways and takes the first line that was not used since the hand passed it.
//!
//! Words: the hand, then for each way whether its line was used. A new line counts as not used, and the hand passes it.

use super::Set;

pub fn words(ways: usize) -> usize {
    1 + ways
}

pub fn used(set: &mut Set<'_>, way: usize) {
    set.words[1 + way] = 1;
}

pub fn admit(set: &mut Set<'_>) -> usize {
    let way = set.empty().unwrap_or_else(|| {
        let mut hand = set.words[0] as usize;
        while set.words[1 + hand] == 1 {
            set.words[1 + hand] = 0;
            hand = (hand + 1) % set.ways();
        }
        set.words[0] = ((hand + 1) % set.ways()) as u32;
        hand
    });
    set.words[1 + way] = 0;
    way
}
