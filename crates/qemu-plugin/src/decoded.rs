//! Instructions whose operands the model is told of: decoded where they are translated, their registers read where they
//! are executed.
//!
//! ```text
//!   translation: known by their bytes -> a callback with the registers
//!   execution:   named_line: a line    invalidation: translations to forget
//! ```

use std::ffi::c_void;

use iced_x86::{Code, Decoder, DecoderOptions};

use crate::{api, invalidation, named_line};

/// A translated instruction of this kind; lives as long as the process, as its translation may.
pub struct Decoded {
    /// its index in its block
    pub index: u16,
    pub code: iced_x86::Instruction,
}

impl Decoded {
    /// What a callback that was laid here is given.
    ///
    /// # Safety
    /// `data` is that of such a callback.
    pub unsafe fn of<'a>(data: *mut c_void) -> &'a Decoded {
        // SAFETY: it was leaked, and nobody changes it.
        unsafe { &*data.cast() }
    }
}

/// Lay the callback, if the instruction is one of them: all have the opcode byte 0F.
pub fn instrument(instruction: *mut api::Instruction, index: usize, bytes: &[u8]) {
    if !bytes.contains(&0x0f) {
        return;
    }
    // SAFETY: the instruction is being translated.
    let at = unsafe { api::qemu_plugin_insn_vaddr(instruction) };
    let code = Decoder::with_ip(64, bytes, at, DecoderOptions::NONE).decode();
    let callback = if code.code() == Code::INVALID {
        return;
    } else if named_line::names_line(code.mnemonic()) {
        named_line::on_named_line
    } else if invalidation::invalidates(&code) {
        invalidation::on_invalidation
    } else {
        return;
    };
    let data = Box::leak(Box::new(Decoded { index: index as u16, code }));
    // SAFETY: the callback and its data live as long as the process.
    unsafe {
        let data = std::ptr::from_mut(data).cast();
        api::qemu_plugin_register_vcpu_insn_exec_cb(instruction, callback, api::READ_REGISTERS, data);
    }
}
