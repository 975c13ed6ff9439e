//! Instructions that make a processor forget translations: mov to CR3 and CR4, invlpg, invpcid.
//!
//! ```text
//!   translation: known by their bytes -> a callback with the registers
//!   execution:   operands -> what is forgotten -> Invalidate, ahead of the instruction
//! ```
//!
//! Source: Intel SDM vol. 3, 4.10.4.1.

use std::ffi::c_void;

use cxlab_access::{Forget, Record};
use iced_x86::{Mnemonic, Register};

use crate::decoded::Decoded;
use crate::pages::Pages;
use crate::registers::Registers;
use crate::{mode, qemu, series, stream};

/// Whether the instruction is of this kind.
pub fn invalidates(code: &iced_x86::Instruction) -> bool {
    match code.mnemonic() {
        Mnemonic::Invlpg | Mnemonic::Invpcid => true,
        Mnemonic::Mov => matches!(code.op0_register(), Register::CR3 | Register::CR4),
        _ => false,
    }
}

/// One is about to be executed.
pub unsafe extern "C" fn on_invalidation(vcpu: u32, data: *mut c_void) {
    if !mode::tells() {
        return;
    }
    // SAFETY: the data of this callback.
    let Decoded { index, code } = unsafe { Decoded::of(data) };
    stream::with(|stream| {
        let vcpu = vcpu as usize;
        let forget = stream.feed.pages(vcpu).and_then(|pages| forgets(pages, vcpu, code));
        if let Some(forget) = forget {
            stream.feed.push(vcpu, Record::Invalidate { instruction: *index, forget });
        }
    });
}

/// Translations that the instruction is about to make the vCPU forget.
fn forgets(pages: &mut Pages, vcpu: usize, code: &iced_x86::Instruction) -> Option<Forget> {
    let registers = Registers::get();
    match (code.mnemonic(), code.op0_register()) {
        (Mnemonic::Mov, Register::CR3) => pages.move_to_cr3(vcpu, registers.read(code.op1_register())?),
        (Mnemonic::Mov, _) => pages.move_to_cr4(vcpu, registers.read(code.op1_register())?),
        (Mnemonic::Invlpg, _) => {
            let address = code.virtual_address(0, 0, |register, _, _| registers.read(register))?;
            pages.forget_page(vcpu, address)
        }
        (_, kind) => {
            let descriptor = code.virtual_address(1, 0, |register, _, _| registers.read(register))?;
            let (pcid, address) = read_descriptor(vcpu, descriptor)?;
            match registers.read(kind)? {
                0 if pages.uses(vcpu, pcid) => pages.forget_page(vcpu, address),
                // Another space than the one in use: its other pages are looked up anew too.
                0 | 1 => Some(pages.forget_all(Forget::Space { pcid })),
                2 => Some(pages.forget_all(Forget::Everything)),
                _ => Some(pages.forget_all(Forget::Spaces)),
            }
        }
    }
}

/// The process-context identifier and the linear address of an INVPCID descriptor (Intel SDM vol. 2, INVPCID).
fn read_descriptor(vcpu: usize, address: u64) -> Option<(u16, u64)> {
    const PAGE: u64 = 4096;
    let physical = qemu::physical_page(vcpu as u32, address & !(PAGE - 1))? + address % PAGE;
    Some(((series::read_physical(physical) & 0xfff) as u16, series::read_physical(physical + 8)))
}

#[cfg(test)]
mod tests {
    use iced_x86::{Decoder, DecoderOptions};

    use super::*;

    #[test]
    fn they_are_known_by_their_bytes() {
        let code = |bytes: &[u8]| Decoder::with_ip(64, bytes, 0, DecoderOptions::NONE).decode();
        for bytes in [
            &[0x0f, 0x22, 0xd8][..],         // mov cr3, rax
            &[0x0f, 0x22, 0xe0],             // mov cr4, rax
            &[0x0f, 0x01, 0x38],             // invlpg [rax]
            &[0x66, 0x0f, 0x38, 0x82, 0x01], // invpcid rax, [rcx]
        ] {
            assert!(invalidates(&code(bytes)), "{bytes:02x?}");
        }
        assert!(!invalidates(&code(&[0x0f, 0x20, 0xd8]))); // mov rax, cr3
        assert!(!invalidates(&code(&[0x0f, 0x22, 0xc0]))); // mov cr0, rax
    }
}
