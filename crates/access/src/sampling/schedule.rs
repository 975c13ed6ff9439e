//! The schedule: where the windows of a sampled run are.

use crate::phase::{Keep, Phase};

/// Instructions at the start of a run on one processor that are followed in detail whatever the schedule says. There,
/// caches are cold and the kernel starts the program, which windows far apart miss. Of 50 samples each of three sorts,
/// with 40 windows, 15 left the time of full detail out. With the start in detail 6 do. They were drawn from windows of
/// full detail. Longer starts are no better.
pub const BEGINNING: u64 = 300_000;

/// Schedule of a sampled run, in guest instructions. With several processors it is in nanoseconds of about their
/// common time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Schedule {
    detail: u64,
    warm: u64,
    every: u64,
    /// where the first window begins, below `every`; `None`: each period draws where its window begins
    offset: Option<u64>,
    /// draws where windows begin, and which windows are kept
    seed: u64,
    /// windows at most, an even number; `None` where there may be any number
    pub(super) most: Option<u64>,
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
        Ok(Schedule { detail, warm, every, offset: Some(mixed(seed) % every), seed, most: None, beginning: 0 })
    }

    /// Windows of `detail` instructions, one behind the other until there are `most`, then ever farther apart, with up to
    /// `warm` ahead of each.
    pub fn thinning(detail: u64, warm: u64, most: u64, seed: u64) -> Result<Schedule, String> {
        if detail == 0 || most < 2 || !most.is_multiple_of(2) {
            return Err(format!(
                "detail={detail}, most={most}: a window has one instruction or more, and there is an even number of them"
            ));
        }
        Ok(Schedule { detail, warm, every: detail, offset: Some(0), seed, most: Some(most), beginning: 0 })
    }

    /// A schedule that begins where so much of the run has been followed in detail, which stands for itself alone.
    #[must_use]
    pub fn after(self, beginning: u64) -> Schedule {
        Schedule { beginning, ..self }
    }

    /// A schedule of which each period draws anew where its window begins. If the length of a period follows what windows
    /// have measured, windows at equal distances would all lie where that has the same error.
    #[must_use]
    pub fn drawing(self) -> Schedule {
        Schedule { offset: None, ..self }
    }

    /// Positions between the beginnings of two periods.
    #[must_use]
    pub fn every(&self) -> u64 {
        self.every
    }

    /// Where the window of a period begins that draws it.
    fn drawn(&self, period: u64) -> u64 {
        period * self.every + mixed(mixed(self.seed) ^ period) % (self.every - self.detail + 1)
    }

    /// As [`Schedule::at`], where each period draws.
    fn at_drawn(&self, position: u64) -> (Phase, u64) {
        let period = position / self.every;
        let mut next = self.drawn(period);
        if (next..next + self.detail).contains(&position) {
            return (Phase::Measured, next + self.detail - position);
        }
        if position > next {
            next = self.drawn(period + 1);
        }
        match next - position {
            left if left > self.warm => (Phase::Warming, left - self.warm),
            left => (Phase::Detailed, left),
        }
    }

    /// The windows lie twice as far apart: which of those so far are kept.
    pub(super) fn thin(&mut self) -> Keep {
        let odd = mixed(self.seed.wrapping_add(self.every)) & 1 == 1;
        self.offset = self.offset.map(|offset| if odd { offset + self.every } else { offset });
        self.every *= 2;
        if odd { Keep::Odd } else { Keep::Even }
    }

    /// The phase at an instruction of the region, and how many instructions of it are left.
    #[must_use]
    pub fn at(&self, position: u64) -> (Phase, u64) {
        let Some(position) = position.checked_sub(self.beginning) else {
            return (Phase::Beginning, self.beginning - position);
        };
        let Some(offset) = self.offset else { return self.at_drawn(position) };
        let since = (position + self.every - offset) % self.every;
        let warming = self.every - self.warm.min(self.every - self.detail);
        if since < self.detail {
            (Phase::Measured, self.detail - since)
        } else if since < warming {
            (Phase::Warming, warming - since)
        } else {
            (Phase::Detailed, self.every - since)
        }
    }
}

/// SplitMix64 (Steele, Lea and Flood, OOPSLA 2014): neighbouring seeds give offsets that have nothing in common.
fn mixed(seed: u64) -> u64 {
    let mut z = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_period_that_draws_has_one_window_anywhere_in_it() {
        let schedule = Schedule::new(10, 30, 100, 7).unwrap().drawing();
        let mut begins = Vec::new();
        let mut position = 0;
        while position < 100_000 {
            let (phase, left) = schedule.at(position);
            assert!(left > 0);
            if phase == Phase::Measured {
                assert_eq!(left, 10);
                begins.push(position);
            } else if phase == Phase::Detailed {
                assert!(left <= 30 && schedule.at(position + left).0 == Phase::Measured);
            }
            position += left;
        }
        assert!(begins.iter().enumerate().all(|(period, begin)| begin / 100 == period as u64), "{begins:?}");
        // Uniform from 0 to 90: the mean is 45, and 90 / sqrt(12 x 1000) = 0.8 its deviation.
        let mean = begins.iter().map(|begin| begin % 100).sum::<u64>() as f64 / begins.len() as f64;
        assert!(begins.len() == 1000 && (mean - 45.0).abs() < 3.3, "{mean}");
        // A window without gaps is exact.
        let whole = Schedule::new(10, 0, 10, 7).unwrap().drawing();
        assert!((0..100).all(|position| whole.at(position).0 == Phase::Measured));
    }

    #[test]
    fn windows_come_once_in_each_period_with_what_warms_them_up_ahead() {
        for seed in 0..50 {
            let schedule = Schedule::new(10, 20, 100, seed).unwrap();
            let phases: Vec<Phase> = (0..1000).map(|position| schedule.at(position).0).collect();
            let of = |phase| phases.iter().filter(|is| **is == phase).count();
            assert_eq!((of(Phase::Measured), of(Phase::Detailed), of(Phase::Warming)), (100, 200, 700));
            for position in 1..1000 {
                let (before, now) = (phases[position - 1], phases[position]);
                assert!(now != Phase::Measured || before != Phase::Warming, "no window comes without its warm-up");
            }
        }
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
        let offsets = (0..1000).map(|seed| Schedule::new(1, 0, 1000, seed).unwrap().offset.unwrap());
        let mean = offsets.sum::<u64>() as f64 / 1000.0;
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
