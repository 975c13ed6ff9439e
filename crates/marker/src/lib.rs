//! The marker instruction: an 8-byte NOP that the QEMU plugin recognises at translation time.
//!
//! ```text
//!   0f 1f 84 00 | id lo | id hi | c5 1a      nop dword ptr [rax + rax + 0x1ac5_<id>]
//! ```
//!
//! A NOP with a 32-bit displacement touches no memory and no register (Intel SDM vol. 2, "NOP", multi-byte forms). So a
//! marked program also runs unchanged outside of CXLab.

use std::arch::asm;

/// Detail begins here: `CXLAB_REGION_BEGIN` of `cxlab/marker.h`.
pub const REGION_BEGIN: u16 = 1;
/// Detail ends here: `CXLAB_REGION_END` of `cxlab/marker.h`.
pub const REGION_END: u16 = 2;
/// The next instruction of this process's vCPU belongs to the launched program.
pub const PROGRAM_START: u16 = 0x0100;
/// The launched program has been reaped, or is about to be ended.
pub const PROGRAM_END: u16 = 0x0101;

/// The program has printed the text that detail begins with.
pub const FROM_OUTPUT: u16 = 0x0103;

/// Linux is up, and nothing of the run is known to it yet.
pub const BOOTED: u16 = 0x0104;

/// The program is frozen, and no file of the host is open: the machine's state is saved here.
pub const CHECKPOINT: u16 = 0x0105;

/// Execute the marker `ID`.
#[inline(always)]
pub fn marker<const ID: u16>() {
    // SAFETY: a NOP: no memory operand is accessed, no register or flag changes.
    unsafe {
        asm!(
            ".byte 0x0f, 0x1f, 0x84, 0x00",
            ".2byte {id}",
            ".byte 0xc5, 0x1a",
            id = const ID,
            // Memory is *not* declared untouched: the compiler must keep stores on their side of the marker.
            options(nostack, preserves_flags),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[inline(never)]
    extern "C" fn marked() {
        marker::<0x1234>();
    }

    /// The bytes that the plugin matches, as they stand in this program; executing them does nothing.
    #[test]
    fn the_instruction_is_the_one_agreed_on() {
        marked();
        // SAFETY: code is readable, and so are the few bytes after this short function.
        let code = unsafe { std::slice::from_raw_parts(marked as *const u8, 32) };
        let wanted = [0x0f, 0x1f, 0x84, 0x00, 0x34, 0x12, 0xc5, 0x1a];
        assert!(code.windows(8).any(|bytes| bytes == wanted), "{code:02x?}");
    }
}
