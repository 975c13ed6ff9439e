//! A core's constants as times, derived once from the host file.

use cxlab_kernel::Time;

use super::{CoreParts, MicroOperationsSpec};
use crate::feed::{Class, Work};

/// Constants that the hot path adds up.
#[derive(Clone, Debug)]
pub struct Timing {
    /// a core cycle
    pub period: Time,
    /// load-to-use latency of an L1 hit
    pub l1: Time,
    /// load-to-use latency of an L2 hit
    pub l2: Time,
    /// from a mispredicted branch to the first instruction behind it
    pub refill: Time,
    /// an access to a device's registers
    pub device_access: Time,
    latency: [Time; Class::ALL.len()],
    /// width that an instruction takes, by its work
    micro_operations: [MicroOperations; Work::ALL.len()],
}

/// Units of width that an instruction takes: its own, and more for each line.
#[derive(Clone, Copy, Debug)]
struct MicroOperations {
    own: u8,
    each_line: u8,
    at_least: u8,
}

impl Timing {
    pub fn new(parts: CoreParts<'_>) -> Timing {
        let clock = *parts.core.frequency;
        let table = parts.latency;
        let cycles = |class| match class {
            Class::Move => 0,
            Class::Integer => table.integer.0,
            Class::Multiply => table.multiply.0,
            Class::Divide => table.divide.0,
            Class::Vector => table.vector.0,
            Class::FloatAdd => table.float_add.0,
            Class::FloatMultiply => table.float_multiply.0,
            Class::FloatDivide => table.float_divide.0,
            // The measured latency begins with the load.
            Class::Locked => table.locked.0.saturating_sub(parts.l1.latency.0),
            Class::LoadFence => table.load_fence.0,
            Class::StoreFence => 0,
            Class::Fence => table.fence.0,
            Class::Serialising | Class::SystemCall | Class::Microcode => table.serialising.0,
        };
        Timing {
            period: clock.period(),
            l1: clock.cycles(parts.l1.latency.0),
            l2: clock.cycles(parts.l2.latency.0),
            refill: clock.cycles(parts.core.branch_refill.0),
            device_access: *parts.core.device_access,
            latency: Class::ALL.map(|class| clock.cycles(cycles(class))),
            micro_operations: Work::ALL.map(|work| micro_operations(work, parts.micro_operations)),
        }
    }

    /// Latency from the last operand to the result.
    #[inline]
    pub fn latency(&self, class: Class) -> Time {
        self.latency[class as usize]
    }

    /// Units of width that an instruction with this many lines takes.
    #[inline]
    pub fn micro_operations(&self, work: Work, lines: usize) -> u8 {
        let MicroOperations { own, each_line, at_least } = self.micro_operations[work as usize];
        at_least.max(own + each_line * lines as u8)
    }
}

fn micro_operations(work: Work, spec: &MicroOperationsSpec) -> MicroOperations {
    let whole = |own| MicroOperations { own, each_line: 0, at_least: 0 };
    match work {
        Work::Single => whole(1),
        Work::ReadModifyWrite => whole(*spec.read_modify_write),
        Work::Call => whole(*spec.call),
        Work::Divide => whole(*spec.divide),
        Work::Locked => whole(*spec.locked),
        Work::Microcode => whole(*spec.microcode),
        // A row has at most a load and a store.
        Work::String => MicroOperations { each_line: 1, ..whole(*spec.string_begin) },
        Work::StringPart => MicroOperations { own: 0, each_line: 1, at_least: 1 },
    }
}
