//! Slots: the pages used last, by the low bits of their numbers. They are copies of rows of the table.

use cxlab_access::PageSize;

use super::told::{Owner, Told};

/// Slots of each size of pages.
const SLOTS: usize = 4096;

pub struct Slots {
    /// of 4 KiB
    small: Box<[Option<Told>]>,
    /// of 2 MiB; a page of 1 GiB takes one for each 2 MiB of it that are used
    large: Box<[Option<Told>]>,
}

fn slot(number: u64) -> usize {
    number as usize & (SLOTS - 1)
}

impl Slots {
    pub fn new() -> Slots {
        Slots { small: vec![None; SLOTS].into(), large: vec![None; SLOTS].into() }
    }

    /// The page through which `address` leads to `physical`, if it is here.
    #[inline]
    pub fn find(&self, owner: Owner, address: u64, physical: u64, now: u64) -> Option<&Told> {
        let small = &self.small[slot(address >> PageSize::Kib4.shift())];
        let large = &self.large[slot(address >> PageSize::Mib2.shift())];
        [small, large].into_iter().flatten().find(|told| told.translates(owner, address, physical, now))
    }

    /// The page is used at `address`.
    pub fn put(&mut self, told: Told, address: u64) {
        match told.page.size() {
            PageSize::Kib4 => self.small[slot(address >> PageSize::Kib4.shift())] = Some(told),
            PageSize::Mib2 | PageSize::Gib1 => self.large[slot(address >> PageSize::Mib2.shift())] = Some(told),
        }
    }

    /// Whatever is here for `address` leaves.
    pub fn empty(&mut self, address: u64) {
        self.small[slot(address >> PageSize::Kib4.shift())] = None;
        self.large[slot(address >> PageSize::Mib2.shift())] = None;
    }

    /// The page leaves all slots: whether it was in one.
    pub fn take(&mut self, told: &Told) -> bool {
        let (slots, size) = match told.page.size() {
            PageSize::Kib4 => (&mut self.small, PageSize::Kib4),
            PageSize::Mib2 | PageSize::Gib1 => (&mut self.large, PageSize::Mib2),
        };
        let shift = told.key.shift - size.shift();
        let first = told.key.number << shift;
        let mut was_here = false;
        for number in first..first + (1 << shift) {
            let slot = &mut slots[slot(number)];
            if slot.is_some_and(|held| held.page.id == told.page.id) {
                (*slot, was_here) = (None, true);
            }
        }
        was_here
    }
}
