//! Mutations: what may happen to a stream of entries.

use cxlab_access::trace::Entry;
use proptest::prelude::*;

/// One change. A place is taken modulo the length of the stream.
#[derive(Clone, Copy, Debug)]
pub enum Mutation {
    /// a bit of a record's first or second word is the other one
    Flip {
        place: usize,
        bit: usize,
    },
    /// a word is this one
    Set {
        place: usize,
        second: bool,
        word: u64,
    },
    /// bits from `from` on are those of `bits`
    Field {
        place: usize,
        second: bool,
        from: u32,
        width: u32,
        bits: u64,
    },
    Drop {
        place: usize,
    },
    /// an entry stands elsewhere once more
    Repeat {
        place: usize,
        to: usize,
    },
    Swap {
        place: usize,
        with: usize,
    },
    Answer {
        place: usize,
        ps: u64,
    },
    Truncate {
        place: usize,
    },
}

use Mutation::{Answer, Drop, Field, Flip, Repeat, Set, Swap, Truncate};

/// Values at the edges of what fields hold.
fn edge() -> impl Strategy<Value = u64> {
    prop_oneof![
        Just(0),
        Just(1),
        Just(u64::MAX),
        Just(1 << 63),
        Just(u64::from(u32::MAX)),
        Just(1 << 52),
        Just(1 << 50),
        any::<u64>(),
        0..16u64,
    ]
}

fn mutation() -> impl Strategy<Value = Mutation> {
    let place = || 0..512usize;
    prop_oneof![
        4 => (place(), 0..128usize).prop_map(|(place, bit)| Flip { place, bit }),
        1 => (place(), any::<bool>(), edge()).prop_map(|(place, second, word)| Set { place, second, word }),
        // As fields are: the kind, ids, instructions, addresses.
        4 => (place(), any::<bool>(), prop_oneof![Just(0), Just(3), Just(7), Just(11), Just(12), Just(43)], 1..53u32, edge())
            .prop_map(|(place, second, from, width, bits)| Field { place, second, from, width, bits }),
        2 => place().prop_map(|place| Drop { place }),
        2 => (place(), place()).prop_map(|(place, to)| Repeat { place, to }),
        2 => (place(), place()).prop_map(|(place, with)| Swap { place, with }),
        1 => (place(), edge()).prop_map(|(place, ps)| Answer { place, ps }),
        1 => place().prop_map(|place| Truncate { place }),
    ]
}

pub fn mutations() -> impl Strategy<Value = Vec<Mutation>> {
    prop::collection::vec(mutation(), 1..5)
}

impl Mutation {
    pub fn change(self, entries: &mut Vec<Entry>) {
        let Some(last) = entries.len().checked_sub(1) else { return };
        let at = |place: usize| place % (last + 1);
        match self {
            Flip { place, bit } => {
                if let Entry::Words(words) = &mut entries[at(place)] {
                    words[bit / 64] ^= 1 << (bit % 64);
                }
            }
            Set { place, second, word } => {
                if let Entry::Words(words) = &mut entries[at(place)] {
                    words[usize::from(second)] = word;
                }
            }
            Field { place, second, from, width, bits } => {
                if let Entry::Words(words) = &mut entries[at(place)] {
                    let mask = ((1u64 << width) - 1) << from;
                    let word = &mut words[usize::from(second)];
                    *word = *word & !mask | bits << from & mask;
                }
            }
            Drop { place } => drop(entries.remove(at(place))),
            Repeat { place, to } => entries.insert(at(to), entries[at(place)]),
            Swap { place, with } => entries.swap(at(place), at(with)),
            Answer { place, ps } => entries.insert(at(place), Entry::Answer(ps)),
            Truncate { place } => entries.truncate(at(place)),
        }
    }
}
