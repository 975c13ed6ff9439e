//! `Time`: picoseconds, as a point on the simulated clock and as a span of it.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Mul, Sub, SubAssign};
use std::str::FromStr;

use crate::order;

use super::parse::{Dimension, QuantityError, text_with_unit, write_in};

/// Picoseconds `[ps]`, 64 bits: half a year of simulated time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(u64);

const UNITS: &[(&str, u64)] =
    &[("ps", 1), ("ns", 1_000), ("us", 1_000_000), ("ms", 1_000_000_000), ("s", 1_000_000_000_000)];
const TIME: Dimension = Dimension { name: "time", example: "13.75 ns", units: UNITS };

impl Time {
    pub const ZERO: Time = Time(0);
    /// The end of time: later than any event.
    pub const MAX: Time = Time(u64::MAX);

    #[must_use]
    pub const fn from_ps(ps: u64) -> Time {
        Time(ps)
    }

    #[must_use]
    pub const fn from_ns(ns: u64) -> Time {
        Time(ns * 1_000)
    }

    #[must_use]
    pub const fn as_ps(self) -> u64 {
        self.0
    }

    #[must_use]
    pub fn as_ns(self) -> f64 {
        self.0 as f64 / 1e3
    }

    #[must_use]
    pub fn as_seconds(self) -> f64 {
        self.0 as f64 / 1e12
    }

    /// The span since `earlier`, zero if `earlier` is later.
    #[must_use]
    pub fn since(self, earlier: Time) -> Time {
        Time(self.0.saturating_sub(earlier.0))
    }
}

impl Add for Time {
    type Output = Time;
    fn add(self, other: Time) -> Time {
        Time(self.0 + other.0)
    }
}

impl AddAssign for Time {
    fn add_assign(&mut self, other: Time) {
        self.0 += other.0;
    }
}

/// No span is negative: a run that takes one fails at its end ([`order`]), and the span counts as zero.
impl Sub for Time {
    type Output = Time;
    #[inline]
    fn sub(self, other: Time) -> Time {
        if let Some(span) = self.0.checked_sub(other.0) {
            Time(span)
        } else {
            order::violated("a span of time", other.0, self.0);
            Time::ZERO
        }
    }
}

impl SubAssign for Time {
    #[inline]
    fn sub_assign(&mut self, other: Time) {
        *self = *self - other;
    }
}

impl Mul<u64> for Time {
    type Output = Time;
    fn mul(self, count: u64) -> Time {
        Time(self.0 * count)
    }
}

impl Sum for Time {
    fn sum<I: Iterator<Item = Time>>(iter: I) -> Time {
        iter.fold(Time::ZERO, Add::add)
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_in(f, self.0, UNITS)
    }
}

impl FromStr for Time {
    type Err = QuantityError;
    fn from_str(text: &str) -> Result<Time, QuantityError> {
        TIME.parse(text).map(Time)
    }
}

text_with_unit!(Time, TIME);
