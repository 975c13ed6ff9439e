//! A translated block: its instructions, decoded once.

use iced_x86::{Decoder, DecoderOptions, InstructionInfoFactory, Mnemonic};

use super::Instruction;

/// Instructions that QEMU executes from the first on, until a jump or a fault.
#[derive(Clone, Debug)]
pub struct Block {
    /// virtual address of the first instruction
    pub pc: u64,
    /// virtual address behind the last one
    pub end: u64,
    pub instructions: Box<[Instruction]>,
    /// the bytes that were translated, and where each instruction begins in them
    pub code: Box<[u8]>,
    pub begins: Box<[u16]>,
    /// for each of them, the first from it on that must touch memory or branches; their number where none does
    pub plain_until: Box<[u16]>,
    /// it runs in the upper half of the address space, where x86-64 Linux keeps its kernel
    /// (Documentation/arch/x86/x86_64/mm.rst)
    pub kernel: bool,
    /// its last instruction is PAUSE: QEMU ends a block there, to let another vCPU run
    pub pauses: bool,
}

impl Block {
    /// Decode the `code` that QEMU translated at virtual address `pc`.
    #[must_use]
    pub fn decode(pc: u64, code: &[u8]) -> Block {
        let mut factory = InstructionInfoFactory::new();
        let mut decoder = Decoder::with_ip(64, code, pc, DecoderOptions::NONE);
        let mut last = Mnemonic::INVALID;
        let mut begins = Vec::new();
        let decoded = decoder.iter().map(|code| {
            last = code.mnemonic();
            begins.push(code.ip().wrapping_sub(pc) as u16);
            Instruction::new(&code, &mut factory)
        });
        let instructions: Box<[Instruction]> = decoded.collect();
        let (kernel, pauses) = (pc >> 63 == 1, last == Mnemonic::Pause);
        Block {
            pc,
            end: pc.wrapping_add(code.len() as u64),
            plain_until: plain_until(&instructions),
            instructions,
            code: code.into(),
            begins: begins.into(),
            kernel,
            pauses,
        }
    }
}

fn plain_until(instructions: &[Instruction]) -> Box<[u16]> {
    let mut until: Box<[u16]> = (0..instructions.len() as u16).collect();
    let mut first = instructions.len() as u16;
    for (place, instruction) in instructions.iter().enumerate().rev() {
        if instruction.must_access || instruction.branch.is_some() {
            first = place as u16;
        }
        until[place] = first;
    }
    until
}
