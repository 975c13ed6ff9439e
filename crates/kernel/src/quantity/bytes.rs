//! `Bytes` and `Bandwidth`: sizes in powers of two, rates in powers of ten, as data sheets have them.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Div};
use std::str::FromStr;

use super::Time;
use super::parse::{Dimension, QuantityError, text_with_unit, write_in};

/// Bytes `[B]`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes(u64);

const SIZES: &[(&str, u64)] = &[("B", 1), ("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30), ("TiB", 1 << 40)];
const SIZE: Dimension = Dimension { name: "size", example: "48 KiB", units: SIZES };

impl Bytes {
    pub const ZERO: Bytes = Bytes(0);

    #[must_use]
    pub const fn new(bytes: u64) -> Bytes {
        Bytes(bytes)
    }

    #[must_use]
    pub const fn kib(count: u64) -> Bytes {
        Bytes(count << 10)
    }

    #[must_use]
    pub const fn mib(count: u64) -> Bytes {
        Bytes(count << 20)
    }

    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }
}

impl Add for Bytes {
    type Output = Bytes;
    fn add(self, other: Bytes) -> Bytes {
        Bytes(self.0 + other.0)
    }
}

impl AddAssign for Bytes {
    fn add_assign(&mut self, other: Bytes) {
        self.0 += other.0;
    }
}

impl Sum for Bytes {
    fn sum<I: Iterator<Item = Bytes>>(iter: I) -> Bytes {
        iter.fold(Bytes::ZERO, Add::add)
    }
}

impl Div<Bandwidth> for Bytes {
    type Output = Time;
    // A quotient of quantities may multiply by the picoseconds of a second.
    #[allow(clippy::suspicious_arithmetic_impl)]
    /// Time that `self` takes at `rate`, rounded up. A transfer is never faster than its wire.
    fn div(self, rate: Bandwidth) -> Time {
        let (bytes, rate) = (u128::from(self.0), u128::from(rate.0));
        Time::from_ps((bytes * 1_000_000_000_000).div_ceil(rate) as u64)
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_in(f, self.0, SIZES)
    }
}

impl FromStr for Bytes {
    type Err = QuantityError;
    fn from_str(text: &str) -> Result<Bytes, QuantityError> {
        SIZE.parse(text).map(Bytes)
    }
}

text_with_unit!(Bytes, SIZE);

/// Bytes a second `[B/s]`, never zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bandwidth(u64);

const RATES: &[(&str, u64)] = &[("B/s", 1), ("kB/s", 1_000), ("MB/s", 1_000_000), ("GB/s", 1_000_000_000)];
const RATE: Dimension = Dimension { name: "bandwidth", example: "38.4 GB/s", units: RATES };

impl Bandwidth {
    /// `rate` `[B/s]`; `None` for zero, at which nothing ever arrives.
    #[must_use]
    pub const fn from_bytes_per_second(rate: u64) -> Option<Bandwidth> {
        if rate == 0 { None } else { Some(Bandwidth(rate)) }
    }

    #[must_use]
    pub const fn bytes_per_second(self) -> u64 {
        self.0
    }

    #[must_use]
    pub fn as_gb_s(self) -> f64 {
        self.0 as f64 / 1e9
    }
}

impl fmt::Display for Bandwidth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_in(f, self.0, RATES)
    }
}

impl FromStr for Bandwidth {
    type Err = QuantityError;
    fn from_str(text: &str) -> Result<Bandwidth, QuantityError> {
        Bandwidth::from_bytes_per_second(RATE.parse(text)?).ok_or(QuantityError::OutOfRange {
            text: text.into(),
            dimension: RATE.name,
            reason: "nothing arrives at 0 B/s",
        })
    }
}

text_with_unit!(Bandwidth, RATE);
