//! Chooses the record of a request, by YCSB's distributions of keys.
//!
//! ```text
//!   uniform    each as often
//!   zipfian    rank r with probability ~ r^-0.99, ranks scattered over the records by a hash
//!   latest     zipfian ranks from the newest record backwards
//! ```
//! Source: Cooper et al., YCSB (SoCC 2010), ZipfianGenerator (Gray et al., SIGMOD 1994), constant 0.99.

use cxlab_kernel::Stream;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// YCSB's zipfian constant.
const THETA: f64 = 0.99;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "KeyDistribution")]
pub enum Distribution {
    Uniform,
    Zipfian,
    Latest,
}

/// A generator of record numbers.
#[derive(Clone, Debug)]
pub struct Keys {
    distribution: Distribution,
    records: u64,
    zeta: f64,
    alpha: f64,
    eta: f64,
}

impl Keys {
    #[must_use]
    pub fn new(distribution: Distribution, records: u64) -> Keys {
        let zeta = |n: u64| (1..=n).map(|rank| (rank as f64).powf(-THETA)).sum::<f64>();
        let (all, two) = (zeta(records), zeta(2));
        let eta = (1.0 - (2.0 / records as f64).powf(1.0 - THETA)) / (1.0 - two / all);
        Keys { distribution, records, zeta: all, alpha: 1.0 / (1.0 - THETA), eta }
    }

    /// A record; `newest` is the one inserted last.
    pub fn next(&self, random: &mut Stream, newest: u64) -> u64 {
        match self.distribution {
            Distribution::Uniform => random.below(self.records),
            Distribution::Zipfian => scatter(self.rank(random)) % self.records,
            Distribution::Latest => (newest + self.records - self.rank(random)) % self.records,
        }
    }

    /// A rank, 0 is the most frequent.
    pub fn rank(&self, random: &mut Stream) -> u64 {
        let unit = random.unit();
        let scaled = unit * self.zeta;
        if scaled < 1.0 {
            return 0;
        }
        if scaled < 1.0 + 0.5_f64.powf(THETA) {
            return 1;
        }
        let rank = self.records as f64 * (self.eta * unit - self.eta + 1.0).powf(self.alpha);
        (rank as u64).min(self.records - 1)
    }
}

/// FNV-1a of a number's bytes, as YCSB scatters its keys.
fn scatter(number: u64) -> u64 {
    number
        .to_le_bytes()
        .iter()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}
