//! A feed written by hand: instructions as assembler bytes, and the lines that they touch.
#![allow(dead_code)] // each test file uses its part

pub mod stream;

use cxlab_access::{Keep, Phase};
use cxlab_kernel::Time;
use cxlab_model::addr::Hpa;
use cxlab_model::error::ModelError;
use cxlab_model::fact::Sourced;
use cxlab_model::feed::{Block, Execution, Feed, Instruction, LineAccess, Outcome, Step};
use cxlab_model::home::AddressRange;
use cxlab_model::{Machine, MachineSpec};

pub const GIB: u64 = 1 << 30;

/// One step: the instruction that it executes, where that went if it is a branch, and the lines that it touches.
struct Line {
    step: Step,
    instruction: Option<Instruction>,
    outcome: Option<Outcome>,
    accesses: Vec<LineAccess>,
}

/// Steps in order, then the end.
#[derive(Default)]
pub struct Script {
    steps: Vec<Line>,
    next: usize,
    pub clock_answers: Vec<Time>,
    /// answers at sync points
    pub sync_answers: Vec<Time>,
}

pub fn load(address: u64) -> LineAccess {
    LineAccess { address: Hpa::new(address), store: false, place: 0, device: false, page: None }
}

pub fn store(address: u64) -> LineAccess {
    LineAccess { address: Hpa::new(address), store: true, place: 0, device: false, page: None }
}

impl Script {
    /// One instruction, from its bytes.
    pub fn instruction(&mut self, bytes: &[u8], accesses: &[LineAccess]) -> &mut Self {
        let block = Block::decode(0x40_0000, bytes);
        let [instruction] = *block.instructions else { panic!("{bytes:02x?} is one instruction") };
        let accesses = accesses.to_vec();
        self.steps.push(Line { step: Step::Execute, instruction: Some(instruction), outcome: None, accesses });
        self
    }

    /// `jz` on the flags of the last instruction, at an address of its own.
    pub fn branch(&mut self, place: u64, taken: bool) -> &mut Self {
        self.instruction(&[0x74, 0x10], &[]);
        let next = 0x50_0000 + place * 2;
        let target = if taken { next + 0x10 } else { next };
        self.steps.last_mut().expect("just pushed").outcome = Some(Outcome { next, target });
        self
    }

    /// `mov rax, [rax]`: the next address comes from this line.
    pub fn chase(&mut self, address: u64) -> &mut Self {
        self.instruction(&[0x48, 0x8b, 0x00], &[load(address)])
    }

    /// `mov rax, [rcx]`: an address that is known.
    pub fn independent_load(&mut self, address: u64) -> &mut Self {
        self.instruction(&[0x48, 0x8b, 0x01], &[load(address)])
    }

    /// `mov [rcx], rdx`.
    pub fn store(&mut self, address: u64) -> &mut Self {
        self.instruction(&[0x48, 0x89, 0x11], &[store(address)])
    }

    /// `add [rcx], rdx`.
    pub fn add_to_memory(&mut self, address: u64) -> &mut Self {
        self.instruction(&[0x48, 0x01, 0x11], &[load(address), store(address)])
    }

    /// `lock add [rcx], rdx`.
    pub fn lock_add(&mut self, address: u64) -> &mut Self {
        self.instruction(&[0xf0, 0x48, 0x01, 0x11], &[load(address), store(address)])
    }

    /// `mov [rcx], rdx` to a device's register.
    pub fn store_to_device(&mut self, address: u64) -> &mut Self {
        self.instruction(&[0x48, 0x89, 0x11], &[LineAccess { device: true, ..store(address) }])
    }

    /// `add rbx, rbx`: each depends on the one before.
    pub fn serial_add(&mut self) -> &mut Self {
        self.instruction(&[0x48, 0x01, 0xdb], &[])
    }

    /// `mov ebx, 1`: depends on nothing.
    pub fn free_move(&mut self) -> &mut Self {
        self.instruction(&[0xbb, 1, 0, 0, 0], &[])
    }

    pub fn step(&mut self, step: Step) -> &mut Self {
        self.steps.push(Line { step, instruction: None, outcome: None, accesses: Vec::new() });
        self
    }

    /// All before is committed; the answer is kept.
    pub fn settle(&mut self) -> &mut Self {
        self.step(Step::Settle { sequence: 1 })
    }
}

impl Feed for Script {
    fn next(&mut self) -> Result<Step, ModelError> {
        let step = self.steps.get(self.next).map_or(Step::End, |line| line.step);
        self.next += 1;
        Ok(step)
    }

    fn execution(&self) -> Execution<'_> {
        let line = &self.steps[self.next - 1];
        let instruction = line.instruction.as_ref().expect("the last step is to execute it");
        Execution { instruction, kernel: false, outcome: line.outcome }
    }

    fn accesses(&self) -> &[LineAccess] {
        self.steps.get(self.next - 1).map_or(&[], |line| &line.accesses)
    }

    fn answer_sync(&mut self, _sequence: u64, ps: u64) -> Result<(), ModelError> {
        self.sync_answers.push(Time::from_ps(ps));
        Ok(())
    }

    /// A phase of a script has no warming: it goes on.
    fn reached(&mut self, _phase: Phase, _position: u64, _keep: Keep) {}

    fn answer_clock(&mut self, _sequence: u64, ps: u64) -> Result<(), ModelError> {
        self.clock_answers.push(Time::from_ps(ps));
        Ok(())
    }
}

/// One core; a GiB of each node, one after the other: DRAM from 0 on, the next node from 1 GiB on.
pub fn machine(name: &str) -> Machine {
    machine_of(quiet(name))
}

/// A machine by its name with its prefetchers off: no line is under way that the script does not name.
pub fn quiet(name: &str) -> MachineSpec {
    let mut spec = MachineSpec::load(name).unwrap_or_else(|error| panic!("{error}"));
    spec.host.prefetch.enabled = Sourced::new(false, "the test");
    spec
}

/// As [`machine`], of a description, with prefetchers as it has them. What its parts do is checked.
pub fn machine_of(spec: MachineSpec) -> Machine {
    let range = |node: u16| AddressRange { start: u64::from(node) * GIB, length: GIB, node };
    let ranges: Vec<_> = (0..spec.nodes.len() as u16).map(range).collect();
    let mut machine = Machine::new(spec, 1, &ranges).unwrap_or_else(|error| panic!("{error}"));
    machine.keep_checks();
    machine
}

/// Run the script with a settle at its end: the machine, and the time of each settle.
pub fn run(name: &str, write: impl FnOnce(&mut Script)) -> (Machine, Vec<Time>) {
    run_on(machine(name), write)
}

/// As [`run`], on a machine at rest.
pub fn run_on(mut machine: Machine, write: impl FnOnce(&mut Script)) -> (Machine, Vec<Time>) {
    let mut script = Script::default();
    write(&mut script);
    script.settle();
    let mut feeds = [script];
    machine.run(&mut feeds, |_| Ok(())).unwrap_or_else(|error| panic!("{error}"));
    let [script] = feeds;
    (machine, script.clock_answers)
}

/// Addresses of `count` different lines in a fixed disorder, in the `bytes` from `base` on.
pub fn shuffled(base: u64, bytes: u64, count: u64) -> impl Iterator<Item = u64> {
    // A full-period congruential walk (Knuth vol. 2, 3.2.1.2): odd increment, multiplier 1 mod 4.
    let lines = bytes / 64;
    assert!(lines.is_power_of_two() && count <= lines);
    let mut at = 12345 % lines;
    (0..count).map(move |_| {
        at = (at.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f)) % lines;
        base + at * 64
    })
}
