//! The L1 next-line prefetcher. A load one line above recently loaded data fetches the line after it.
//!
//! ```text
//!   loads      40  40  41      41  90  42 ...      90 is one line above nothing
//!   asked for          42              43
//! ```
//!
//! Source: Intel 64 and IA-32 optimization manual (248966), "Data Prefetching to L1". The prefetcher of the data cache
//! unit "is triggered by an ascending access to very recently loaded data". It does not leave the page of 4 KiB. How many
//! lines count as recent is an assumption: Intel prints no number.

use super::Wanted;
use crate::addr::{Hpa, LINES_PER_PAGE};

/// Lines that count as recently loaded. A loop that adds two arrays to a third loads from three streams.
const RECENT: usize = 4;

/// The lines that were loaded last.
#[derive(Clone, Debug, Default)]
pub struct NextLine {
    recent: [u64; RECENT],
    /// place of the newest
    newest: usize,
}

impl NextLine {
    /// Shows the prefetcher a load. Returns the next line, if the load is the first of its line and ascends.
    #[inline]
    pub fn loaded(&mut self, line: Hpa) -> Wanted {
        let number = line.line_number();
        if self.recent[self.newest] == number {
            return Wanted::default();
        }
        self.came(number)
    }

    fn came(&mut self, number: u64) -> Wanted {
        if self.recent.contains(&number) {
            return Wanted::default();
        }
        // Line 0 stands for a place that is still empty.
        let ascends = number > 1 && self.recent.contains(&(number - 1));
        self.newest = (self.newest + 1) % RECENT;
        self.recent[self.newest] = number;
        let last_of_page = number % LINES_PER_PAGE == LINES_PER_PAGE - 1;
        Wanted { next: number + 1, step: 1, left: u32::from(ascends && !last_of_page) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(loads: &[u64]) -> Vec<Option<u64>> {
        let mut next = NextLine::default();
        loads.iter().map(|number| next.loaded(Hpa::new(number * 64)).map(Hpa::line_number).last()).collect()
    }

    #[test]
    fn a_load_above_a_recent_one_asks_once_for_the_next_line() {
        assert_eq!(asked(&[640, 640, 641, 641, 900, 642]), [None, None, Some(642), None, None, Some(643)]);
        // Three streams side by side, as in a triad.
        let triad = asked(&[640, 2640, 4640, 641, 2641, 4641]);
        assert_eq!(triad[3..], [Some(642), Some(2642), Some(4642)]);
    }

    #[test]
    fn descending_loads_far_loads_and_the_end_of_a_page_ask_for_nothing() {
        assert!(asked(&[700, 699, 698, 750, 752]).iter().all(Option::is_none));
        assert_eq!(asked(&[702, 703, 704, 705]), [None, None, Some(705), Some(706)]);
    }
}
