//! The region of interest: two marker NOPs around the measured loop, so that a simulated machine spends its detail there.
//!
//! ```text
//!   0f 1f 84 00 | id lo | id hi | c5 1a      nop dword ptr [rax + rax + 0x1ac5_<id>]
//! ```
//! It touches no memory and no register (Intel SDM vol. 2, "NOP"), so a real CPU passes over it.

use std::arch::asm;

const BEGIN: u16 = 1;
const END: u16 = 2;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Roi {
    Marked,
    Unmarked,
}

impl Roi {
    /// Runs `region`, between markers if they are wanted.
    pub fn around<T>(self, region: impl FnOnce() -> T) -> T {
        self.begin();
        let result = region();
        self.end();
        result
    }

    /// The marker before a region whose ends are apart.
    pub fn begin(self) {
        if self == Roi::Marked {
            marker::<BEGIN>();
        }
    }

    /// The marker after it.
    pub fn end(self) {
        if self == Roi::Marked {
            marker::<END>();
        }
    }
}

#[inline(always)]
fn marker<const ID: u16>() {
    // SAFETY: a NOP. Memory is not declared untouched: the compiler keeps accesses on their side of it.
    unsafe {
        asm!(".byte 0x0f, 0x1f, 0x84, 0x00", ".2byte {id}", ".byte 0xc5, 0x1a", id = const ID,
             options(nostack, preserves_flags));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[inline(never)]
    extern "C" fn marked() {
        marker::<BEGIN>();
    }

    /// The bytes that the simulator's plugin looks for, as they stand in this program.
    #[test]
    fn the_instruction_is_the_one_agreed_on() {
        marked();
        // SAFETY: code is readable, and so are the few bytes after this short function.
        let code = unsafe { std::slice::from_raw_parts(marked as *const u8, 32) };
        assert!(code.windows(8).any(|b| b == [0x0f, 0x1f, 0x84, 0x00, 0x01, 0x00, 0xc5, 0x1a]), "{code:02x?}");
    }
}
