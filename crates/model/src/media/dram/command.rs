//! The commands on the command bus, and the banks that they address.

use std::fmt;

use super::clock::{Cycles, Generation};
use crate::mem::AccessKind;

/// A command, by its name in the standard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Command {
    /// ACT: open a row
    Activate,
    /// PRE: close a bank
    Precharge,
    /// PREA: close a rank's banks
    PrechargeAll,
    /// PREsb: close one bank of each group (DDR5)
    PrechargeSame,
    /// RD
    Read,
    /// RDA: read, then close the bank
    ReadAutoPrecharge,
    /// WR
    Write,
    /// WRA: write, then close the bank
    WriteAutoPrecharge,
    /// REFab: refresh a rank
    RefreshAll,
    /// REFsb: refresh one bank of each group (DDR5)
    RefreshSame,
}

impl Command {
    /// The column command of `kind`. With `auto_precharge` it also closes its bank.
    #[must_use]
    pub fn column(kind: AccessKind, auto_precharge: bool) -> Command {
        match (kind, auto_precharge) {
            (AccessKind::Read, false) => Command::Read,
            (AccessKind::Read, true) => Command::ReadAutoPrecharge,
            (AccessKind::Write, false) => Command::Write,
            (AccessKind::Write, true) => Command::WriteAutoPrecharge,
        }
    }

    /// Cycles on the command bus: DDR5 sends ACT, RD and WR in two (JESD79-5, command truth table). The time of a
    /// command is that of its last cycle, from which the device counts.
    #[inline]
    #[must_use]
    pub fn width(self, generation: Generation) -> Cycles {
        match (generation, self) {
            (
                Generation::Ddr5,
                Command::Activate
                | Command::Read
                | Command::ReadAutoPrecharge
                | Command::Write
                | Command::WriteAutoPrecharge,
            ) => Cycles(2),
            _ => Cycles(1),
        }
    }
}

impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Command::Activate => "ACT",
            Command::Precharge => "PRE",
            Command::PrechargeAll => "PREA",
            Command::PrechargeSame => "PREsb",
            Command::Read => "RD",
            Command::ReadAutoPrecharge => "RDA",
            Command::Write => "WR",
            Command::WriteAutoPrecharge => "WRA",
            Command::RefreshAll => "REFab",
            Command::RefreshSame => "REFsb",
        })
    }
}

/// A bank of a sub-channel: rank, group and bank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BankAddress {
    pub rank: u32,
    pub group: u32,
    /// within its group
    pub bank: u32,
}

/// A command that was sent, as the log keeps it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Issued {
    /// its last cycle on the command bus
    pub at: Cycles,
    pub command: Command,
    /// PREA and REFab use only the rank; PREsb and REFsb use the rank and the bank within its group
    pub to: BankAddress,
    /// the row that ACT opens or a column command reads or writes
    pub row: Option<u32>,
}

impl fmt::Display for Issued {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} r{} g{} b{}", self.at, self.command, self.to.rank, self.to.group, self.to.bank)?;
        self.row.map_or(Ok(()), |row| write!(f, " row {row}"))
    }
}
