//! A core's constants, as times: derived once from the host file.

use cxlab_kernel::Time;

use super::{CoreParts, MicroOperationsSpec};
use crate::feed::{Class, Work};

/// What the hot path adds up.
#[derive(Clone, Debug)]
pub struct Timing {
    /// a cycle
    pub period: Time,
    /// load to use of an L1 hit
    pub l1: Time,
    /// load to use of an L2 hit
    pub l2: Time,
    /// from a branch that was not guessed to the first instruction behind it
    pub refill: Time,
    /// an access to a device's registers
    pub device_access: Time,
    latency: [Time; Class::ALL.len()],
    micro_operations: MicroOperationsSpec,
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
            // What was measured begins with the load.
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
            micro_operations: parts.micro_operations.clone(),
        }
    }

    /// From the last operand to the result.
    #[inline]
    pub fn latency(&self, class: Class) -> Time {
        self.latency[class as usize]
    }

    /// Units of width that an instruction with so many lines takes.
    #[inline]
    pub fn micro_operations(&self, work: Work, lines: usize) -> u8 {
        let spec = &self.micro_operations;
        match work {
            Work::Single => 1,
            Work::ReadModifyWrite => *spec.read_modify_write,
            Work::Call => *spec.call,
            Work::Divide => *spec.divide,
            Work::Locked => *spec.locked,
            Work::Microcode => *spec.microcode,
            // At most a load and a store in a row.
            Work::String => *spec.string_begin + lines as u8,
            Work::StringPart => lines.max(1) as u8,
        }
    }
}
