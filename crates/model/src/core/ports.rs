//! Execution ports: a kind of operation can begin a fixed number of times a cycle. The instruction that is ready first
//! begins first.
//!
//! ```text
//!   ready at cycle 7, 3 ports:  cycle 7 [x x x]  cycle 8 [x x x]  cycle 9 [x . .]  -> begins in cycle 9
//! ```
//!
//! Each kind of operation has ports of its own. Not modelled: kinds that share a port (Golden Cove's vector units are
//! on three of its five integer ports). Also not modelled: the operations of an instruction beside its load, its store
//! and one execution.

use cxlab_kernel::Time;

use super::{PortSpec, PortsSpec};
use crate::feed::Class;

/// Cycles kept: more than the distance between the oldest and the youngest ready instruction of a window.
const CYCLES: usize = 4096;

/// Operations that begin in a cycle.
#[derive(Clone, Copy, Debug)]
struct Slot {
    /// number of the cycle
    cycle: u64,
    begun: u32,
    /// if all its ports are taken: cycles from here to the first that may have a free port
    ahead: u32,
}

impl Slot {
    fn of(cycle: u64) -> Slot {
        Slot { cycle, begun: 0, ahead: 1 }
    }
}

/// The ports of one kind of operation.
#[derive(Clone, Debug)]
struct Ports {
    slots: Box<[Slot; CYCLES]>,
    width: u32,
    /// cycles for which an operation keeps its port
    busy: u64,
}

impl Ports {
    fn new(spec: &PortSpec) -> Ports {
        Ports { slots: Box::new([Slot::of(0); CYCLES]), width: u32::from(*spec.count), busy: spec.busy.0 }
    }

    #[inline]
    fn slot(&mut self, cycle: u64) -> &mut Slot {
        &mut self.slots[cycle as usize % CYCLES]
    }

    /// Takes a port in `first`, or in the first later cycle with a free port.
    #[inline]
    fn begin(&mut self, first: u64) -> u64 {
        let width = self.width;
        let slot = self.slot(first);
        if slot.cycle == first {
            if slot.begun >= width {
                return self.begin_later(first);
            }
            slot.begun += 1;
        } else if slot.cycle < first {
            // A cycle that was forgotten had room, because it is far in the past.
            *slot = Slot { begun: 1, ..Slot::of(first) };
        }
        first
    }

    /// Takes a port in a later cycle, where all ports of `first` are taken.
    #[inline(never)]
    fn begin_later(&mut self, first: u64) -> u64 {
        let (mut cycle, width) = (first, self.width);
        loop {
            cycle += u64::from(self.slot(cycle).ahead);
            let slot = self.slot(cycle);
            if slot.cycle < cycle {
                *slot = Slot::of(cycle);
            } else if slot.cycle > cycle {
                break;
            }
            if slot.begun < width {
                slot.begun += 1;
                break;
            }
        }
        // The next search from `first` skips the cycles that are full.
        self.slot(first).ahead = (cycle - first) as u32;
        cycle
    }

    /// Takes the following cycles of a port for as long as an operation keeps it.
    #[inline(never)]
    fn keep(&mut self, first: u64) {
        for kept in 1..self.busy {
            self.begin(first + kept);
        }
    }
}

/// Kinds of operations that have ports of their own, in the order of their places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Load,
    Store,
    Integer,
    Multiply,
    Divide,
    Vector,
    FloatAdd,
    FloatMultiply,
    FloatDivide,
}

const KINDS: usize = 9;

/// The ports that execute a class of instructions; `None` for a class that needs no port.
fn kind_of(class: Class) -> Option<Kind> {
    Some(match class {
        Class::Integer => Kind::Integer,
        Class::Multiply => Kind::Multiply,
        Class::Divide => Kind::Divide,
        Class::Vector => Kind::Vector,
        Class::FloatAdd => Kind::FloatAdd,
        Class::FloatMultiply => Kind::FloatMultiply,
        Class::FloatDivide => Kind::FloatDivide,
        Class::Move | Class::Locked | Class::LoadFence | Class::StoreFence | Class::Fence => return None,
        Class::Serialising | Class::SystemCall | Class::Microcode => return None,
    })
}

/// All ports of a core.
#[derive(Clone, Debug)]
pub struct ExecutionPorts {
    ports: [Ports; KINDS],
    of_class: [Option<Kind>; Class::ALL.len()],
    period: Time,
    /// 2^64 / period: a multiplication replaces a division on the hot path
    inverse: u64,
}

impl ExecutionPorts {
    pub fn new(spec: &PortsSpec, period: Time) -> ExecutionPorts {
        let specs = [
            &spec.load,
            &spec.store,
            &spec.integer,
            &spec.multiply,
            &spec.divide,
            &spec.vector,
            &spec.float_add,
            &spec.float_multiply,
            &spec.float_divide,
        ];
        let inverse = u64::MAX / period.as_ps() + 1;
        ExecutionPorts { ports: specs.map(Ports::new), of_class: Class::ALL.map(kind_of), period, inverse }
    }

    /// When a load that is ready at `ready` begins.
    #[inline]
    pub fn load(&mut self, ready: Time) -> Time {
        self.begin(Kind::Load, ready)
    }

    /// When a store that is ready at `ready` begins.
    #[inline]
    pub fn store(&mut self, ready: Time) -> Time {
        self.begin(Kind::Store, ready)
    }

    /// When an instruction whose operands are there at `ready` begins to execute.
    #[inline]
    pub fn execute(&mut self, class: Class, ready: Time) -> Time {
        match self.of_class[class as usize] {
            Some(kind) => self.begin(kind, ready),
            None => ready,
        }
    }

    #[inline]
    fn begin(&mut self, kind: Kind, ready: Time) -> Time {
        let cycle = ((u128::from(ready.as_ps()) * u128::from(self.inverse)) >> 64) as u64;
        let ports = &mut self.ports[kind as usize];
        let first = ports.begin(cycle);
        if ports.busy > 1 {
            ports.keep(first);
        }
        if first == cycle { ready } else { self.period * first }
    }
}

#[cfg(test)]
mod tests {
    use cxlab_kernel::Stream;

    use super::*;

    fn ports(width: u32, busy: u64) -> Ports {
        Ports { slots: Box::new([Slot::of(0); CYCLES]), width, busy }
    }

    #[test]
    fn so_many_begin_in_each_cycle_from_the_first_on() {
        let mut two = ports(2, 1);
        assert_eq!([0, 0, 0, 0, 0].map(|ready| two.begin(ready)), [0, 0, 1, 1, 2]);
        assert_eq!([1, 2, 2, 9].map(|ready| two.begin(ready)), [2, 3, 3, 9]);
    }

    #[test]
    fn an_operation_begins_in_the_first_cycle_that_has_a_port() {
        let (mut three, mut begun, mut chance) = (ports(3, 1), vec![0; 4 * CYCLES], Stream::new(1, "ports"));
        for turn in 0..30_000u64 {
            // Ready times as in a window: near each other, and growing.
            let ready = turn / 4 + chance.below(200);
            let first = (ready as usize..).find(|cycle| begun[*cycle] < 3).expect("the table is long enough");
            begun[first] += 1;
            assert_eq!(three.begin(ready), first as u64);
        }
    }
}
