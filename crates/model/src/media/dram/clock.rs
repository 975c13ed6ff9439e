//! The memory clock, and times as JEDEC writes them: "39nCK", "5ns", "max(8nCK, 5ns)".
//!
//! A period is kept as a fraction of picoseconds (DDR5-4800: 1250/3 ps). So an edge is rounded once and the error does
//! not add up. A minimum in ns becomes cycles by the standard's own rounding rule. The rule gives a guard band, so that
//! 5 ns at a rounded tCK is not a cycle too many. Source: JESD79-4 and JESD79-5, "Rounding definitions and algorithms"
//! (2.6 % and 0.3 %).

use std::fmt;
use std::ops::{Add, AddAssign, Sub};
use std::str::FromStr;

use cxlab_kernel::Time;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

/// Clock cycles `[nCK]`, as a span or as a count since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cycles(pub u64);

impl Add for Cycles {
    type Output = Cycles;
    #[inline]
    fn add(self, other: Cycles) -> Cycles {
        Cycles(self.0 + other.0)
    }
}

impl AddAssign for Cycles {
    fn add_assign(&mut self, other: Cycles) {
        self.0 += other.0;
    }
}

impl Sub for Cycles {
    type Output = Cycles;
    fn sub(self, other: Cycles) -> Cycles {
        Cycles(self.0 - other.0)
    }
}

impl fmt::Display for Cycles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}nCK", self.0)
    }
}

/// Transfers a second on each data line `[MT/s]`; the clock runs at half of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct TransferRate {
    mega: u64,
}

impl TransferRate {
    #[must_use]
    pub const fn mega_transfers(self) -> u64 {
        self.mega
    }
}

impl FromStr for TransferRate {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let number = text.trim().strip_suffix("MT/s").map(str::trim).and_then(|number| number.parse().ok());
        match number {
            Some(mega) if (100..=20_000).contains(&mega) => Ok(TransferRate { mega }),
            _ => Err(format!("`{text}` is no transfer rate: write 100 to 20000 as in `4800 MT/s`")),
        }
    }
}

impl TryFrom<String> for TransferRate {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<TransferRate> for String {
    fn from(rate: TransferRate) -> String {
        rate.to_string()
    }
}

impl fmt::Display for TransferRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} MT/s", self.mega)
    }
}

/// Edges of a clock that runs at half a transfer rate.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    /// the period is numerator / denominator `[ps]`, in lowest terms
    numerator: u64,
    denominator: u64,
}

impl Clock {
    #[must_use]
    pub fn new(rate: TransferRate) -> Clock {
        // A cycle has 2 transfers, so the period is 2e6 / MT/s picoseconds.
        let (numerator, denominator) = (2_000_000, rate.mega);
        let divisor = greatest_common_divisor(numerator, denominator);
        Clock { numerator: numerator / divisor, denominator: denominator / divisor }
    }

    /// The time at which cycle `cycle` begins, to the nearest picosecond.
    #[must_use]
    pub fn edge(self, cycle: Cycles) -> Time {
        Time::from_ps((cycle.0 * self.numerator + self.denominator / 2) / self.denominator)
    }

    /// The first cycle that begins at `at` or later.
    #[must_use]
    pub fn cycle_from(self, at: Time) -> Cycles {
        let before = Cycles(at.as_ps() * self.denominator / self.numerator);
        if self.edge(before) >= at { before } else { before + Cycles(1) }
    }

    /// Cycles that end within `span`.
    #[must_use]
    pub fn whole_cycles(self, span: Time) -> Cycles {
        Cycles(span.as_ps() * self.denominator / self.numerator)
    }

    /// Thousandths of cycles in `span`.
    fn millicycles(self, span: Time) -> u64 {
        (u128::from(span.as_ps()) * 1000 * u128::from(self.denominator) / u128::from(self.numerator)) as u64
    }
}

fn greatest_common_divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}

/// The two generations that are modelled. Each has a rounding rule and commands of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Generation {
    #[serde(rename = "DDR4")]
    Ddr4,
    #[serde(rename = "DDR5")]
    Ddr5,
}

/// A minimum as JEDEC writes it: cycles, a time, or the greater of both.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Minimum {
    cycles: Cycles,
    time: Time,
}

impl Minimum {
    /// Whole cycles of `clock`, by the rounding rule of `generation`.
    #[must_use]
    pub fn cycles(self, clock: Clock, generation: Generation) -> Cycles {
        let milli = clock.millicycles(self.time);
        let rounded = match generation {
            _ if milli == 0 => 0,
            Generation::Ddr4 => (milli + 974) / 1000,
            Generation::Ddr5 => milli * 997 / 1_000_000 + 1,
        };
        self.cycles.max(Cycles(rounded))
    }

    /// The time alone, without the bound in cycles.
    #[must_use]
    pub fn time(self) -> Time {
        self.time
    }
}

impl FromStr for Minimum {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}` is no minimum: write `8nCK`, `5ns` or `max(8nCK, 5ns)`");
        let inner = text.trim();
        let terms: Vec<&str> = match inner.strip_prefix("max(").and_then(|rest| rest.strip_suffix(')')) {
            Some(list) => list.split(',').map(str::trim).collect(),
            None => vec![inner],
        };
        let mut minimum = Minimum { cycles: Cycles(0), time: Time::ZERO };
        let (mut cycles, mut times) = (0, 0);
        for term in &terms {
            if let Some(count) = term.strip_suffix("nCK") {
                minimum.cycles = Cycles(count.trim().parse().map_err(|_| wrong())?);
                cycles += 1;
            } else {
                minimum.time = term.parse().map_err(|error| format!("{}: {error}", wrong()))?;
                times += 1;
            }
        }
        if cycles > 1 || times > 1 || terms.len() > 2 { Err(wrong()) } else { Ok(minimum) }
    }
}

impl TryFrom<String> for Minimum {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<Minimum> for String {
    fn from(minimum: Minimum) -> String {
        minimum.to_string()
    }
}

impl fmt::Display for Minimum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.cycles, self.time) {
            (cycles, Time::ZERO) => write!(f, "{cycles}"),
            (Cycles(0), time) => write!(f, "{time}"),
            (cycles, time) => write!(f, "max({cycles}, {time})"),
        }
    }
}

impl JsonSchema for TransferRate {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "TransferRate".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "pattern": "^[0-9]+ ?MT/s$", "description": "transfers a second, as in `4800 MT/s`" })
    }
}

impl JsonSchema for Minimum {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Minimum".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "description": "cycles of the memory clock, a time, or both: `max(8nCK, 5ns)`" })
    }
}
