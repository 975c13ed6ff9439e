//! Execution ports: so many operations of a kind begin in a cycle, whichever instruction is ready first.
//!
//! ```text
//!   ready at cycle 7, 3 ports:  cycle 7 [x x x]  cycle 8 [x x x]  cycle 9 [x . .]  -> begins in cycle 9
//! ```
//!
//! A kind of operation has ports of its own; not modelled: kinds that share a port (Golden Cove's vector units are on
//! three of its five integer ports), and an instruction's several operations beside its load and its store.

use cxlab_kernel::Time;

use super::{PortSpec, PortsSpec};
use crate::feed::Class;

/// Cycles that are kept: more than lie between the oldest and the youngest ready instruction of a window.
const CYCLES: usize = 4096;

/// The ports of one kind of operation.
#[derive(Debug)]
struct Ports {
    /// operations begun by cycle: the cycle above 8 bits of their number
    begun: Box<[u64]>,
    width: u64,
    /// cycles that an operation keeps its port for
    busy: u64,
    /// all cycles of this range are taken
    full: std::ops::Range<u64>,
}

impl Ports {
    fn new(spec: &PortSpec) -> Ports {
        let full = 0..0;
        Ports { begun: vec![0; CYCLES].into(), width: u64::from(*spec.count), busy: spec.busy.0, full }
    }

    /// Take a port in `cycle` or in the first one after it that has one.
    #[inline]
    fn begin(&mut self, mut cycle: u64) -> u64 {
        if self.full.contains(&cycle) {
            cycle = self.full.end;
        }
        let first = cycle;
        loop {
            let slot = &mut self.begun[cycle as usize % CYCLES];
            if *slot >> 8 != cycle {
                // Cycles that are forgotten had room: they are far behind.
                if *slot >> 8 < cycle {
                    *slot = cycle << 8;
                } else {
                    return cycle;
                }
            }
            if *slot & 0xff < self.width {
                *slot += 1;
                break;
            }
            cycle += 1;
        }
        if cycle > first {
            self.full = if self.full.end == first { self.full.start..cycle } else { first..cycle };
        }
        cycle
    }
}

/// Kinds of operations that have ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Load,
    Store,
    Execute(Class),
}

/// All ports of a core.
#[derive(Debug)]
pub struct ExecutionPorts {
    groups: Vec<Ports>,
    /// the group of each class; `None` for what needs no port
    of_class: [Option<usize>; Class::ALL.len()],
    period: Time,
    /// 2^64 / period: division is dear here
    inverse: u64,
}

const LOAD: usize = 0;
const STORE: usize = 1;

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
        let of_class = Class::ALL.map(|class| match class {
            Class::Integer => Some(2),
            Class::Multiply => Some(3),
            Class::Divide => Some(4),
            Class::Vector => Some(5),
            Class::FloatAdd => Some(6),
            Class::FloatMultiply => Some(7),
            Class::FloatDivide => Some(8),
            Class::Move | Class::Locked | Class::LoadFence | Class::StoreFence | Class::Fence => None,
            Class::Serialising | Class::SystemCall | Class::Microcode => None,
        });
        let inverse = u64::MAX / period.as_ps() + 1;
        ExecutionPorts { groups: specs.map(Ports::new).into(), of_class, period, inverse }
    }

    /// When an operation that is ready at `ready` begins.
    #[inline]
    pub fn begin(&mut self, kind: Kind, ready: Time) -> Time {
        let group = match kind {
            Kind::Load => LOAD,
            Kind::Store => STORE,
            Kind::Execute(class) => match self.of_class[class as usize] {
                Some(group) => group,
                None => return ready,
            },
        };
        let cycle = ((u128::from(ready.as_ps()) * u128::from(self.inverse)) >> 64) as u64;
        let ports = &mut self.groups[group];
        let first = ports.begin(cycle);
        // A port that is kept has nothing to begin with for as long.
        for kept in 1..ports.busy {
            ports.begin(first + kept);
        }
        if first == cycle { ready } else { self.period * first }
    }
}
