//! The table of all pages that the model knows: when it is full, a page that was not used for long makes place.
//!
//! ```text
//!   full:  | used | used | not used | ...      the hand takes "used" from each row that it passes,
//!             ^ hand ------->  its row is taken   and stops at the first row that has none
//! ```
//!
//! The model keeps what this table keeps. A page that has left and is used again is told again, with a new id.

use cxlab_access::{Mapping, PageId};
use rustc_hash::FxHashMap;

use super::slots::Slots;
use super::told::{Key, Told};

struct Row {
    told: Told,
    mapping: Mapping,
    /// again, since it came or since the hand passed
    used: bool,
}

pub struct Table {
    rows: Vec<Row>,
    /// rows by their keys
    places: FxHashMap<Key, u32>,
    most: usize,
    hand: usize,
}

impl Table {
    /// With room for `most` pages.
    pub fn new(most: usize) -> Table {
        Table { rows: Vec::new(), places: FxHashMap::default(), most, hand: 0 }
    }

    /// The page of this key, which is used.
    pub fn find(&mut self, key: &Key) -> Option<(&mut Told, &Mapping)> {
        let row = &mut self.rows[*self.places.get(key)? as usize];
        row.used = true;
        Some((&mut row.told, &row.mapping))
    }

    /// The page is known from now on: the page that leaves for it, if one does.
    pub fn insert(&mut self, told: Told, mapping: Mapping, slots: &mut Slots) -> Option<PageId> {
        let row = Row { told, mapping, used: false };
        let place = match self.places.get(&told.key) {
            Some(place) => *place as usize,
            None if self.rows.len() < self.most => {
                self.places.insert(told.key, self.rows.len() as u32);
                self.rows.push(row);
                return None;
            }
            None => {
                let place = self.oldest(slots);
                self.places.remove(&self.rows[place].told.key);
                self.places.insert(told.key, place as u32);
                place
            }
        };
        let before = std::mem::replace(&mut self.rows[place], row).told;
        slots.take(&before);
        (before.page.id != told.page.id).then_some(before.page.id)
    }

    /// The first row from the hand on that was not used since the hand passed it last.
    fn oldest(&mut self, slots: &mut Slots) -> usize {
        loop {
            let place = self.hand;
            self.hand = (self.hand + 1) % self.rows.len();
            let row = &mut self.rows[place];
            // What is used by way of a slot comes by here once it has left the slot.
            if !(std::mem::take(&mut row.used) | slots.take(&row.told)) {
                return place;
            }
        }
    }
}
