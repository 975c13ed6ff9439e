//! Instructions that name a line and that QEMU passes over: clflush, clflushopt, clwb and the prefetches.
//!
//! ```text
//!   translation: known by their bytes -> a callback with the registers
//!   execution:   registers -> effective address -> the guest's page tables -> Access, as if the line were touched
//! ```
//!
//! An address without a page, or of a device, is told of no more than silicon would do about it: a prefetch there is
//! dropped, and Linux flushes no such line. Source: Intel SDM vol. 2 (CLFLUSH, CLFLUSHOPT, CLWB, PREFETCHh).

use std::collections::HashMap;
use std::ffi::{CStr, c_void};
use std::sync::OnceLock;

use cxlab_access::record::MemoryAccess;
use iced_x86::{Code, Decoder, DecoderOptions, Mnemonic, Register};

use crate::api::{self, ByteArray, RegisterDescriptor};
use crate::{mode, qemu, stream};

/// Bytes of a page, as a power of two: translations are asked for by page.
const PAGE_SHIFT: u32 = 12;
/// Bytes of a line, as a power of two.
const LINE_SHIFT: u8 = 6;

/// A translated instruction of this kind; lives as long as the process, as its translation may.
struct NamedLine {
    /// its index in its block
    index: u16,
    code: iced_x86::Instruction,
}

/// QEMU's handles of the registers, by their names in its description for gdb.
struct Registers(HashMap<String, *mut c_void>);

// SAFETY: handles are constants of QEMU's.
unsafe impl Send for Registers {}
// SAFETY: as above.
unsafe impl Sync for Registers {}

static REGISTERS: OnceLock<Registers> = OnceLock::new();

/// Lay the callback, if the instruction is one of them.
pub fn instrument(instruction: *mut api::Instruction, index: usize, bytes: &[u8]) {
    if !bytes.contains(&0x0f) {
        return;
    }
    // SAFETY: the instruction is being translated.
    let at = unsafe { api::qemu_plugin_insn_vaddr(instruction) };
    let code = Decoder::with_ip(64, bytes, at, DecoderOptions::NONE).decode();
    if code.code() == Code::INVALID || !names_line(code.mnemonic()) {
        return;
    }
    let data = Box::leak(Box::new(NamedLine { index: index as u16, code }));
    // SAFETY: the callback and its data live as long as the process.
    unsafe {
        let data = std::ptr::from_mut(data).cast();
        api::qemu_plugin_register_vcpu_insn_exec_cb(instruction, on_named_line, api::READ_REGISTERS, data);
    }
}

fn names_line(mnemonic: Mnemonic) -> bool {
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

unsafe extern "C" fn on_named_line(vcpu: u32, data: *mut c_void) {
    if !mode::tells() {
        return;
    }
    // SAFETY: the data of this callback is a leaked `NamedLine`.
    let NamedLine { index, code } = unsafe { &*data.cast::<NamedLine>() };
    let registers = REGISTERS.get_or_init(Registers::find);
    let Some(address) = code.virtual_address(0, 0, |register, _, _| registers.read(register)) else { return };
    let page = address >> PAGE_SHIFT << PAGE_SHIFT;
    let Some(physical) = qemu::physical_page(vcpu, page) else { return };
    stream::with(|stream| {
        stream.access(
            vcpu as usize,
            MemoryAccess {
                instruction: *index,
                size_log2: LINE_SHIFT,
                store: pushes_out(code.mnemonic()),
                physical: physical + (address - page),
                virtual_page: address >> PAGE_SHIFT,
                device: false,
            },
        );
    });
}

impl Registers {
    /// Called on a vCPU's thread.
    fn find() -> Registers {
        // SAFETY: QEMU gives an array of descriptors whose names it keeps.
        let all = unsafe {
            let array = api::qemu_plugin_get_registers();
            std::slice::from_raw_parts((*array).data.cast::<RegisterDescriptor>(), (*array).length as usize)
        };
        // SAFETY: the names are C strings that QEMU keeps.
        let name = |register: &RegisterDescriptor| unsafe { CStr::from_ptr(register.name) };
        let named = |register| (name(register).to_string_lossy().into_owned(), register.handle);
        Registers(all.iter().map(named).collect())
    }

    /// The value; `None` of what QEMU does not show. Linux gives all segments but FS and GS the base 0.
    fn read(&self, register: Register) -> Option<u64> {
        let name = match register {
            Register::ES | Register::CS | Register::SS | Register::DS => return Some(0),
            Register::FS => "fs_base".to_owned(),
            Register::GS => "gs_base".to_owned(),
            other => format!("{:?}", other.full_register()).to_lowercase(),
        };
        let handle = *self.0.get(&name)?;
        // SAFETY: a growing array of glib's, and a handle of QEMU's.
        let value = unsafe {
            let bytes: *mut ByteArray = api::g_byte_array_new();
            let length = api::qemu_plugin_read_register(handle, bytes);
            let read = std::slice::from_raw_parts((*bytes).data, usize::try_from(length).unwrap_or(0));
            let value = <[u8; 8]>::try_from(read).ok().map(u64::from_le_bytes);
            api::g_byte_array_unref(bytes);
            value?
        };
        Some(if register.is_gpr32() { value & 0xffff_ffff } else { value })
    }
}

#[cfg(test)]
mod tests {
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
