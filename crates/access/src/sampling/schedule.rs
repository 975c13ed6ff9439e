//! The schedule: where the windows of a sampled run are.

use crate::mixed::mixed;
use crate::phase::{Draw, Keep, Phase};

/// Instructions at the start of a run on one processor that are followed in detail whatever the schedule says. There,
/// caches are cold and the kernel starts the program, which windows far apart miss. Of 50 samples each of three sorts,
/// with 40 windows, 15 left the time of full detail out. With the start in detail 6 do. They were drawn from windows of
/// full detail. Longer starts are no better.
pub const BEGINNING: u64 = 300_000;

/// Schedule of a sampled run, in guest instructions. With several processors it is in nanoseconds of about their
/// common time. Each period draws where its window begins. A program may repeat itself in step with windows at equal
/// distances. All of them would see the same of it, and their intervals would not tell it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Schedule {
    detail: u64,
    warm: u64,
    /// a period, which has one window
    every: u64,
    /// draws where windows begin, and which windows are kept
    seed: u64,
    /// periods at most, an even number; `None` where there may be any number
    most: Option<u64>,
    /// where windows lie farther apart than before; those of the periods before it have been
    thinned: u64,
    /// so much is followed in detail before the schedule begins
    beginning: u64,
}

impl Schedule {
    /// Windows of `detail` instructions, `warm` ahead of each in detail and not measured, one window in each `every`.
    pub fn new(detail: u64, warm: u64, every: u64, seed: u64) -> Result<Schedule, String> {
        if detail == 0 || detail.saturating_add(warm) > every {
            return Err(format!(
                "detail={detail}, warm={warm}, every={every}: a window has one instruction or more, and with what warms it \
                 up it is no longer than what it stands for"
            ));
        }
        Ok(Schedule { detail, warm, every, seed, most: None, thinned: 0, beginning: 0 })
    }

    /// Windows of `detail` instructions, one behind the other until there are `most`, then ever farther apart, with up to
    /// `warm` ahead of each.
    pub fn thinning(detail: u64, warm: u64, most: u64, seed: u64) -> Result<Schedule, String> {
        if detail == 0 || most < 2 || !most.is_multiple_of(2) {
            return Err(format!(
                "detail={detail}, most={most}: a window has one instruction or more, and there is an even number of them"
            ));
        }
        Ok(Schedule { detail, warm, every: detail, seed, most: Some(most), thinned: 0, beginning: 0 })
    }

    /// A schedule that begins where so much of the run has been followed in detail, which stands for itself alone.
    #[must_use]
    pub fn after(self, beginning: u64) -> Schedule {
        Schedule { beginning, ..self }
    }

    /// Positions between the beginnings of two periods.
    #[must_use]
    pub fn every(&self) -> u64 {
        self.every
    }

    /// Where the window of a period begins. Where a schedule thins, windows have lain one behind the other, and later ones
    /// begin where one of those would have begun.
    fn begin(&self, period: u64) -> u64 {
        let step = if self.most.is_some() { self.detail } else { 1 };
        let places = (self.every - self.detail) / step + 1;
        period * self.every + step * (mixed(mixed(self.seed) ^ period) % places)
    }

    /// The window at a position behind the beginning, or the next one: its period, and where it begins.
    fn window(&self, position: u64) -> (u64, u64) {
        let position = position.max(self.thinned);
        let period = position / self.every;
        let begin = self.begin(period);
        if position < begin + self.detail { (period, begin) } else { (period + 1, self.begin(period + 1)) }
    }

    /// Makes periods twice as long from here on, if the window at this instruction of the region, or the next one, is one
    /// too many. Returns which of those so far are kept.
    pub(super) fn thin(&mut self, position: u64) -> Keep {
        let (period, _) = self.window(position.saturating_sub(self.beginning));
        let Some(most) = self.most.filter(|most| period >= *most) else { return Keep::All };
        self.thinned = most * self.every;
        let draw = Draw::of(mixed(self.seed.wrapping_add(self.every)));
        self.every *= 2;
        Keep::OneOfEachPair(draw)
    }

    /// The phase at an instruction of the region, and how many instructions of it are left.
    #[must_use]
    pub fn at(&self, position: u64) -> (Phase, u64) {
        let Some(position) = position.checked_sub(self.beginning) else {
            return (Phase::Beginning, self.beginning - position);
        };
        let (_, begin) = self.window(position);
        match begin.saturating_sub(position) {
            0 => (Phase::Measured, begin + self.detail - position),
            left if left > self.warm => (Phase::Warming, left - self.warm),
            left => (Phase::Detailed, left),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_period_has_one_window_anywhere_in_it_with_what_warms_it_up_ahead() {
        let schedule = Schedule::new(10, 30, 100, 7).unwrap();
        let mut begins = Vec::new();
        let mut position = 0;
        while position < 100_000 {
            let (phase, left) = schedule.at(position);
            assert!(left > 0);
            let then = schedule.at(position + left).0;
            match phase {
                Phase::Measured => {
                    assert_eq!(left, 10);
                    begins.push(position);
                }
                Phase::Detailed => assert!(left <= 30 && then == Phase::Measured),
                _ => assert_eq!(then, Phase::Detailed, "no window comes without its warm-up"),
            }
            position += left;
        }
        assert!(begins.iter().enumerate().all(|(period, begin)| begin / 100 == period as u64), "{begins:?}");
        // Uniform from 0 to 90: the mean is 45, and 90 / sqrt(12 x 1000) = 0.8 its deviation.
        let mean = begins.iter().map(|begin| begin % 100).sum::<u64>() as f64 / begins.len() as f64;
        assert!(begins.len() == 1000 && (mean - 45.0).abs() < 3.3, "{mean}");
        // A window without gaps is exact.
        let whole = Schedule::new(10, 0, 10, 7).unwrap();
        assert!((0..100).all(|position| whole.at(position).0 == Phase::Measured));
    }

    #[test]
    fn windows_see_each_part_of_a_program_that_is_in_step_with_them() {
        // A fifth of each period is slow. Of 1,000 windows 200 see it, with a deviation of sqrt(1000 x 0.2 x 0.8) = 13.
        let schedule = Schedule::new(1, 0, 100, 7).unwrap();
        let measured = (0..100_000).filter(|position| schedule.at(*position).0 == Phase::Measured);
        let slow = measured.filter(|position| position % 100 < 20).count();
        assert!(slow.abs_diff(200) < 52, "{slow}");
    }

    #[test]
    fn windows_lie_as_they_would_behind_a_start_in_detail() {
        let schedule = Schedule::new(10, 20, 100, 7).unwrap();
        let after = schedule.after(250);
        assert_eq!((after.at(0), after.at(249)), ((Phase::Beginning, 250), (Phase::Beginning, 1)));
        assert!((0..1000).all(|position| after.at(250 + position) == schedule.at(position)));
    }

    #[test]
    fn seeds_spread_the_first_window_over_the_period() {
        let first = |seed| Schedule::new(1, 0, 1000, seed).unwrap().begin(0);
        let mean = (0..1000).map(first).sum::<u64>() as f64 / 1000.0;
        // The mean of 1000 uniform draws has a standard deviation of 1000 / sqrt(12 x 1000) = 9.
        assert!((mean - 500.0).abs() < 30.0, "{mean}");
    }

    #[test]
    fn a_window_that_cannot_be_is_refused() {
        assert!(Schedule::new(0, 0, 10, 1).is_err());
        assert!(Schedule::new(6, 5, 10, 1).unwrap_err().contains("every=10"));
        assert!(Schedule::new(u64::MAX, 5, 10, 1).is_err());
        assert!(Schedule::thinning(10, 5, 3, 1).is_err() && Schedule::thinning(0, 5, 4, 1).is_err());
    }
}
