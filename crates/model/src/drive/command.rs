//! A command: which way, where on the drive, which lines of memory.

use cxlab_kernel::Bytes;

use crate::addr::{Dpa, Hpa, LINE_BYTES};
use crate::mem::AccessKind;

/// Unit that a drive's translation layer maps: a page of the host `[B]`.
pub const UNIT_BYTES: u64 = 4096;

/// A part of a command that one die serves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Unit {
    pub dpa: Dpa,
    /// of it, what is moved
    pub bytes: Bytes,
    pub lines: Vec<Hpa>,
}

/// A read or a write of a drive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    pub(super) kind: AccessKind,
    pub(super) units: Vec<Unit>,
}

impl Command {
    /// A command that begins `from` bytes into the drive; segments of memory are an address and a length `[B]`, none of them
    /// empty.
    #[must_use]
    pub fn new(kind: AccessKind, from: u64, segments: &[(Hpa, u64)]) -> Command {
        let mut units: Vec<Unit> = Vec::new();
        let mut at = from;
        for (address, length) in segments {
            let (mut address, end) = (address.get(), address.get() + length);
            while address < end {
                let dpa = Dpa::new(at / UNIT_BYTES * UNIT_BYTES);
                let bytes = (end - address).min(dpa.get() + UNIT_BYTES - at);
                if units.last().is_none_or(|unit| unit.dpa != dpa) {
                    units.push(Unit { dpa, bytes: Bytes::new(0), lines: Vec::new() });
                }
                let unit = units.last_mut().expect("one was pushed");
                unit.bytes = Bytes::new(unit.bytes.get() + bytes);
                unit.lines.extend(lines(address, bytes));
                (address, at) = (address + bytes, at + bytes);
            }
        }
        Command { kind, units }
    }

    /// The lines of memory that it moves.
    pub fn lines(&self) -> impl Iterator<Item = Hpa> {
        self.units.iter().flat_map(|unit| unit.lines.iter().copied())
    }
}

fn lines(address: u64, bytes: u64) -> impl Iterator<Item = Hpa> {
    (address / LINE_BYTES..(address + bytes).div_ceil(LINE_BYTES)).map(|line| Hpa::new(line * LINE_BYTES))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_of_memory_that_lie_apart_are_units_side_by_side() {
        let command = Command::new(AccessKind::Read, 8192, &[(Hpa::new(0x10_0000), 4096), (Hpa::new(0x20_0000), 4096)]);
        let [first, second] = &command.units[..] else { panic!("{command:?}") };
        assert_eq!((first.dpa, second.dpa), (Dpa::new(8192), Dpa::new(12288)));
        assert_eq!(
            (first.lines.len(), first.lines[0], first.lines[63]),
            (64, Hpa::new(0x10_0000), Hpa::new(0x10_0fc0))
        );
        assert_eq!(second.lines[0], Hpa::new(0x20_0000));
    }

    #[test]
    fn a_page_that_straddles_units_is_cut() {
        let command = Command::new(AccessKind::Write, 512, &[(Hpa::new(0x10_0000), 4096)]);
        let bytes: Vec<_> = command.units.iter().map(|unit| unit.bytes.get()).collect();
        assert_eq!(bytes, [3584, 512]);
        assert_eq!(command.lines().count(), 64);
    }
}
