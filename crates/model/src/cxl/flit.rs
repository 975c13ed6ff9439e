//! The 68 B flit and its time on the wire. It has four slots of 16 B, 2 B of CRC and 2 B of protocol identifier.
//!
//! ```text
//!   | protocol id 2 B | slot 0 | slot 1 | slot 2 | slot 3 | CRC 2 B |       68 B on the wire
//!                       header   any      any      any                      or four slots of data
//! ```
//!
//! A flit's first slot holds a header unless all four hold data. That rule never costs a slot. A flit with a header
//! in any slot can have it in the first. Data that roll over without a header are at most three slots, or four, which
//! is the all-data flit. So only the number of slots counts here, not their order in a flit.
//!
//! Not modelled: the formats of slot 0 (H0 to H5), where three DRS headers do not fit. The packing of three a slot is
//! an upper bound. Skip ordered sets.
//!
//! Source: CXL 2.0, 4.2.2 (flit), 4.2.3 (slot formats); the arithmetic is checked in tests/cxl.

use cxlab_kernel::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Class, CxlError};
use crate::fact::Sourced;

/// Slots in a flit.
pub const SLOTS: u8 = 4;
/// Bits of a flit on the wire: 4 x 16 B, 2 B CRC, 2 B protocol identifier.
pub const FLIT_BITS: u64 = 68 * 8;

/// Lanes of a link; x1 and x2 are what a wider one falls back to (CXL 2.0, chapter 6: degraded modes).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub enum Lanes {
    #[serde(rename = "x1")]
    X1,
    #[serde(rename = "x2")]
    X2,
    #[serde(rename = "x4")]
    X4,
    #[serde(rename = "x8")]
    X8,
    #[serde(rename = "x16")]
    X16,
}

impl Lanes {
    #[must_use]
    pub const fn count(self) -> u64 {
        match self {
            Lanes::X1 => 1,
            Lanes::X2 => 2,
            Lanes::X4 => 4,
            Lanes::X8 => 8,
            Lanes::X16 => 16,
        }
    }
}

/// Transfers a second on a lane; 8 GT/s is a degraded mode (CXL 2.0, chapter 6).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
pub enum LinkRate {
    #[serde(rename = "8 GT/s")]
    Gt8,
    #[serde(rename = "16 GT/s")]
    Gt16,
    #[serde(rename = "32 GT/s")]
    Gt32,
}

impl LinkRate {
    /// Transfers in a nanosecond, one bit each.
    #[must_use]
    pub const fn gt_s(self) -> u64 {
        match self {
            LinkRate::Gt8 => 8,
            LinkRate::Gt16 => 16,
            LinkRate::Gt32 => 32,
        }
    }
}

impl<'de> Deserialize<'de> for LinkRate {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match String::deserialize(deserializer)?.as_str() {
            "8 GT/s" => Ok(LinkRate::Gt8),
            "16 GT/s" => Ok(LinkRate::Gt16),
            "32 GT/s" => Ok(LinkRate::Gt32),
            "64 GT/s" => Err(serde::de::Error::custom(
                "a link at `64 GT/s` needs 256 B flits (CXL 3.0, 4.3), which are not modelled yet; \
                 valid rates: `8 GT/s`, `16 GT/s`, `32 GT/s`",
            )),
            other => {
                let valid = "`8 GT/s`, `16 GT/s`, `32 GT/s`";
                let message = format!("`{other}` is no rate of a link with 68 B flits; valid: {valid}");
                Err(serde::de::Error::custom(message))
            }
        }
    }
}

/// Bits that the physical layer adds to those of flits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Encoding {
    /// two bits of sync header for 128 (PCIe 5.0, 4.2.2)
    #[serde(rename = "128b/130b")]
    SyncHeader,
    /// none, where both ends support it (CXL 2.0, chapter 6: sync header bypass)
    #[serde(rename = "sync header bypass")]
    SyncHeaderBypass,
}

impl Encoding {
    /// Bits on the wire for so many of payload, as a fraction.
    const fn expansion(self) -> (u64, u64) {
        match self {
            Encoding::SyncHeader => (130, 128),
            Encoding::SyncHeaderBypass => (1, 1),
        }
    }
}

/// How long a flit is on the wire, kept finer than the picoseconds of `Time` so that runs of flits do not drift.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlitClock {
    /// one flit `[fs]`
    flit_fs: u64,
}

impl FlitClock {
    #[must_use]
    pub const fn new(lanes: Lanes, rate: LinkRate, encoding: Encoding) -> FlitClock {
        let (wire, payload) = encoding.expansion();
        // 1 / (GT/s) is a nanosecond, 10^6 fs; rounded once, to below 2 parts in 10^6.
        let bits = FLIT_BITS * wire * 1_000_000;
        let divisor = payload * lanes.count() * rate.gt_s();
        FlitClock { flit_fs: (bits + divisor / 2) / divisor }
    }

    /// The span of `count` flits back to back.
    #[must_use]
    pub const fn flits(self, count: u64) -> Time {
        Time::from_ps((self.flit_fs * count + 500) / 1000)
    }

    /// Time of a message of `class` on an idle wire, without errors.
    #[must_use]
    pub fn message(self, class: Class) -> Time {
        self.flits(u64::from((1 + class.data_slots()).div_ceil(SLOTS)))
    }
}

/// How a device shares header slots; its link layer decides, and vendors differ.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PackingSpec {
    /// S2M DRS headers in one header slot [1..=3]
    pub drs_per_header: Sourced<u8>,
    /// S2M NDR that ride in a header slot that holds DRS [0..=2]
    pub ndr_with_drs: Sourced<u8>,
    /// S2M NDR in a header slot of their own [1..=3]
    pub ndr_per_header: Sourced<u8>,
}

impl PackingSpec {
    pub(super) fn check(&self) -> Result<(), CxlError> {
        let rules = [
            ("link.packing.drs_per_header", *self.drs_per_header, 1..=3),
            ("link.packing.ndr_with_drs", *self.ndr_with_drs, 0..=2),
            ("link.packing.ndr_per_header", *self.ndr_per_header, 1..=3),
        ];
        for (key, value, valid) in rules {
            if !valid.contains(&value) {
                return Err(CxlError::Packing { key, value, valid });
            }
        }
        Ok(())
    }
}
