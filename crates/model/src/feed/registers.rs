//! The registers that carry dependences, as a set of bits.
//!
//! Not modelled: partial registers (a write of `al` is a write of `rax` that also reads it, as iced has it).

use iced_x86::Register;

/// Registers that carry dependences, one bit each: 16 general, 32 vector, 8 mask, flags, x87.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RegisterSet(u64);

impl RegisterSet {
    /// Number of different registers.
    pub const COUNT: usize = 58;
    const FLAGS: u32 = 56;
    const X87: u32 = 57;

    /// Places of a table by register: a power of two, and room for [`Operands::NONE`] and [`Operands::NOWHERE`].
    pub const PLACES: usize = 64;

    fn bit(register: Register) -> Option<u32> {
        let full = register.full_register();
        if full.is_gpr64() {
            return Some(full.number() as u32);
        }
        if full.is_zmm() {
            return Some(16 + full.number() as u32);
        }
        if full.is_k() {
            return Some(48 + full.number() as u32);
        }
        (full.is_st() || full.is_mm()).then_some(Self::X87)
    }

    pub(super) fn add(&mut self, register: Register) {
        if let Some(bit) = Self::bit(register) {
            self.0 |= 1 << bit;
        }
    }

    pub(super) fn add_flags(&mut self) {
        self.0 |= 1 << Self::FLAGS;
    }

    /// The set without the registers of `other`.
    #[must_use]
    pub fn without(self, other: RegisterSet) -> RegisterSet {
        RegisterSet(self.0 & !other.0)
    }

    /// The set and the registers of `other`.
    #[must_use]
    pub fn with(self, other: RegisterSet) -> RegisterSet {
        RegisterSet(self.0 | other.0)
    }

    /// Whether the register is in the set.
    #[inline]
    #[must_use]
    pub fn contains(self, register: usize) -> bool {
        self.0 >> register & 1 == 1
    }

    pub fn remove(&mut self, register: usize) {
        self.0 &= !(1 << register);
    }

    #[must_use]
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }
}

impl Iterator for RegisterSet {
    type Item = usize;
    #[inline]
    fn next(&mut self) -> Option<usize> {
        if self.0 == 0 {
            return None;
        }
        let bit = self.0.trailing_zeros();
        self.0 &= self.0 - 1;
        Some(bit as usize)
    }
}

/// The registers of an instruction that has few of them, in arrays of fixed length, so that no loop looks them up. Unused
/// places read [`Operands::NONE`] and write [`Operands::NOWHERE`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operands {
    pub address: [u8; 2],
    pub data: [u8; 3],
    pub writes: [u8; 3],
}

impl Operands {
    /// A register that is always there.
    pub const NONE: u8 = RegisterSet::COUNT as u8;
    /// A register that nothing reads.
    pub const NOWHERE: u8 = Self::NONE + 1;

    /// `None` if there are more registers than places.
    #[must_use]
    pub fn of(address: RegisterSet, data: RegisterSet, writes: RegisterSet) -> Option<Operands> {
        let (address, data) = (places(address, Self::NONE)?, places(data, Self::NONE)?);
        Some(Operands { address, data, writes: places(writes, Self::NOWHERE)? })
    }
}

fn places<const N: usize>(registers: RegisterSet, rest: u8) -> Option<[u8; N]> {
    let (mut places, mut count) = ([rest; N], 0);
    for register in registers {
        *places.get_mut(count)? = register as u8;
        count += 1;
    }
    Some(places)
}
