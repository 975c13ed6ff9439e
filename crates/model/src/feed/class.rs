//! Classes of instructions: how long one takes, and what it waits for.

use iced_x86::{Mnemonic, Register};

/// How long an instruction takes once its operands are there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// moves to and from memory, NOPs: no execution of their own
    Move,
    Integer,
    Multiply,
    Divide,
    Vector,
    FloatAdd,
    FloatMultiply,
    FloatDivide,
    /// a read-modify-write that nobody can come between
    Locked,
    /// lfence: nothing behind it begins before it is done
    LoadFence,
    /// sfence: no store behind it leaves the core before those ahead of it have
    StoreFence,
    /// mfence: both, and it waits for the stores ahead of it
    Fence,
    /// cpuid and the like: nothing behind it begins before it and the stores ahead of it are done
    Serialising,
    /// syscall and sysret: nothing behind it begins before it is done; stores ahead of it may still be on their way
    SystemCall,
    /// swapgs, xsave and the like: long, and no barrier to anything
    Microcode,
}

impl Class {
    pub const ALL: [Class; 15] = [
        Class::Move,
        Class::Integer,
        Class::Multiply,
        Class::Divide,
        Class::Vector,
        Class::FloatAdd,
        Class::FloatMultiply,
        Class::FloatDivide,
        Class::Locked,
        Class::LoadFence,
        Class::StoreFence,
        Class::Fence,
        Class::Serialising,
        Class::SystemCall,
        Class::Microcode,
    ];

    /// It is dispatched when every store ahead of it has left the core (Intel SDM vol. 3, 8.2.5, 8.3 and 11.3.1).
    #[must_use]
    pub fn awaits_stores(self) -> bool {
        matches!(self, Class::Fence | Class::Serialising)
    }

    /// Nothing behind it is dispatched before it is done.
    #[must_use]
    pub fn holds_dispatch(self) -> bool {
        matches!(self, Class::LoadFence | Class::Fence | Class::Serialising | Class::SystemCall)
    }

    /// It is microcode, which need not touch the lines that its operand names.
    #[must_use]
    pub fn is_microcode(self) -> bool {
        matches!(self, Class::Serialising | Class::SystemCall | Class::Microcode)
    }
}

pub(super) fn classify(code: &iced_x86::Instruction, no_memory: bool) -> Class {
    use Mnemonic as M;
    let name = code.mnemonic();
    match name {
        M::Lfence => return Class::LoadFence,
        M::Sfence => return Class::StoreFence,
        M::Mfence => return Class::Fence,
        // Intel SDM vol. 3, 8.3: these serialise, and of the instructions below none does.
        M::Cpuid | M::Serialize | M::Iretq | M::Iret | M::Wrmsr | M::Invlpg | M::Invpcid => return Class::Serialising,
        // Vol. 2, SYSCALL and SYSRET: what follows does not execute before all ahead has; data stored ahead of it may become
        // visible later.
        M::Syscall | M::Sysretq => return Class::SystemCall,
        M::Swapgs
        | M::Xsave
        | M::Xsaveopt
        | M::Xsavec
        | M::Xsaves
        | M::Xrstor
        | M::Xrstors
        | M::Fxsave
        | M::Fxrstor
        | M::Fxsave64
        | M::Fxrstor64
        | M::Xsave64
        | M::Xsaveopt64
        | M::Xsavec64
        | M::Xsaves64
        | M::Xrstor64
        | M::Xrstors64 => return Class::Microcode,
        M::Mov if code.op0_register().is_cr() => return Class::Serialising,
        M::Xchg if !no_memory => return Class::Locked,
        M::Imul | M::Mul | M::Mulx => return Class::Multiply,
        M::Div | M::Idiv => return Class::Divide,
        M::Nop | M::Endbr64 => return Class::Move,
        _ => {}
    }
    if code.has_lock_prefix() {
        return Class::Locked;
    }
    let vector = code.op_count() > 0 && (0..code.op_count()).any(|op| is_vector(code.op_register(op)));
    if vector {
        return classify_vector(&format!("{name:?}"), !no_memory);
    }
    let pure_move = matches!(name, M::Mov | M::Movzx | M::Movsx | M::Movsxd | M::Push | M::Pop | M::Call | M::Ret);
    if pure_move && !no_memory { Class::Move } else { Class::Integer }
}

fn is_vector(register: Register) -> bool {
    register.is_vector_register()
}

/// Vector instructions by their names: what moves, what adds, what multiplies, what divides, the rest.
fn classify_vector(name: &str, memory: bool) -> Class {
    let name = name.strip_prefix('V').unwrap_or(name);
    let name = name.to_ascii_lowercase();
    let float = ["ps", "pd", "ss", "sd"].iter().any(|suffix| name.ends_with(suffix));
    let starts = |prefixes: &[&str]| prefixes.iter().any(|prefix| name.starts_with(prefix));
    if starts(&["mov", "lddqu", "broadcast", "pbroadcast"]) && memory {
        Class::Move
    } else if float && starts(&["div", "sqrt"]) {
        Class::FloatDivide
    } else if starts(&["mul", "fmadd", "fmsub", "fnmadd", "fnmsub", "pmul", "pmadd"]) {
        Class::FloatMultiply
    } else if (float && starts(&["add", "sub", "min", "max", "cmp", "hadd"])) || starts(&["cvt", "comis", "ucomis"]) {
        Class::FloatAdd
    } else {
        Class::Vector
    }
}
