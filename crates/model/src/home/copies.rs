//! The presence of each line that a core has, in a table of its own.
//!
//! ```text
//!   line -> hash -> place ---> [line, owned? | cores]  16 B; a place that is taken: the next one (linear probing)
//! ```
//!
//! The filter looks at a random place of some 10 MB for each request and for each victim. A map of the standard library
//! made a fifth of a sweep's time of that. This table is a third as large, and its places can be fetched ahead
//! ([`host_cache`]). Deletion: Knuth, The Art of Computer Programming, volume 3, 6.4, algorithm R.

use cxlab_kernel::host_cache;

use super::cores::Cores;
use super::protocol::Presence;
use crate::addr::{Hpa, LINE_BYTES};
use crate::request::CoreId;

/// A place of the table.
#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    /// number of the line + 1, and in bit 0 whether a core may change it; 0: empty
    line: u64,
    cores: Cores,
}

impl Slot {
    fn new(line: Hpa, presence: Presence) -> Slot {
        let number = (line.line_number() + 1) << 1;
        match presence {
            Presence::Nobody => Slot::default(),
            Presence::Shared(cores) => Slot { line: number, cores },
            Presence::Owned(core) => Slot { line: number | 1, cores: Cores::one(core) },
        }
    }

    #[inline]
    fn is_empty(self) -> bool {
        self.line == 0
    }

    #[inline]
    fn holds(self, line: Hpa) -> bool {
        self.line >> 1 == line.line_number() + 1
    }

    fn line(self) -> Hpa {
        Hpa::new(((self.line >> 1) - 1) * LINE_BYTES)
    }

    #[inline]
    fn presence(mut self) -> Presence {
        if self.line & 1 == 0 {
            return Presence::Shared(self.cores);
        }
        self.cores.next().map_or(Presence::Nobody, |core: CoreId| Presence::Owned(core))
    }
}

/// Lines that cores have.
#[derive(Clone, Debug)]
pub(super) struct Copies {
    /// a power of two of places
    slots: Vec<Slot>,
    held: usize,
    /// 64 less the bits of a place
    shift: u32,
}

impl Default for Copies {
    fn default() -> Copies {
        Copies::new(0)
    }
}

impl Copies {
    /// The fewest places.
    const LEAST: usize = 64;
    const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

    /// A table with room for `lines` lines before it grows.
    pub fn new(lines: usize) -> Copies {
        // At most five in eight places are taken, so a search ends after one or two.
        let places = (lines * 8 / 5 + 1).next_power_of_two().max(Self::LEAST);
        Copies { slots: vec![Slot::default(); places], held: 0, shift: u64::BITS - places.trailing_zeros() }
    }

    /// Number of lines that a core has.
    pub fn len(&self) -> usize {
        self.held
    }

    #[inline]
    fn first(&self, line: Hpa) -> usize {
        (line.line_number().wrapping_mul(Self::SPREAD) >> self.shift) as usize
    }

    #[inline]
    fn behind(&self, place: usize) -> usize {
        (place + 1) & (self.slots.len() - 1)
    }

    /// The place of the line, or the empty place where it would be.
    #[inline]
    fn place(&self, line: Hpa) -> usize {
        let mut place = self.first(line);
        while !self.slots[place].is_empty() && !self.slots[place].holds(line) {
            place = self.behind(place);
        }
        place
    }

    /// Lets the host fetch the place of a line that will be asked for soon.
    #[inline]
    pub fn expect(&self, line: Hpa) {
        host_cache::fetch(std::slice::from_ref(&self.slots[self.first(line)]));
    }

    /// The cores with a copy of the line.
    #[inline]
    pub fn presence(&self, line: Hpa) -> Presence {
        let slot = self.slots[self.place(line)];
        if slot.is_empty() { Presence::Nobody } else { slot.presence() }
    }

    /// Replaces the presence of the line by what `next` makes of it. Returns what else `next` returns.
    #[inline]
    pub fn change<T>(&mut self, line: Hpa, next: impl FnOnce(Presence) -> (Presence, T)) -> T {
        let place = self.place(line);
        let slot = self.slots[place];
        let was_empty = slot.is_empty();
        let (presence, returned) = next(if was_empty { Presence::Nobody } else { slot.presence() });
        match (was_empty, presence) {
            (true, Presence::Nobody) => {}
            (false, Presence::Nobody) => self.empty(place),
            (_, presence) => {
                self.slots[place] = Slot::new(line, presence);
                if was_empty {
                    self.held += 1;
                    self.grow_if_crowded();
                }
            }
        }
        returned
    }

    /// Empties a place. Lines behind it that would not be found any more move up.
    fn empty(&mut self, mut place: usize) {
        let mask = self.slots.len() - 1;
        let mut next = place;
        loop {
            next = self.behind(next);
            let slot = self.slots[next];
            if slot.is_empty() {
                break;
            }
            let (from_first, from_hole) = (next.wrapping_sub(self.first(slot.line())), next.wrapping_sub(place));
            if from_first & mask >= from_hole & mask {
                self.slots[place] = slot;
                place = next;
            }
        }
        self.slots[place] = Slot::default();
        self.held -= 1;
    }

    #[inline]
    fn grow_if_crowded(&mut self) {
        if self.held * 8 > self.slots.len() * 5 {
            self.grow();
        }
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        let mut larger = Copies::new(self.slots.len());
        for slot in self.slots.iter().filter(|slot| !slot.is_empty()) {
            let place = larger.place(slot.line());
            larger.slots[place] = *slot;
        }
        larger.held = self.held;
        *self = larger;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use cxlab_kernel::Stream;

    use super::*;

    /// A table that begins small, and a map of the standard library, are changed alike.
    #[test]
    fn it_knows_what_a_map_knows() {
        let (mut copies, mut map, mut chance) = (Copies::new(0), BTreeMap::new(), Stream::new(1, "copies"));
        for turn in 0..200_000 {
            // It grows for a while, then lines go as often as they come.
            let line = Hpa::new(chance.below(if turn < 100_000 { 4_000 } else { 900 }) * LINE_BYTES);
            let next = match chance.below(4) {
                0 => Presence::Owned(CoreId(chance.below(64) as u16)),
                1 => Presence::Shared(Cores::one(CoreId(63)).with(CoreId(chance.below(63) as u16))),
                _ => Presence::Nobody,
            };
            let before = copies.change(line, |before| (next, before));
            assert_eq!(before, map.insert(line.get(), next).unwrap_or_default());
            if turn % 1_000 == 0 {
                map.retain(|_, presence| *presence != Presence::Nobody);
                assert_eq!(copies.len(), map.len());
                assert!(map.iter().all(|(line, presence)| copies.presence(Hpa::new(*line)) == *presence));
            }
        }
    }
}
