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

use super::PortsSpec;
use crate::feed::Class;

/// Cycles of a chunk: a word has a bit for each.
const CHUNK: u64 = u64::BITS as u64;
/// Chunks kept. Their cycles are more than the distance between the oldest and the youngest ready instruction of a
/// window.
const CHUNKS: usize = 64;
const CYCLES: usize = CHUNKS * CHUNK as usize;

/// The cycles of a chunk in which all ports are taken.
#[derive(Clone, Copy, Debug, Default)]
struct Chunk {
    /// number of the chunk since the beginning
    number: u64,
    /// a bit for each cycle
    full: u64,
}

/// The ports of one kind of operation.
#[derive(Clone, Debug)]
struct Ports {
    chunks: Box<[Chunk; CHUNKS]>,
    /// operations that begin in each cycle
    begun: Box<[u8; CYCLES]>,
    width: u8,
    /// cycles for which an operation keeps its port
    busy: u64,
}

impl Ports {
    fn new(width: u8, busy: u64) -> Ports {
        Ports { chunks: Box::new([Chunk::default(); CHUNKS]), begun: Box::new([0; CYCLES]), width, busy }
    }

    /// The place of the chunk of a cycle. `None` if a later chunk has its place: a cycle that was forgotten had room,
    /// because it is far in the past.
    #[inline]
    fn chunk(&mut self, cycle: u64) -> Option<usize> {
        let number = cycle / CHUNK;
        let place = number as usize % CHUNKS;
        let kept = self.chunks[place].number;
        if kept != number {
            if kept > number {
                return None;
            }
            self.clear(place, number);
        }
        Some(place)
    }

    #[inline(never)]
    fn clear(&mut self, place: usize, number: u64) {
        self.chunks[place] = Chunk { number, full: 0 };
        self.begun[place * CHUNK as usize..][..CHUNK as usize].fill(0);
    }

    /// Takes a port in `first`, or in the first later cycle with a free port.
    #[inline]
    fn begin(&mut self, first: u64) -> u64 {
        let Some(place) = self.chunk(first) else { return first };
        if self.chunks[place].full >> (first % CHUNK) & 1 != 0 {
            return self.begin_later(first);
        }
        self.take(place, first);
        first
    }

    /// Takes a port of a cycle that has one.
    #[inline]
    fn take(&mut self, place: usize, cycle: u64) {
        let begun = &mut self.begun[cycle as usize % CYCLES];
        *begun += 1;
        if *begun == self.width {
            self.chunks[place].full |= 1 << (cycle % CHUNK);
        }
    }

    /// Takes a port in a later cycle, where all ports of `first` are taken.
    #[inline(never)]
    fn begin_later(&mut self, first: u64) -> u64 {
        let mut cycle = first;
        loop {
            let Some(place) = self.chunk(cycle) else { return cycle };
            let ahead = u64::from((!self.chunks[place].full >> (cycle % CHUNK)).trailing_zeros());
            if ahead < CHUNK {
                self.take(place, cycle + ahead);
                return cycle + ahead;
            }
            cycle = (cycle / CHUNK + 1) * CHUNK;
        }
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
        ExecutionPorts {
            ports: specs.map(|spec| Ports::new(*spec.count, spec.busy.0)),
            of_class: Class::ALL.map(kind_of),
            period,
            inverse,
        }
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

    #[test]
    fn so_many_begin_in_each_cycle_from_the_first_on() {
        let mut two = Ports::new(2, 1);
        assert_eq!([0, 0, 0, 0, 0].map(|ready| two.begin(ready)), [0, 0, 1, 1, 2]);
        assert_eq!([1, 2, 2, 9].map(|ready| two.begin(ready)), [2, 3, 3, 9]);
    }

    #[test]
    fn an_operation_begins_in_the_first_cycle_that_has_a_port() {
        let (mut three, mut begun, mut chance) = (Ports::new(3, 1), vec![0; 4 * CYCLES], Stream::new(1, "ports"));
        for turn in 0..30_000u64 {
            // Ready times as in a window: near each other, and growing.
            let ready = turn / 4 + chance.below(200);
            let first = (ready as usize..).find(|cycle| begun[*cycle] < 3).expect("the table is long enough");
            begun[first] += 1;
            assert_eq!(three.begin(ready), first as u64);
        }
    }
}
