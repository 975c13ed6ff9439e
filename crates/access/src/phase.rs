//! The words of a sampled run: its phases, and which of its windows are kept.

use std::num::NonZeroU64;

use crate::mixed::mixed;

/// How closely the model follows a stretch of a sampled run. It is a whole word, as [`Keep`] is, because what holds
/// both is copied in words. A byte that is copied with others would wait until they have all been written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum Phase {
    /// functionally: caches and branch predictor see what happens, time stands still
    Warming,
    /// in detail, not counted: queues and what is under way come to be as they would be
    Detailed,
    /// in detail, and counted: a window
    Measured,
    /// in detail, and counted for itself alone: the beginning of a run, which is like nothing that follows
    Beginning,
}

impl Phase {
    pub(crate) const ALL: [Phase; 4] = [Phase::Warming, Phase::Detailed, Phase::Measured, Phase::Beginning];
}

/// The windows so far that a sampled run keeps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Keep {
    #[default]
    All,
    /// Windows 0 and 1 are a pair, 2 and 3, and so on.
    OneOfEachPair(Draw),
}

/// A draw of a window from each pair. Six toss a coin for each pair, and for each of them there is one that keeps the
/// other windows. So half of all draws keep a window. Two more keep all first or all second windows. Nobody draws
/// those any more, but older traces have them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Draw(NonZeroU64);

impl Draw {
    /// Those of older traces.
    const OLDER: u64 = 2;
    const COINS: u64 = 12;
    const MOST: u64 = Draw::OLDER + Draw::COINS;

    /// Any number gives a draw.
    #[must_use]
    pub fn of(number: u64) -> Draw {
        Draw(NonZeroU64::MIN.saturating_add(Draw::OLDER + number % Draw::COINS))
    }

    fn keeps(self, window: u64) -> bool {
        let number = self.0.get() - 1;
        let toss = if number < Draw::OLDER { 0 } else { mixed(window / 2 * Draw::MOST + number / 2) & 1 };
        toss ^ (number % 2) == window % 2
    }
}

impl Keep {
    /// Bits that tell it.
    pub(crate) const BITS: u32 = 4;

    /// Whether the window with this number, counted from 0, is kept.
    #[must_use]
    pub fn keeps(self, window: u64) -> bool {
        match self {
            Keep::All => true,
            Keep::OneOfEachPair(draw) => draw.keeps(window),
        }
    }

    pub(crate) fn encode(self) -> u64 {
        match self {
            Keep::All => 0,
            Keep::OneOfEachPair(draw) => draw.0.get(),
        }
    }

    pub(crate) fn decode(word: u64) -> Option<Keep> {
        match NonZeroU64::new(word) {
            None => Some(Keep::All),
            Some(number) => (number.get() <= Draw::MOST).then_some(Keep::OneOfEachPair(Draw(number))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_keep_one_of_each_pair_and_half_of_them_each_window() {
        for pair in 0..1000 {
            let of = |window| (0..Draw::COINS).filter(|number| Draw::of(*number).keeps(window)).count() as u64;
            assert_eq!((of(2 * pair), of(2 * pair + 1)), (Draw::COINS / 2, Draw::COINS / 2));
            assert!((0..20).all(|number| Draw::of(number).keeps(2 * pair) != Draw::of(number).keeps(2 * pair + 1)));
        }
        // 1,000 tosses of a coin: 500, and sqrt(1000) / 2 = 16 is their deviation.
        let firsts = |number| (0..1000).filter(|pair| Draw::of(number).keeps(2 * pair)).count();
        assert!((0..Draw::COINS).all(|number| firsts(number).abs_diff(500) < 64));
    }

    #[test]
    fn draws_of_older_traces_keep_all_first_or_all_second_windows() {
        let [evens, odds] = [1, 2].map(|word| Keep::decode(word).unwrap());
        assert!((0..100).all(|window| evens.keeps(window) == window.is_multiple_of(2)));
        assert!((0..100).all(|window| odds.keeps(window) != window.is_multiple_of(2)));
    }

    #[test]
    fn what_is_kept_comes_back_as_it_was_told() {
        let draws = (0..Draw::COINS).map(|number| Keep::OneOfEachPair(Draw::of(number)));
        for keep in draws.chain([Keep::All]) {
            assert!(keep.encode() < 1 << Keep::BITS);
            assert_eq!(Keep::decode(keep.encode()), Some(keep));
        }
        assert_eq!(Keep::decode(15), None);
    }
}
