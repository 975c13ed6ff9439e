//! Quantities: a number never travels without its dimension.
//!
//! Each quantity is made from text with a unit (`"13.75 ns"`) or from a constructor whose name carries the unit.
//! `"4800 MT/s"` is a DRAM matter, and lives there. Kinds mix only as physics has it: `Bytes / Bandwidth = Time`,
//! `Frequency.cycles(n) = Time`.
//!
//! Not modelled: fractions of a picosecond. A period that is no whole number of picoseconds is rounded once
//! for each edge ([`Frequency::cycles`]), so that the error does not add up.

mod bytes;
mod frequency;
mod parse;
mod time;

pub use bytes::{Bandwidth, Bytes};
pub use frequency::Frequency;
pub use parse::QuantityError;
pub use time::Time;
