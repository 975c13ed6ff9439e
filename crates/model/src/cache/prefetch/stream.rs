//! The L2 streamer. It runs ahead of lines in a row within a page of 4 KiB, upwards or downwards.
//!
//! ```text
//!   accesses     n  n+1  n+2        n+3        n+4    ...   the third in a row confirms; from then on each lets
//!   asked for              n+3 n+4    n+5 n+6    n+7 n+8    the stream run two lines on, up to its distance ahead
//!                                                           and to the end of the page
//! ```
//!
//! Source: Intel 64 and IA-32 optimization manual (248966), "Data Prefetch to the L2 and Last Level Caches". It has 32
//! streams, one forward or backward stream a 4 KiB page. Every look-up of L2 makes two requests, up to 20 lines ahead,
//! always within the page. Not modelled: lines far ahead that come to the LLC alone, because the manual prints no
//! threshold for them.

use super::Wanted;
use crate::addr::{Hpa, LINES_PER_PAGE};

/// Accesses in a row that confirm a stream.
const CONFIRMED: u32 = 2;
/// Lines that a stream requests when L2 is looked up.
const AT_ONCE: u32 = 2;
/// Distance within which an out-of-order core skips and repeats lines of a stream `[lines]`.
const REACH: u64 = 4;

#[derive(Clone, Copy, Debug, Default)]
struct Stream {
    /// line number of the farthest access
    last: u64,
    /// lines requested beyond `last`
    ahead: u32,
    downwards: bool,
    /// accesses that continued in the stream's direction
    confirmed: u32,
    /// number of the last access; the stream with the smallest makes room `[accesses]`
    used: u64,
}

/// The streams that are followed.
#[derive(Clone, Debug)]
pub struct Streams {
    table: Box<[Stream]>,
    /// place of the stream that was advanced last
    current: usize,
    distance: u32,
    accesses: u64,
}

impl Streams {
    pub fn new(streams: usize, distance: u32) -> Streams {
        Streams { table: vec![Stream::default(); streams].into(), current: 0, distance, accesses: 0 }
    }

    /// Shows the streams a look-up of L2 for a line. Returns the lines ahead of it.
    pub fn looked_up(&mut self, line: Hpa) -> Wanted {
        let number = line.line_number();
        self.accesses += 1;
        let accesses = self.accesses;
        let page = number / LINES_PER_PAGE;
        let Some(place) = self.table.iter().position(|stream| stream.used > 0 && stream.last / LINES_PER_PAGE == page)
        else {
            let oldest = self.table.iter_mut().min_by_key(|stream| stream.used).expect("one stream or more");
            *oldest = Stream { last: number, used: accesses, ..Stream::default() };
            return Wanted::default();
        };
        self.current = place;
        let stream = &mut self.table[place];
        stream.used = accesses;
        let (downwards, steps) = (number < stream.last, number.abs_diff(stream.last));
        if steps == 0 {
            return Wanted::default();
        }
        if steps > REACH || stream.confirmed == 0 || stream.downwards != downwards {
            // A late access does not turn a confirmed stream.
            if stream.confirmed < CONFIRMED {
                let confirmed = u32::from(steps <= REACH);
                *stream = Stream { last: number, downwards, confirmed, used: accesses, ahead: 0 };
            }
            return Wanted::default();
        }
        stream.last = number;
        stream.confirmed += 1;
        stream.ahead = stream.ahead.saturating_sub(steps as u32);
        if stream.confirmed < CONFIRMED {
            return Wanted::default();
        }
        self.run_ahead()
    }

    /// The next lines of the stream that was advanced last, up to the distance and to the end of the page.
    fn run_ahead(&mut self) -> Wanted {
        let stream = &mut self.table[self.current];
        let inside = stream.last % LINES_PER_PAGE;
        let (step, to_the_end) = if stream.downwards { (-1, inside) } else { (1, LINES_PER_PAGE - 1 - inside) };
        let most = self.distance.min(to_the_end as u32);
        let left = most.saturating_sub(stream.ahead).min(AT_ONCE);
        let next = stream.last.wrapping_add_signed(step * i64::from(stream.ahead + 1));
        stream.ahead += left;
        Wanted { next, step, left }
    }

    pub fn refused(&mut self, count: u32) {
        self.table[self.current].ahead -= count;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(wanted: Wanted) -> Vec<u64> {
        wanted.map(Hpa::line_number).collect()
    }

    #[test]
    fn from_the_third_access_in_a_row_each_runs_two_lines_on_until_twenty_are_ahead() {
        let mut streams = Streams::new(32, 20);
        let mut access = |number: u64| lines(streams.looked_up(Hpa::new(number * 64)));
        assert!(access(1024).is_empty() && access(1025).is_empty());
        // Each look-up is one line farther and requests two lines, so the distance grows by one, from 2 to 20.
        for lookup in 0..=18 {
            assert_eq!(access(1026 + lookup), [1027 + 2 * lookup, 1028 + 2 * lookup]);
        }
        assert_eq!(access(1045), [1065]);
        // A repeated or a late access requests nothing. An access two lines on requests two lines.
        assert!(access(1045).is_empty() && access(1044).is_empty());
        assert_eq!(access(1047), [1066, 1067]);
    }

    #[test]
    fn a_stream_ends_with_its_page_and_the_next_page_is_another() {
        // Lines 1024 to 1087 are a page.
        let mut streams = Streams::new(32, 20);
        let mut access = |number: u64| lines(streams.looked_up(Hpa::new(number * 64)));
        let asked: Vec<u64> = (1024..1088).flat_map(&mut access).collect();
        assert!(asked.iter().copied().eq(1027..1088), "{asked:?}");
        assert!(access(1088).is_empty() && access(1089).is_empty());
        assert_eq!(access(1090), [1091, 1092]);
    }

    #[test]
    fn a_stream_may_go_down_and_what_was_refused_is_wanted_at_the_next_look_up() {
        let mut streams = Streams::new(32, 4);
        for number in [1000, 999] {
            streams.looked_up(Hpa::new(number * 64));
        }
        assert_eq!(lines(streams.looked_up(Hpa::new(998 * 64))), [997, 996]);
        streams.refused(1);
        assert_eq!(lines(streams.looked_up(Hpa::new(997 * 64))), [996, 995]);
    }

    #[test]
    fn a_random_walk_starts_no_stream() {
        let mut streams = Streams::new(32, 20);
        let mut random = cxlab_kernel::Stream::new(1, "walk");
        let asked: usize =
            (0..10_000).map(|_| lines(streams.looked_up(Hpa::new(random.below(1 << 24) * 64))).len()).sum();
        // Three of 32 followed lines, drawn from 2^24, are nearly never within 4 lines of each other.
        assert!(asked < 100, "{asked}");
    }
}
