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
        let decoded = decoder.iter().map(|code| {
            last = code.mnemonic();
            Instruction::new(&code, &mut factory)
        });
        let instructions = decoded.collect();
        Block { pc, end: pc + code.len() as u64, instructions, kernel: pc >> 63 == 1, pauses: last == Mnemonic::Pause }
    }
}
