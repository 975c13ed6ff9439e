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
