//! Tags: which lines a set-associative cache holds, which are changed, and which leaves next (LRU).
//!
//! A set is a row of ways in the order of use: the first is the one used last. Looking up moves a line to the
//! front, so the victim is at the end; a row of 12 to 16 tags is two or three lines of the host's cache.
//! Where the number of sets is no power of two (an LLC of 52 slices) the set is a hash of the line, as the
//! slice hash of the real machine spreads lines (undocumented; Maurice et al., RAID 2015).

use crate::addr::Hpa;

/// A line that had to leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Victim {
    pub line: Hpa,
    /// it was changed and its memory does not know
    pub changed: bool,
}

/// The lines of one cache.
#[derive(Clone, Debug)]
pub struct Tags {
    /// for each set its ways, used last first: line number + 1 above the changed bit, 0 if empty
    rows: Vec<u64>,
    ways: usize,
    sets: u64,
}

const CHANGED: u64 = 1;

impl Tags {
    /// More ways than any cache of the field has.
    pub const MOST_WAYS: u32 = 64;

    pub(super) fn new(sets: usize, ways: u32) -> Tags {
        Tags { rows: vec![0; sets * ways as usize], ways: ways as usize, sets: sets as u64 }
    }

    #[inline]
    fn row(&mut self, line: Hpa) -> &mut [u64] {
        let number = line.line_number();
        let set = if self.sets.is_power_of_two() {
            number & (self.sets - 1)
        } else {
            // Fibonacci hashing (Knuth vol. 3, 6.4), then a multiply-shift into the range.
            let hash = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
            ((u128::from(hash) * u128::from(self.sets)) >> 64) as u64
        };
        let start = set as usize * self.ways;
        &mut self.rows[start..start + self.ways]
    }

    fn tag(line: Hpa) -> u64 {
        (line.line_number() + 1) << 1
    }

    /// Whether the line is here; it becomes the one used last. `change` marks it changed.
    #[inline]
    pub fn touch(&mut self, line: Hpa, change: bool) -> bool {
        let tag = Self::tag(line);
        let row = self.row(line);
        let Some(way) = row.iter().position(|entry| entry & !CHANGED == tag) else { return false };
        let entry = row[way] | u64::from(change);
        row.copy_within(0..way, 1);
        row[0] = entry;
        true
    }

    /// Take the line out: whether it was changed, if it was here.
    pub fn remove(&mut self, line: Hpa) -> Option<bool> {
        let tag = Self::tag(line);
        let row = self.row(line);
        let way = row.iter().position(|entry| entry & !CHANGED == tag)?;
        let changed = row[way] & CHANGED != 0;
        row.copy_within(way + 1.., way);
        row[row.len() - 1] = 0;
        Some(changed)
    }

    /// The line's memory knows it from now on: whether it was changed.
    pub fn clean(&mut self, line: Hpa) -> bool {
        let tag = Self::tag(line);
        let Some(entry) = self.row(line).iter_mut().find(|entry| **entry == tag | CHANGED) else { return false };
        *entry = tag;
        true
    }

    /// Let a line in that is not here; the one unused longest leaves.
    pub fn insert(&mut self, line: Hpa, changed: bool) -> Option<Victim> {
        let tag = Self::tag(line);
        let row = self.row(line);
        debug_assert!(row.iter().all(|entry| entry & !CHANGED != tag), "{line:?} is here already");
        let last = row.len() - 1;
        let leaving = row[last];
        row.copy_within(0..last, 1);
        row[0] = tag | u64::from(changed);
        (leaving != 0).then(|| Victim {
            line: Hpa::new(((leaving >> 1) - 1) * crate::addr::LINE_BYTES),
            changed: leaving & CHANGED != 0,
        })
    }

    /// Let a line in, or mark the copy that is here.
    pub fn insert_or_touch(&mut self, line: Hpa, changed: bool) -> Option<Victim> {
        if self.touch(line, changed) { None } else { self.insert(line, changed) }
    }

    /// Lines held.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rows.iter().filter(|entry| **entry != 0).count()
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(number: u64) -> Hpa {
        Hpa::new(number * 64)
    }

    #[test]
    fn the_line_unused_longest_leaves() {
        // Two ways, one set: a b a c evicts b (LRU by hand).
        let mut tags = Tags::new(1, 2);
        assert_eq!(tags.insert(line(1), false), None);
        assert_eq!(tags.insert(line(2), true), None);
        assert!(tags.touch(line(1), false));
        assert_eq!(tags.insert(line(3), false), Some(Victim { line: line(2), changed: true }));
        assert!(tags.touch(line(1), false) && !tags.touch(line(2), false));
    }

    #[test]
    fn a_cyclic_walk_over_one_line_more_than_fits_never_hits() {
        // The closed form for LRU: a cycle of ways + 1 lines in one set misses always, of ways lines never.
        let mut tags = Tags::new(1, 8);
        let misses = |tags: &mut Tags, lines: u64| {
            (0..10 * lines)
                .filter(|turn| {
                    let missed = !tags.touch(line(turn % lines), false);
                    if missed {
                        tags.insert(line(turn % lines), false);
                    }
                    missed
                })
                .count() as u64
        };
        assert_eq!(misses(&mut tags, 8), 8);
        let mut tags = Tags::new(1, 8);
        assert_eq!(misses(&mut tags, 9), 90);
    }

    #[test]
    fn hashed_sets_fill_evenly() {
        // 52 x 64 sets of 4 ways, filled to a half by consecutive lines: a random spread (Poisson, mean 2)
        // loses 5 % of the lines to overfull sets; a bad hash would lose far more.
        let mut tags = Tags::new(52 * 64, 4);
        let count = 52 * 64 * 2;
        for number in 0..count {
            tags.insert_or_touch(line(number), false);
        }
        assert!(tags.len() as f64 > 0.93 * count as f64, "{} of {count}", tags.len());
    }
}
