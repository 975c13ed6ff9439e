//! Store-to-load forwarding: a load takes its data from a store that is still in the store queue.
//!
//! A table has the last store to each 8 bytes, and forgets by collision. A load whose store is forgotten looks its line
//! up as if the data were there. A load finds its store when it is dispatched, in program order. Addresses are known at
//! dispatch, so disambiguation is perfect. Not modelled: loads wider than the store, which wait for its commit in
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
#[derive(Clone, Debug)]
pub struct Forwarding(Box<[Option<LastStore>]>);

/// Places of the table: a few times as many as the entries of any core's store queue.
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
