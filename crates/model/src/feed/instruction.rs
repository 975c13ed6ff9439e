//! An instruction as the core sees it: registers in and out, class, whether it must touch memory.
//!
//! Decoded by iced-x86 from the bytes that QEMU translated.

use iced_x86::{FlowControl, InstructionInfoFactory, Mnemonic, OpAccess, Register};

use super::class::classify;
use super::{Class, Operands, RegisterSet, Touch, Work};

/// How an instruction may go on elsewhere than behind itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Branch {
    /// to a place that the instruction names
    Direct,
    /// to a named place, to come back
    Call,
    Conditional,
    /// to a place from a register or memory
    Indirect,
    IndirectCall,
    Return,
}

/// Where a branch went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// the instruction behind it, which also stands for the branch's own address
    pub next: u64,
    pub target: u64,
}

/// One decoded instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Instruction {
    /// what its memory addresses are made from
    pub address: RegisterSet,
    /// what else it reads
    pub data: RegisterSet,
    pub writes: RegisterSet,
    pub class: Class,
    pub branch: Option<Branch>,
    pub touch: Touch,
    pub work: Work,
    /// its memory operand `[B]`, 0 where it has none or one of no fixed size
    pub bytes: u8,
    /// it has a memory operand
    pub may_access: bool,
    /// it touches memory whenever it is executed to its end; where it did not, it was cut short by a fault
    pub must_access: bool,
    /// its registers, if it may be executed in line ([`Instruction::in_line`])
    pub operands: Option<Operands>,
}

impl Instruction {
    /// Decode what the core needs to know.
    pub fn new(code: &iced_x86::Instruction, factory: &mut InstructionInfoFactory) -> Instruction {
        let info = factory.info(code);
        let (mut address, mut reads, mut writes) = Default::default();
        for memory in info.used_memory() {
            RegisterSet::add(&mut address, memory.base());
            RegisterSet::add(&mut address, memory.index());
        }
        for used in info.used_registers() {
            let (read, written) = directions(used.access());
            if read {
                RegisterSet::add(&mut reads, used.register());
            }
            if written {
                RegisterSet::add(&mut writes, used.register());
            }
        }
        if code.rflags_read() != 0 {
            RegisterSet::add_flags(&mut reads);
        }
        if code.rflags_modified() != 0 {
            RegisterSet::add_flags(&mut writes);
        }
        let touches = info
            .used_memory()
            .iter()
            .any(|memory| matches!(memory.access(), OpAccess::Read | OpAccess::Write | OpAccess::ReadWrite));
        let class = classify(code, info.used_memory().is_empty());
        let touch = Touch::new(code, class);
        let work = Work::new(code, info, class);
        let data = reads.without(address);
        let in_line = Self::in_line(class, touch, work);
        Instruction {
            address,
            data,
            writes,
            operands: Operands::of(address, data, writes).filter(|_| in_line),
            class,
            branch: branch(code),
            touch,
            work,
            bytes: u8::try_from(code.memory_size().size()).unwrap_or(0),
            may_access: !info.used_memory().is_empty(),
            must_access: touches && !class.is_microcode() && !touch.is_silent() && is_plain(code),
        }
    }
}

impl Instruction {
    /// Whether it is a row like most: no fence, nothing that holds others back, no repetition, and its lines go through the
    /// caches.
    fn in_line(class: Class, touch: Touch, work: Work) -> bool {
        let class = match class {
            Class::Move | Class::Integer | Class::Multiply | Class::Divide | Class::Vector => true,
            Class::FloatAdd | Class::FloatMultiply | Class::FloatDivide => true,
            Class::Locked | Class::LoadFence | Class::StoreFence | Class::Fence => false,
            Class::Serialising | Class::SystemCall | Class::Microcode => false,
        };
        class && touch == Touch::Plain && !matches!(work, Work::String | Work::StringPart)
    }

    /// A later part of one that repeats: its addresses are counted up from those that the first has read.
    #[must_use]
    pub fn later_part(self) -> Instruction {
        let none = RegisterSet::default();
        Instruction { address: none, data: none, writes: none, work: Work::StringPart, operands: None, ..self }
    }
}

fn branch(code: &iced_x86::Instruction) -> Option<Branch> {
    Some(match code.flow_control() {
        FlowControl::UnconditionalBranch => Branch::Direct,
        FlowControl::ConditionalBranch => Branch::Conditional,
        FlowControl::Call if code.is_call_near() => Branch::Call,
        FlowControl::IndirectBranch => Branch::Indirect,
        FlowControl::IndirectCall => Branch::IndirectCall,
        FlowControl::Return if matches!(code.mnemonic(), Mnemonic::Ret) => Branch::Return,
        _ => return None,
    })
}

fn directions(access: OpAccess) -> (bool, bool) {
    match access {
        OpAccess::Read | OpAccess::CondRead => (true, false),
        OpAccess::Write => (false, true),
        // A conditional write keeps the old value where the condition fails: it reads it.
        OpAccess::CondWrite | OpAccess::ReadWrite | OpAccess::ReadCondWrite => (true, true),
        _ => (false, false),
    }
}

/// Whether QEMU tells a touch of each memory operand on every execution that does not fault. That excludes repetition
/// (which may be zero times), gathers, masks, and instructions that load machine state.
fn is_plain(code: &iced_x86::Instruction) -> bool {
    let repeats = code.has_rep_prefix() || code.has_repne_prefix();
    let masked = code.op_mask() != Register::None || code.is_vsib();
    let state = matches!(
        code.mnemonic(),
        Mnemonic::Vmaskmovps
            | Mnemonic::Vmaskmovpd
            | Mnemonic::Vpmaskmovd
            | Mnemonic::Vpmaskmovq
            | Mnemonic::Maskmovq
            | Mnemonic::Maskmovdqu
            | Mnemonic::Vmaskmovdqu
            | Mnemonic::Bound
            | Mnemonic::Enter
            | Mnemonic::Cmpxchg8b
            | Mnemonic::Cmpxchg16b
    );
    let system = code.is_privileged()
        || matches!(
            code.flow_control(),
            FlowControl::Interrupt | FlowControl::Exception | FlowControl::XbeginXabortXend
        );
    let hint = matches!(code.mnemonic(), Mnemonic::Cldemote | Mnemonic::Nop | Mnemonic::Lea);
    !(repeats || masked || state || system || hint)
}

#[cfg(test)]
mod tests {
    use iced_x86::{Decoder, DecoderOptions};

    use super::*;

    fn decode(bytes: &[u8]) -> Instruction {
        let code = Decoder::with_ip(64, bytes, 0, DecoderOptions::NONE).decode();
        assert!(!code.is_invalid(), "{bytes:02x?}");
        Instruction::new(&code, &mut InstructionInfoFactory::new())
    }

    const RAX: usize = 0;
    const RCX: usize = 1;
    const FLAGS: usize = 56;

    #[test]
    fn a_load_depends_on_its_address_alone() {
        let load = decode(&[0x48, 0x8b, 0x00]); // mov rax, [rax]
        assert_eq!(load.address.collect::<Vec<_>>(), [RAX]);
        assert!(load.data.is_empty() && load.must_access);
        assert_eq!((load.writes.collect::<Vec<_>>(), load.class), (vec![RAX], Class::Move));
    }

    #[test]
    fn a_reduction_waits_for_its_sum_but_its_load_does_not() {
        let add = decode(&[0x48, 0x03, 0x01]); // add rax, [rcx]
        assert_eq!((add.address.collect::<Vec<_>>(), add.data.collect::<Vec<_>>()), (vec![RCX], vec![RAX]));
        assert_eq!((add.writes.collect::<Vec<_>>(), add.class), (vec![RAX, FLAGS], Class::Integer));
    }

    #[test]
    fn a_register_that_is_set_to_zero_depends_on_nothing() {
        let zero = decode(&[0x31, 0xc0]); // xor eax, eax
        assert!(zero.data.is_empty() && zero.address.is_empty());
        assert!(zero.writes.into_iter().any(|register| register == RAX));
    }

    #[test]
    fn what_may_not_touch_memory_does_not_have_to() {
        assert!(decode(&[0x50]).must_access); // push rax
        for (bytes, what) in [
            (&[0xf3, 0xa4][..], "rep movsb"),
            (&[0x0f, 0x18, 0x08], "prefetcht0 [rax]"),
            (&[0x48, 0x8d, 0x00], "lea rax, [rax]"),
            (&[0x0f, 0xae, 0x38], "clflush [rax]"),
            (&[0x48, 0x0f, 0xc7, 0x20], "xsavec64 [rax]"),
            (&[0x48, 0xcf], "iretq"),
        ] {
            assert!(!decode(bytes).must_access, "{what}");
        }
    }

    #[test]
    fn branches_are_told_apart() {
        for (bytes, wanted) in [
            (&[0x74, 0x00][..], Some(Branch::Conditional)),
            (&[0xeb, 0x00], Some(Branch::Direct)),
            (&[0xe8, 0, 0, 0, 0], Some(Branch::Call)),
            (&[0xff, 0xe0], Some(Branch::Indirect)),     // jmp rax
            (&[0xff, 0xd0], Some(Branch::IndirectCall)), // call rax
            (&[0xc3], Some(Branch::Return)),
            (&[0x0f, 0x05], None), // syscall
            (&[0x90], None),
        ] {
            assert_eq!(decode(bytes).branch, wanted, "{bytes:02x?}");
        }
    }

    #[test]
    fn classes_follow_the_operation() {
        assert_eq!(decode(&[0x48, 0xf7, 0xf1]).class, Class::Divide); // div rcx
        assert_eq!(decode(&[0xf0, 0x48, 0x01, 0x08]).class, Class::Locked); // lock add [rax], rcx
        assert_eq!(decode(&[0xf2, 0x0f, 0x58, 0xc1]).class, Class::FloatAdd); // addsd xmm0, xmm1
        assert_eq!(decode(&[0xc4, 0xe2, 0xf1, 0x98, 0xc2]).class, Class::FloatMultiply); // vfmadd132pd
        assert_eq!(decode(&[0x66, 0x0f, 0xef, 0xc8]).class, Class::Vector); // pxor xmm1, xmm0
        assert_eq!(decode(&[0xf3, 0x0f, 0x6f, 0x00]).class, Class::Move); // movdqu xmm0, [rax]
    }
}
