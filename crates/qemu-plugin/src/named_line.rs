//! Instructions that name a line and that QEMU passes over: clflush, clflushopt, clwb and the prefetches.
//!
//! ```text
//!   translation: known by their bytes -> a callback with the registers
//!   execution:   registers -> effective address -> the guest's page tables -> Access, as if the line were touched
//! ```
//!
//! An address without a page, or of a device, is not told. Silicon drops a prefetch of such an address, and Linux
//! flushes no such line. Source: Intel SDM vol. 2 (CLFLUSH, CLFLUSHOPT, CLWB, PREFETCHh).

use std::ffi::c_void;

use cxlab_access::record::MemoryAccess;
use iced_x86::Mnemonic;

use crate::decoded::Decoded;
use crate::registers::Registers;
use crate::{mode, qemu, stream};

/// Bytes of a page, as a power of two: translations are asked for by page.
const PAGE_SHIFT: u32 = 12;
/// Bytes of a line, as a power of two.
const LINE_SHIFT: u8 = 6;

/// Whether instructions of this name are of this kind.
pub fn names_line(mnemonic: Mnemonic) -> bool {
    use Mnemonic as M;
    pushes_out(mnemonic)
        || matches!(
            mnemonic,
            M::Prefetch
                | M::Prefetchw
                | M::Prefetchwt1
                | M::Prefetchnta
                | M::Prefetcht0
                | M::Prefetcht1
                | M::Prefetcht2
        )
}

/// In the order of stores (Intel SDM vol. 2, CLFLUSH): told as one.
fn pushes_out(mnemonic: Mnemonic) -> bool {
    matches!(mnemonic, Mnemonic::Clflush | Mnemonic::Clflushopt | Mnemonic::Clwb)
}

/// One is about to be executed.
pub unsafe extern "C" fn on_named_line(vcpu: u32, data: *mut c_void) {
    if !mode::tells() {
        return;
    }
    // SAFETY: the data of this callback.
    let Decoded { index, code } = unsafe { Decoded::of(data) };
    let registers = Registers::get();
    let Some(address) = code.virtual_address(0, 0, |register, _, _| registers.read(register)) else { return };
    let page = address >> PAGE_SHIFT << PAGE_SHIFT;
    let Some(physical) = qemu::physical_page(vcpu, page) else { return };
    stream::with(|stream| {
        let physical = physical + (address - page);
        let page = stream.feed.page(vcpu as usize, address, physical);
        stream.feed.access(
            vcpu as usize,
            MemoryAccess {
                instruction: *index,
                size_log2: LINE_SHIFT,
                store: pushes_out(code.mnemonic()),
                physical,
                page,
                device: false,
            },
        );
    });
}

#[cfg(test)]
mod tests {
    use iced_x86::{Decoder, DecoderOptions};

    use super::*;

    #[test]
    fn they_are_known_by_their_bytes() {
        let mnemonic = |bytes: &[u8]| Decoder::with_ip(64, bytes, 0, DecoderOptions::NONE).decode().mnemonic();
        for bytes in [
            &[0x0f, 0xae, 0x38][..],   // clflush [rax]
            &[0x66, 0x0f, 0xae, 0x38], // clflushopt [rax]
            &[0x66, 0x0f, 0xae, 0x30], // clwb [rax]
        ] {
            assert!(names_line(mnemonic(bytes)) && pushes_out(mnemonic(bytes)), "{bytes:02x?}");
        }
        for bytes in [
            &[0x0f, 0x18, 0x08][..],   // prefetcht0 [rax]
            &[0x41, 0x0f, 0x0d, 0x08], // prefetchw [r8]
        ] {
            assert!(names_line(mnemonic(bytes)) && !pushes_out(mnemonic(bytes)), "{bytes:02x?}");
        }
        assert!(!names_line(mnemonic(&[0x0f, 0xae, 0xf0]))); // mfence
    }
}
