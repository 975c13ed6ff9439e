//! Store-to-load forwarding: a load takes its data from a store that is still in the store queue.
//!
//! The last store to each 8 bytes, in a table that forgets by collision: what it forgets is a load that looks
//! its line up as if it were there. A load finds its store when it is dispatched, in program order: addresses are
//! known here, so disambiguation is perfect. Not modelled: loads wider than the store, which wait for its commit in
//! silicon (Intel optimization manual, 3.6.4).

use super::order::{Sequence, StoreNumber};

/// A store that a load may depend on.
#[derive(Clone, Copy, Debug)]
pub struct LastStore {
    word: u64,
    pub sequence: Sequence,
    pub number: StoreNumber,
}

/// The last stores by the words that they wrote.
#[derive(Debug)]
pub struct Forwarding(Box<[Option<LastStore>]>);

/// Places of the table: a few times the store queue of any core.
const PLACES: usize = 1024;

impl Forwarding {
    pub fn new() -> Forwarding {
        Forwarding(vec![None; PLACES].into())
    }

    #[inline]
    fn place(word: u64) -> usize {
        (word.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 54) as usize
    }

    #[inline]
    pub fn stored(&mut self, word: u64, sequence: Sequence, number: StoreNumber) {
        self.0[Self::place(word)] = Some(LastStore { word, sequence, number });
    }

    /// The last store to the word so far.
    #[inline]
    pub fn find(&self, word: u64) -> Option<LastStore> {
        self.0[Self::place(word)].filter(|store| store.word == word)
    }
}
