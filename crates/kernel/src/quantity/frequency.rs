//! `Frequency`: hertz, and the clock edges that come of it.

use std::fmt;
use std::str::FromStr;

use super::Time;
use super::parse::{Dimension, QuantityError, text_with_unit, write_in};

/// Hertz `[Hz]`, never zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Frequency(u64);

const UNITS: &[(&str, u64)] = &[("Hz", 1), ("kHz", 1_000), ("MHz", 1_000_000), ("GHz", 1_000_000_000)];
const FREQUENCY: Dimension = Dimension { name: "frequency", example: "2.4 GHz", units: UNITS };
const PS_PER_SECOND: u128 = 1_000_000_000_000;

impl Frequency {
    /// `hz` `[Hz]`; `None` for zero, which would have no period.
    #[must_use]
    pub const fn from_hz(hz: u64) -> Option<Frequency> {
        if hz == 0 { None } else { Some(Frequency(hz)) }
    }

    #[must_use]
    pub const fn as_hz(self) -> u64 {
        self.0
    }

    /// The span of `count` cycles, rounded once to the nearest picosecond.
    #[must_use]
    pub fn cycles(self, count: u64) -> Time {
        let hz = u128::from(self.0);
        Time::from_ps(((u128::from(count) * PS_PER_SECOND + hz / 2) / hz) as u64)
    }

    /// One cycle, rounded to the nearest picosecond.
    #[must_use]
    pub fn period(self) -> Time {
        self.cycles(1)
    }

    /// Cycles in `span`, as a fraction.
    #[must_use]
    pub fn count(self, span: Time) -> f64 {
        span.as_seconds() * self.0 as f64
    }

    /// Ticks of this clock that have passed at `at`, counted from zero, as a time-stamp counter shows them.
    #[must_use]
    pub fn ticks(self, at: Time) -> u64 {
        (u128::from(at.as_ps()) * u128::from(self.0) / PS_PER_SECOND) as u64
    }
}

impl fmt::Display for Frequency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_in(f, self.0, UNITS)
    }
}

impl FromStr for Frequency {
    type Err = QuantityError;
    fn from_str(text: &str) -> Result<Frequency, QuantityError> {
        Frequency::from_hz(FREQUENCY.parse(text)?).ok_or(QuantityError::OutOfRange {
            text: text.into(),
            dimension: FREQUENCY.name,
            reason: "a clock of 0 Hz has no period",
        })
    }
}

text_with_unit!(Frequency, FREQUENCY);
