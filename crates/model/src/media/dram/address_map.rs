//! The address map: it gives the rank, group, bank, row and column of a sub-channel's line.
//!
//! ```text
//!   line = [ row | rank | bank | column | group ]     order = ["group", "column", "bank", "rank", "row"]
//!                    ^      ^              ^
//!                    +--XOR-+--row bits----+           hash = "row"
//! ```
//!
//! With the group lowest, a stream changes its bank group from line to line, which suits tCCD_L. The hash sends rows
//! that differ in a power of two to different banks (permutation-based interleaving: Zhang, Zhu, Zhang, MICRO 2000).
//! With any order and hash, the map is one to one.

use schemars::JsonSchema;

use serde::{Deserialize, Serialize};

use super::DramError;
use super::command::BankAddress;
use super::standard::Dram;
use crate::fact::Sourced;

/// A part of a line's address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Field {
    Group,
    Bank,
    Rank,
    Column,
    Row,
}

/// Bits that are XORed into the bank's numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Hash {
    /// nothing
    Plain,
    /// the row's low bits, into group, bank and rank
    Row,
}

/// An address map as a machine file gives it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AddressMapSpec {
    /// the parts from the lowest bits up, each once
    pub order: Sourced<Vec<Field>>,
    pub hash: Sourced<Hash>,
}

/// Place of a line in its sub-channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Location {
    pub to: BankAddress,
    pub row: u32,
    /// column, counted in lines
    pub column: u32,
}

#[derive(Clone, Copy, Debug)]
struct Bits {
    shift: u32,
    width: u32,
}

impl Bits {
    #[inline]
    fn of(self, line: u64) -> u32 {
        ((line >> self.shift) & ((1 << self.width) - 1)) as u32
    }
}

/// A one-to-one map of a sub-channel's lines to banks, rows and columns.
#[derive(Clone, Copy, Debug)]
pub struct AddressMap {
    group: Bits,
    bank: Bits,
    rank: Bits,
    column: Bits,
    row: Bits,
    hash: Hash,
}

impl AddressMap {
    /// # Errors
    /// Returned if `spec` does not name each part once.
    pub fn new(spec: &AddressMapSpec, dram: &Dram, ranks: u32) -> Result<AddressMap, DramError> {
        let organisation = &dram.organisation;
        let width = |field| match field {
            Field::Group => organisation.bank_groups.trailing_zeros(),
            Field::Bank => organisation.banks_per_group.trailing_zeros(),
            Field::Rank => ranks.trailing_zeros(),
            Field::Column => organisation.lines_per_row().trailing_zeros(),
            Field::Row => organisation.rows.trailing_zeros(),
        };
        let bits = |wanted: Field| {
            let below = spec.order.iter().position(|field| *field == wanted)?;
            Some(Bits { shift: spec.order[..below].iter().map(|field| width(*field)).sum(), width: width(wanted) })
        };
        let map = || {
            Some(AddressMap {
                group: bits(Field::Group)?,
                bank: bits(Field::Bank)?,
                rank: bits(Field::Rank)?,
                column: bits(Field::Column)?,
                row: bits(Field::Row)?,
                hash: *spec.hash,
            })
        };
        map().filter(|_| spec.order.len() == 5).ok_or_else(|| DramError::AddressMapOrder {
            order: spec.order.iter().map(|field| format!("{field:?}").to_lowercase()).collect::<Vec<_>>().join(", "),
        })
    }

    /// Number of lines that the map can tell apart. Lines above it wrap around.
    #[must_use]
    pub fn lines(&self) -> u64 {
        1 << (self.group.width + self.bank.width + self.rank.width + self.column.width + self.row.width)
    }

    /// Place of `line`.
    #[inline]
    #[must_use]
    pub fn locate(&self, line: u64) -> Location {
        let row = self.row.of(line);
        let plain = BankAddress { rank: self.rank.of(line), group: self.group.of(line), bank: self.bank.of(line) };
        let to = match self.hash {
            Hash::Plain => plain,
            Hash::Row => {
                let mask = |bits: Bits, value: u32| value & ((1 << bits.width) - 1);
                BankAddress {
                    group: plain.group ^ mask(self.group, row),
                    bank: plain.bank ^ mask(self.bank, row >> self.group.width),
                    rank: plain.rank ^ mask(self.rank, row >> (self.group.width + self.bank.width)),
                }
            }
        };
        Location { to, row, column: self.column.of(line) }
    }
}
