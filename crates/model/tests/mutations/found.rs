//! Streams that mutations have found: each of these ended in a panic, or never.

use crate::mutation::Mutation::{self, Field, Flip, Repeat, Set, Swap, Truncate};
use crate::stream::Kind;

pub fn found() -> Vec<(Kind, Vec<Mutation>)> {
    vec![
        // A vCPU that has halted goes on and is not woken: it was waited for without end.
        (
            Kind::Two,
            vec![Swap { place: 101, with: 504 }, Swap { place: 422, with: 352 }, Repeat { place: 386, to: 477 }],
        ),
        // An event was scheduled before the time that had come.
        (Kind::Sampled, vec![Repeat { place: 134, to: 188 }]),
        // A phase began before the window that it ends: the window's length was less than none.
        (Kind::Sampled, vec![Flip { place: 146, bit: 31 }]),
        // A block was cut twice: fewer instructions than none were warmed.
        (Kind::Sampled, vec![Swap { place: 442, with: 407 }]),
        // A device takes 80 hours: each refresh of the idle memory was stepped through.
        (
            Kind::Two,
            vec![
                Set { place: 212, second: false, word: 14_900_532_031_279_366_779 },
                Field { place: 458, second: true, from: 43, width: 15, bits: u64::MAX },
                Flip { place: 390, bit: 40 },
            ],
        ),
        // A request to the disk was read twice before it began: the second one had nothing to begin with.
        (Kind::Disk, vec![Repeat { place: 478, to: 64 }]),
        // An access outside a block, the last record of a trace that is cut off, counted as the bound of a block.
        (Kind::Disk, vec![Swap { place: 218, with: 33 }, Truncate { place: 219 }]),
    ]
}
