//! A mix R:W: lines read to lines written at the memory, ownership reads included, and the instructions that make it.
//!
//! An ordinary store reads its line and writes it back, so 1:1 is stores only, and ordinary stores cannot go past 50 % writes.
//! Non-temporal stores write without reading.

use crate::error::{Error, Result};
use serde::{Serialize, Serializer};
use std::fmt;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mix {
    reads: u32,
    writes: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Store {
    Ordinary,
    Nontemporal,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Load {
    Ordinary,
    Nontemporal,
}

/// Instructions of one round of a mix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Round {
    pub loads: u32,
    pub stores: u32,
    /// Lines moved at the memory: reads and writes.
    pub lines: u32,
}

impl Mix {
    /// Least number of lines in a round, so that a delay of 0 costs no loop of its own. MLC too delays every few lines.
    const ROUND: u32 = 8;

    pub const READS: Mix = Mix { reads: 1, writes: 0 };
    pub const HALF: Mix = Mix { reads: 1, writes: 1 };
    pub const WRITES: Mix = Mix { reads: 0, writes: 1 };

    pub fn parse(text: &str) -> Result<Mix> {
        let invalid = || Error::Parameter {
            parameter: "--mix",
            given: format!("{text:?}"),
            valid: "R:W, lines read to lines written, each 0 to 100 and not both 0: 1:0, 2:1, 1:1".into(),
        };
        let (reads, writes) = text.split_once(':').ok_or_else(invalid)?;
        let part = |text: &str| text.parse::<u32>().ok().filter(|n| *n <= 100).ok_or_else(invalid);
        let (reads, writes) = (part(reads)?, part(writes)?);
        match gcd(reads, writes) {
            0 => Err(invalid()),
            divisor => Ok(Mix { reads: reads / divisor, writes: writes / divisor }),
        }
    }

    pub fn round(self, store: Store) -> Result<Round> {
        let (loads, stores) = match store {
            Store::Nontemporal => (self.reads, self.writes),
            Store::Ordinary if self.writes > self.reads => {
                return Err(Error::Parameter {
                    parameter: "--mix",
                    given: format!("{self} with ordinary stores"),
                    valid: "at most 50 % writes, because an ordinary store reads its line first; past that --store nontemporal"
                        .into(),
                });
            }
            Store::Ordinary => (self.reads - self.writes, self.writes),
        };
        let lines = self.reads + self.writes;
        let times = Self::ROUND.div_ceil(lines);
        Ok(Round { loads: loads * times, stores: stores * times, lines: lines * times })
    }
}

fn gcd(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { gcd(b, a % b) }
}

impl fmt::Display for Mix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.reads, self.writes)
    }
}

impl Serialize for Mix {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
