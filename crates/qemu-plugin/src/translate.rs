//! Translation: which callbacks a block gets.

use std::ffi::c_void;

use cxlab_access::Marker;
use iced_x86::{Code, Decoder, DecoderOptions};

use crate::api::{self, Block, Instruction};
use crate::decoded::Decoded;
use crate::stream::{self, BlockData};
use crate::{callbacks, clock, invalidation, mode, named_line, region, turns, window};

/// Longest instruction of x86 (Intel SDM vol. 2, 2.3.11) `[B]`.
const LONGEST: usize = 15;
/// HLT (Intel SDM vol. 2A).
const HLT: u8 = 0xf4;
/// PAUSE (Intel SDM vol. 2B).
const PAUSE: [u8; 2] = [0xf3, 0x90];

/// QEMU has translated a block.
pub fn block(block: *mut Block) {
    window::at_translation();
    // SAFETY: the block is valid during this call.
    let (count, pc) = unsafe { (api::qemu_plugin_tb_n_insns(block), api::qemu_plugin_tb_vaddr(block)) };
    let detail = mode::tells();
    let mut code = [0u8; 512 * LONGEST];
    let mut length = 0;
    for index in 0..count {
        // SAFETY: index is below the number of instructions.
        let instruction = unsafe { api::qemu_plugin_tb_get_insn(block, index) };
        let bytes = read(instruction, &mut code[length..]);
        instrument(instruction, index, &code[length..length + bytes], detail);
        length += bytes;
    }
    if detail {
        let id = stream::with(|stream| stream.feed.define(pc, &code[..length]));
        // QEMU ends a block there.
        let pauses = code[..length].ends_with(&PAUSE);
        let data = BlockData::new(id, pc, count as u64, pauses).as_pointer();
        let callback = if turns::several() { callbacks::on_block_of_several } else { callbacks::on_block };
        // SAFETY: the block is being translated; the callback lives as long as the process.
        unsafe { api::qemu_plugin_register_vcpu_tb_exec_cb(block, callback, api::NO_REGISTERS, data) };
    } else {
        clock::instrument(block, count as u64);
    }
}

fn read(instruction: *const Instruction, to: &mut [u8]) -> usize {
    // SAFETY: copies at most the space that is left, which holds the longest block.
    unsafe {
        let size = api::qemu_plugin_insn_size(instruction).min(to.len());
        api::qemu_plugin_insn_data(instruction, to.as_mut_ptr().cast(), size)
    }
}

fn instrument(instruction: *mut Instruction, index: usize, bytes: &[u8], detail: bool) {
    let data = index as *mut c_void;
    // SAFETY: the instruction is being translated; the callbacks live as long as the process.
    unsafe {
        let marker = Marker::from_instruction(bytes);
        if detail && (reads_clock(bytes) || reads_counters_of_several(marker)) {
            let callback =
                if turns::several() { callbacks::on_clock_read_of_several } else { callbacks::on_clock_read };
            api::qemu_plugin_register_vcpu_insn_exec_cb(instruction, callback, api::NO_REGISTERS, data);
        }
        if let Some(marker) = marker {
            let id = usize::from(marker.id()) as *mut c_void;
            api::qemu_plugin_register_vcpu_insn_exec_cb(instruction, region::on_marker, api::NO_REGISTERS, id);
        }
        if detail {
            if turns::several() && bytes == PAUSE {
                api::qemu_plugin_register_vcpu_insn_exec_cb(instruction, callbacks::on_pause, api::NO_REGISTERS, data);
            }
            if turns::several() && bytes == [HLT] {
                let (callback, nothing) = (callbacks::on_halt, std::ptr::null_mut());
                api::qemu_plugin_register_vcpu_insn_exec_cb(instruction, callback, api::NO_REGISTERS, nothing);
            }
            instrument_decoded(instruction, index, bytes);
            lay_on_memory(instruction, bytes, data);
        } else if turns::several() && bytes == PAUSE {
            clock::instrument_pause(instruction);
        } else if may_notify(bytes) {
            let (callback, nothing) = (callbacks::on_notify, std::ptr::null_mut());
            api::qemu_plugin_register_vcpu_mem_cb(instruction, callback, api::NO_REGISTERS, api::WRITE, nothing);
        }
    }
}

/// Lay the callbacks of an instruction that touches memory. Of one of several vCPUs, a plain store to what a locked instruction has
/// touched gives back a lock. Where that was learnt, the store gets a callback of its own before it.
fn lay_on_memory(instruction: *mut Instruction, bytes: &[u8], index: *mut c_void) {
    let lay = |callback: api::MemoryCallback, access, data| {
        // SAFETY: the instruction is being translated; the callback lives as long as the process.
        unsafe { api::qemu_plugin_register_vcpu_mem_cb(instruction, callback, api::NO_REGISTERS, access, data) }
    };
    if repeats(bytes) {
        lay(callbacks::on_repeat, api::READ_AND_WRITE, index);
    } else if turns::several() && is_locked(bytes) {
        lay(callbacks::on_locked, api::READ_AND_WRITE, index);
    } else if turns::several() && may_release(bytes) {
        // SAFETY: the instruction is being translated; the callback lives as long as the process.
        let at = unsafe { api::qemu_plugin_insn_vaddr(instruction) };
        let is_release = stream::with(|stream| {
            if clears_byte(bytes) {
                stream.releases.know(at);
            }
            stream.releases.knows(at)
        });
        if is_release {
            // SAFETY: as above.
            unsafe {
                let callback = callbacks::on_release;
                api::qemu_plugin_register_vcpu_insn_exec_cb(instruction, callback, api::NO_REGISTERS, index);
            }
        }
        let data = (at << 16 | index as u64) as *mut c_void;
        lay(callbacks::on_store_of_several, api::READ_AND_WRITE, data);
    } else {
        lay(callbacks::on_memory, api::READ_AND_WRITE, index);
    }
}

/// Lay the callback of an instruction that names a line or invalidates translations: all have the opcode byte 0F.
fn instrument_decoded(instruction: *mut Instruction, index: usize, bytes: &[u8]) {
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
    let data = Decoded::keep(index as u16, code);
    // SAFETY: the callback lives as long as the process, and its data as long as the translation.
    unsafe {
        api::qemu_plugin_register_vcpu_insn_exec_cb(instruction, callback, api::READ_REGISTERS, data);
    }
}

/// A store of 16 bits from a register (66 89 /r, Intel SDM vol. 2B): a driver notifies a queue so (virtio 1.2, 4.1.4.4).
fn may_notify(bytes: &[u8]) -> bool {
    const REGISTER: u8 = 0xc0;
    matches!(bytes, [0x66, 0x89, operand, ..] if operand & REGISTER != REGISTER)
}

/// A string instruction with a prefix F2 or F3, as the model knows one (crates/model/src/feed/work.rs).
fn repeats(bytes: &[u8]) -> bool {
    if !bytes.iter().any(|byte| matches!(byte, 0xf2 | 0xf3)) {
        return false;
    }
    let code = Decoder::new(64, bytes, DecoderOptions::NONE).decode();
    code.is_string_instruction() && (code.has_rep_prefix() || code.has_repne_prefix())
}

/// Whether an instruction reads and writes memory in one. It has the prefix F0, or is XCHG with memory, which is 86 /r or 87 /r.
/// Source: Intel SDM vol. 2, 2.1.1, and vol. 3, 8.1.2.2.
fn is_locked(bytes: &[u8]) -> bool {
    matches!(behind_prefixes(bytes), [0xf0, ..]) || touches_by(bytes, &[0x86, 0x87])
}

/// Whether an instruction is MOV to memory, from a register or of a number. Nothing else gives back a lock with a plain store.
/// Source: 88 /r, 89 /r, C6 /0 and C7 /0 (Intel SDM vol. 2B).
fn may_release(bytes: &[u8]) -> bool {
    touches_by(bytes, &[0x88, 0x89, 0xc6, 0xc7])
}

/// Whether an instruction clears a byte of memory, as Linux's spin locks and C's atomic flags are given back. They need not be
/// learnt: each time, QEMU would translate all anew, in a tenth of a second.
fn clears_byte(bytes: &[u8]) -> bool {
    touches_by(bytes, &[0xc6]) && bytes.last() == Some(&0)
}

/// Whether an instruction has one of these opcodes, and its operand is memory.
fn touches_by(bytes: &[u8], opcodes: &[u8]) -> bool {
    const REGISTER: u8 = 0xc0;
    match behind_prefixes(bytes) {
        [0x40..=0x4f, opcode, operand, ..] | [opcode, operand, ..] => {
            opcodes.contains(opcode) && operand & REGISTER != REGISTER
        }
        _ => false,
    }
}

/// An instruction without its legacy prefixes, but for LOCK (Intel SDM vol. 2, 2.1.1).
fn behind_prefixes(bytes: &[u8]) -> &[u8] {
    const PREFIXES: [u8; 10] = [0x66, 0x67, 0xf2, 0xf3, 0x2e, 0x36, 0x3e, 0x26, 0x64, 0x65];
    let prefixes = bytes.iter().take_while(|byte| PREFIXES.contains(byte)).count();
    &bytes[prefixes..]
}

/// rdtsc is 0F 31, rdtscp 0F 01 F9 (Intel SDM vol. 2B).
fn reads_clock(bytes: &[u8]) -> bool {
    let opcode = bytes.iter().position(|byte| *byte == 0x0f).map(|at| &bytes[at..]);
    matches!(opcode, Some([0x0f, 0x31] | [0x0f, 0x01, 0xf9])) && bytes.len() <= 4
}

/// One of several vCPUs asks for the counters as it reads the clock: when none is behind it. The model answers at once then,
/// and needs nothing that another vCPU has yet to do.
fn reads_counters_of_several(marker: Option<Marker>) -> bool {
    marker == Some(Marker::Counters) && turns::several()
}

#[cfg(test)]
mod tests {
    use super::{clears_byte, is_locked, may_notify, may_release, reads_clock, repeats};

    #[test]
    fn clock_reads_are_known_by_their_bytes() {
        assert!(reads_clock(&[0x0f, 0x31]) && reads_clock(&[0x0f, 0x01, 0xf9]));
        assert!(!reads_clock(&[0x0f, 0x01, 0xd0])); // xgetbv
        assert!(!reads_clock(&[0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0])); // nop
    }

    #[test]
    fn string_instructions_with_a_prefix_repeat() {
        assert!(repeats(&[0xf3, 0x48, 0xab]) && repeats(&[0xf3, 0xa4])); // rep stosq, rep movsb
        assert!(repeats(&[0xf2, 0xae]) && repeats(&[0x67, 0xf3, 0xaa])); // repne scasb, rep stosb %es:(%edi)
        assert!(!repeats(&[0xa4]) && !repeats(&[0xf3, 0x90]) && !repeats(&[0xf3, 0x0f, 0x6f, 0x06])); // movsb, pause, movdqu
        assert!(!repeats(&[]));
    }

    #[test]
    fn locked_instructions_are_known_by_their_bytes() {
        assert!(is_locked(&[0xf0, 0x48, 0x0f, 0xb1, 0x17])); // lock cmpxchg %rdx,(%rdi)
        assert!(is_locked(&[0x66, 0xf0, 0x0f, 0xc1, 0x07])); // lock xadd %ax,(%rdi)
        assert!(is_locked(&[0x86, 0x07]) && is_locked(&[0x48, 0x87, 0x07])); // xchg %al,(%rdi), xchg %rax,(%rdi)
        assert!(!is_locked(&[0x87, 0xc3]) && !is_locked(&[0x48, 0x87, 0xd9])); // xchg %eax,%ebx, xchg %rbx,%rcx
        assert!(!is_locked(&[0x89, 0xf0]) && !is_locked(&[])); // mov %esi,%eax
    }

    #[test]
    fn a_move_to_memory_may_give_back_a_lock() {
        assert!(may_release(&[0xc6, 0x07, 0x00])); // movb $0,(%rdi)
        assert!(may_release(&[0xc7, 0x45, 0xfc, 0, 0, 0, 0])); // movl $0,-4(%rbp)
        assert!(may_release(&[0x48, 0x89, 0x07]) && may_release(&[0x44, 0x88, 0x07])); // mov %rax,(%rdi), mov %r8b,(%rdi)
        assert!(clears_byte(&[0xc6, 0x07, 0x00]) && !clears_byte(&[0xc6, 0x07, 0x01]) && !clears_byte(&[0x88, 0x07]));
        assert!(!may_release(&[0x48, 0x89, 0xc7]) && !may_release(&[0x8b, 0x07])); // mov %rax,%rdi, mov (%rdi),%eax
    }

    #[test]
    fn a_notification_is_a_store_of_sixteen_bits() {
        assert!(may_notify(&[0x66, 0x89, 0x3e])); // mov %di,(%rsi): Linux's iowrite16
        assert!(!may_notify(&[0x66, 0x89, 0xf7])); // mov %si,%di
        assert!(!may_notify(&[0x89, 0x3e])); // mov %edi,(%rsi)
    }
}
