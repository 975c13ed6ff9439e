//! How much of the core's width an instruction takes: a closed set, counted in the host file.

use iced_x86::{FlowControl, InstructionInfo, OpAccess};

use super::Class;

/// The property of an instruction that decides the number of its micro-operations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Work {
    /// one, with a load or a store fused into it
    #[default]
    Single,
    /// it loads, computes and stores to the same place
    ReadModifyWrite,
    Call,
    Divide,
    Locked,
    /// exchanges with other microcode: cpuid, fences, system calls
    Microcode,
    /// the beginning of an instruction that may repeat, and its first line
    String,
    /// each further line of it
    StringPart,
}

impl Work {
    pub const ALL: [Work; 8] = [
        Work::Single,
        Work::ReadModifyWrite,
        Work::Call,
        Work::Divide,
        Work::Locked,
        Work::Microcode,
        Work::String,
        Work::StringPart,
    ];

    pub(super) fn new(code: &iced_x86::Instruction, info: &InstructionInfo, class: Class) -> Work {
        let repeats = code.has_rep_prefix() || code.has_repne_prefix();
        if repeats && code.is_string_instruction() {
            return Work::String;
        }
        if matches!(code.flow_control(), FlowControl::Call | FlowControl::IndirectCall) {
            return Work::Call;
        }
        match class {
            Class::Divide => Work::Divide,
            Class::Locked => Work::Locked,
            Class::Serialising | Class::SystemCall | Class::Microcode => Work::Microcode,
            Class::LoadFence | Class::StoreFence | Class::Fence => Work::Microcode,
            _ => {
                let writes = |access| matches!(access, OpAccess::ReadWrite | OpAccess::ReadCondWrite);
                let changes = info.used_memory().iter().any(|memory| writes(memory.access()));
                if changes { Work::ReadModifyWrite } else { Work::Single }
            }
        }
    }
}
