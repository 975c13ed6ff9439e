//! The L1 stride prefetcher. If the addresses of a load instruction are evenly spaced, it fetches one step ahead.
//!
//! Source: Intel 64 and IA-32 optimization manual (248966), "Data Prefetching to L1". The IP-based prefetcher keeps
//! track of load instructions. It detects strides of up to 2 KiB, forwards and backwards. It leaves strides within a
//! line, and lines in a row, to the next-line prefetcher.

use super::Wanted;
use crate::addr::Hpa;

/// Longest stride `[lines]`: 2 KiB.
const LONGEST: i64 = 32;
/// Equal steps that confirm a stride.
const CONFIRMED: u8 = 2;

#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    /// place of the load instruction
    place: u64,
    last: u64,
    /// distance from one load to the next `[lines]`
    stride: i64,
    confirmed: u8,
}

/// Load instructions, by the low bits of their place.
#[derive(Clone, Debug)]
pub struct Strides {
    table: Box<[Seen]>,
}

impl Strides {
    pub fn new(instructions: usize) -> Strides {
        Strides { table: vec![Seen::default(); instructions].into() }
    }

    #[inline]
    pub fn loaded(&mut self, place: u64, line: Hpa) -> Wanted {
        let number = line.line_number();
        let rows = self.table.len();
        let index = if rows.is_power_of_two() { place as usize & (rows - 1) } else { place as usize % rows };
        let seen = &mut self.table[index];
        if seen.place != place {
            *seen = Seen { place, last: number, ..Seen::default() };
            return Wanted::default();
        }
        let stride = number.wrapping_sub(seen.last) as i64;
        seen.last = number;
        if stride == 0 {
            return Wanted::default();
        }
        if stride != seen.stride {
            (seen.stride, seen.confirmed) = (stride, 0);
            return Wanted::default();
        }
        seen.confirmed = seen.confirmed.saturating_add(1);
        // The next-line prefetcher serves lines in a row.
        if seen.confirmed < CONFIRMED || stride.abs() > LONGEST || stride.abs() == 1 {
            return Wanted::default();
        }
        Wanted { next: number.wrapping_add_signed(stride), step: stride, left: 1 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stride_is_believed_after_two_equal_steps_and_by_its_own_instruction_alone() {
        let mut strides = Strides::new(64);
        let mut load = |place, number: u64| strides.loaded(place, Hpa::new(number * 64)).map(Hpa::line_number).last();
        let asked: Vec<_> = [100, 105, 110, 115, 120].map(|number| load(7, number)).into();
        assert_eq!(asked, [None, None, None, Some(120), Some(125)]);
        assert_eq!(load(8, 125), None);
        assert_eq!(load(7, 121), None);
        // 33 lines are more than 2 KiB.
        assert!([200, 233, 266, 299, 332].map(|number| load(9, number)).iter().all(Option::is_none));
    }
}
