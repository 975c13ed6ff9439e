//! Streams of a guest, record by record, tell of a sampled run.

mod support;

use std::collections::VecDeque;

use cxlab_access::record::{MemoryAccess, Words};
use cxlab_access::{BlockId, Draw, Forget, Keep, Phase, Record, Vcpu};
use cxlab_model::Machine;
use cxlab_model::home::AddressRange;
use cxlab_model::session::Guest;
use cxlab_model::summary::Summary;
use support::stream::{Made, payload};
use support::{GIB, machine, quiet};

/// Records, then nothing.
#[derive(Default)]
struct Told(VecDeque<Words>);

impl Told {
    fn tell(&mut self, record: Record) {
        self.tell_of(0, record);
    }

    fn tell_of(&mut self, vcpu: usize, record: Record) {
        self.0.push_back(record.encode(Vcpu::new(vcpu)));
    }

    /// A block of one instruction that loads a line.
    fn load(&mut self, vcpu: usize, block: u32, physical: u64) {
        self.tell_of(vcpu, Record::Block { block: BlockId(block), from: 0 });
        let load = MemoryAccess { instruction: 0, size_log2: 3, store: false, physical, page: None, device: false };
        self.tell_of(vcpu, Record::Access(load));
    }

    /// A block of instructions at `pc`.
    fn define(&mut self, block: u32, pc: u64, code: &[u8]) {
        self.tell(Record::Define { block: BlockId(block), pc, length: code.len() as u16, alone: false });
        self.0.extend(payload(code));
    }

    /// A block that is next, before what is told ahead of it.
    fn announce(&mut self, block: u32) {
        self.tell(Record::Block { block: BlockId(block), from: 0 });
        self.tell(Record::Cut { instruction: 0 });
    }

    fn execute(&mut self, block: u32, times: u32) {
        (0..times).for_each(|_| self.tell(Record::Block { block: BlockId(block), from: 0 }));
    }

    fn stream(self) -> Made<impl Iterator<Item = Words>> {
        Made(self.0.into_iter())
    }
}

/// mov rax, [rax]
const LOAD: &[u8] = &[0x48, 0x8b, 0x00];

fn machine_of_two() -> Machine {
    let ranges = [0, 1].map(|node: u16| AddressRange { start: u64::from(node) * GIB, length: GIB, node });
    Machine::new(quiet("8468v-asic"), 2, &ranges).unwrap()
}

/// Summary of the model for a stream.
fn sampled(told: Told) -> Summary {
    let mut machine = machine("8468v-asic");
    let mut guest = Guest::new(told.stream(), 1);
    guest.run(&mut machine, |_, _| Ok(())).unwrap();
    guest.sampled(&machine).map_or_else(|| Summary::of(&machine), |(summary, _)| summary)
}

#[test]
fn a_phase_may_begin_within_an_instruction_that_repeats() {
    let mut told = Told::default();
    // Two adds and `rep lodsb`, of which eight lines are left.
    told.define(0, 0x40_0000, &[0x48, 0x01, 0xdb, 0x48, 0x01, 0xdb, 0xf3, 0xac]);
    told.tell(Record::Sample { phase: Phase::Measured, position: 0, keep: Keep::All, idle_ps: 0 });
    told.tell(Record::Block { block: BlockId(0), from: 2 });
    for line in 0..8 {
        let physical = 0x10_0000 + line * 64;
        let load = MemoryAccess { instruction: 2, size_log2: 0, store: false, physical, page: None, device: false };
        told.tell(Record::Access(load));
    }
    told.tell(Record::Settle { sequence: 1 });
    told.tell(Record::Sample { phase: Phase::Detailed, position: 8 * 16, keep: Keep::All, idle_ps: 0 });
    told.tell(Record::End);
    let summary = sampled(told);
    assert_eq!((summary.instructions.user, summary.nodes["dram"].loads), (1, 8), "the adds were executed before");
}

#[test]
fn a_run_that_breaks_off_has_the_time_of_all_that_was_executed() {
    const SERIAL_ADDS: u32 = 10;
    let mut told = Told::default();
    told.define(0, 0x40_0000, &[0x48, 0x01, 0xdb].repeat(SERIAL_ADDS as usize));
    told.tell(Record::Sample { phase: Phase::Measured, position: 0, keep: Keep::All, idle_ps: 0 });
    told.execute(0, 1000);
    told.tell(Record::Sample { phase: Phase::Warming, position: 10_000, keep: Keep::All, idle_ps: 0 });
    told.execute(0, 19_000);
    let summary = sampled(told);
    // Each add waits for the one before: a cycle each, at the 8468V's 3.8 GHz.
    let wanted = f64::from(20_000 * SERIAL_ADDS) / 3.8e9;
    assert_eq!(summary.instructions.user, 200_000);
    assert!((summary.simulated_seconds / wanted - 1.0).abs() < 0.01, "{} s, {wanted} s", summary.simulated_seconds);
}

/// Windows of 1,000 instructions one behind the other. Windows of adds that wait for each other take turns with windows of
/// moves that do not. At their end some are kept.
fn thinned(keep: Keep) -> Summary {
    let mut told = Told::default();
    told.define(0, 0x40_0000, &[0x48, 0x01, 0xdb].repeat(10));
    told.define(1, 0x41_0000, &[0x48, 0x89, 0xc3].repeat(10));
    for window in 0..4 {
        told.tell(Record::Sample { phase: Phase::Measured, position: window * 1000, keep: Keep::All, idle_ps: 0 });
        told.execute(window as u32 % 2, 100);
        told.tell(Record::Settle { sequence: 1 });
    }
    told.tell(Record::Sample { phase: Phase::Detailed, position: 4000, keep, idle_ps: 0 });
    told.tell(Record::Sample { phase: Phase::Warming, position: 4000, keep: Keep::All, idle_ps: 0 });
    told.execute(0, 1);
    sampled(told)
}

#[test]
fn windows_that_are_not_kept_tell_nothing() {
    let all = thinned(Keep::All).simulated_seconds;
    let kept_by = |number| {
        let keep = Keep::OneOfEachPair(Draw::of(number));
        let time = thinned(keep).simulated_seconds;
        let adds = [0, 2].into_iter().filter(|window| keep.keeps(*window)).count() as f64;
        // Half of the 4,000 for each window: adds take a cycle each at the 8468V's 3.8 GHz, and six moves take one.
        let wanted = (adds * 2000.0 + (2.0 - adds) * 2000.0 / 6.0) / 3.8e9;
        let bound = if adds == 0.0 { 0.25 } else { 0.05 };
        assert!((time / wanted - 1.0).abs() < bound, "{adds} of adds: {time} s, {wanted} s");
        time
    };
    for number in (0..12).step_by(2) {
        // Of two neighbours one keeps what the other drops.
        let both = kept_by(number) + kept_by(number + 1);
        assert!((2.0 * all / both - 1.0).abs() < 0.01);
    }
}

/// The beginning of a run or region on the first core: 10,000 adds that wait for each other. Then come moves that do
/// not: 10,000 are a window, and so many tens are executed behind it.
fn tell_beginning_and_window(told: &mut Told, tens: u32) {
    told.define(0, 0x40_0000, &[0x48, 0x01, 0xdb].repeat(10));
    told.define(1, 0x41_0000, &[0x48, 0x89, 0xc3].repeat(10));
    told.tell(phase(Phase::Beginning, 0));
    told.execute(0, 1000);
    told.tell(Record::Settle { sequence: 1 });
    told.tell(phase(Phase::Measured, 10_000));
    told.execute(1, 1000);
    told.tell(Record::Settle { sequence: 2 });
    told.tell(phase(Phase::Detailed, 20_000));
    told.tell(phase(Phase::Warming, 20_000));
    told.execute(1, tens);
}

fn phase(phase: Phase, position: u64) -> Record {
    Record::Sample { phase, position, keep: Keep::All, idle_ps: 0 }
}

#[test]
fn the_start_of_a_run_in_detail_stands_for_itself_alone() {
    let mut told = Told::default();
    tell_beginning_and_window(&mut told, 9000);
    let summary = sampled(told);
    assert_eq!(summary.instructions.user, 110_000);
    let found = summary.simulated_seconds;
    assert!((found / OF_TWO - 1.0).abs() < 0.02, "{found} s, {OF_TWO} s");
}

/// Two cores, of which the second sleeps. So many tens of moves are executed behind the window, and then both may wait
/// for a device.
fn summary_of_two(tens: u32, rest: Option<Record>) -> Summary {
    let mut told = Told::default();
    told.tell_of(1, Record::Halt);
    tell_beginning_and_window(&mut told, tens);
    rest.into_iter().for_each(|rest| told.tell(rest));
    told.tell(phase(Phase::Detailed, 110_000));
    told.tell(Record::End);
    let mut machine = machine_of_two();
    let mut guest = Guest::new(told.stream(), 2);
    guest.run(&mut machine, |_, _| Ok(())).unwrap();
    guest.sampled(&machine).unwrap().0
}

/// An add takes a cycle at the 8468V's 3.8 GHz, and five moves do: Golden Cove has five integer ALUs (Intel 248966).
const OF_TWO: f64 = (10_000.0 + 100_000.0 / 5.0) / 3.8e9;

#[test]
fn the_beginning_of_a_region_stands_for_itself_alone() {
    let found = summary_of_two(9000, None).simulated_seconds;
    assert!((found / OF_TWO - 1.0).abs() < 0.02, "{found} s, {OF_TWO} s");
}

#[test]
fn the_wait_for_a_device_is_known_where_all_cores_are_idle() {
    const SPAN_PS: u64 = 5_000_000;
    let span_s = SPAN_PS as f64 * 1e-12;
    let [without, with] = [None, Some(Record::Rested { span_ps: SPAN_PS })].map(|rest| summary_of_two(9000, rest));
    assert!((with.simulated_seconds - without.simulated_seconds - span_s).abs() < 1e-12, "{with:?}");
    // It is I/O of one core, and idle time of the other.
    assert!((with.time.io_s - span_s).abs() < 1e-12 && without.time.io_s == 0.0, "{:?}", with.time);
    assert!((with.time.idle_s - without.time.idle_s - span_s).abs() < 1e-12, "{:?}", with.time);
    assert!((with.time.busy_s - without.time.busy_s).abs() < 1e-12, "{:?}", with.time);
}

#[test]
fn in_detail_all_cores_wait_for_a_device_too() {
    let mut told = Told::default();
    told.define(0, 0x40_0000, LOAD);
    told.load(0, 0, 0x10_0000);
    told.tell_of(1, Record::Halt);
    told.tell(Record::Halt);
    told.tell(Record::Settle { sequence: 1 });
    told.tell(Record::Idle { until_ps: 2_000_000 });
    told.tell(Record::Rest { until_ps: 82_000_000, done: 0 });
    told.tell(Record::Settle { sequence: 2 });
    told.tell(Record::Idle { until_ps: 83_000_000 });
    told.tell(Record::Wake { woken: Vcpu::new(0) });
    told.load(0, 0, 0x20_0000);
    told.tell(Record::End);
    let mut machine = machine_of_two();
    Guest::new(told.stream(), 2).run(&mut machine, |_, _| Ok(())).unwrap();
    let Summary { time, simulated_seconds, cpi_stack, .. } = Summary::of(&machine);
    assert!((time.io_s - 80e-6).abs() < 1e-12, "{time:?}");
    assert!((cpi_stack.io_s - time.io_s).abs() < 1e-12, "{cpi_stack:?}");
    // The loads take less than a microsecond; all else is idle.
    assert!((cpi_stack.idle_s - time.idle_s).abs() < 1e-6, "{time:?} {cpi_stack:?}");
    assert!((time.idle_s + time.io_s - 2.0 * simulated_seconds).abs() < 1e-6, "{time:?} of {simulated_seconds}");
}

#[test]
fn a_sample_of_several_whose_vcpus_stood_still_is_refused() {
    let mut told = Told::default();
    tell_beginning_and_window(&mut told, 10);
    told.tell(Record::Device { service_ps: 1000 });
    let error = Guest::new(told.stream(), 2).run(&mut machine_of_two(), |_, _| Ok(())).unwrap_err();
    assert!(error.to_string().contains("record it again"), "{error}");
}

#[test]
fn instructions_for_each_cycle_are_those_of_windows_whatever_was_spun_between_them() {
    // The window's 10,000 stand for 100,000, though fewer are executed where threads spin for shorter.
    for tens in [9000, 5000] {
        let summary = summary_of_two(tens, None);
        assert_eq!(summary.instructions.user, 20_000 + 10 * u64::from(tens));
        let told = summary.ipc * summary.time.busy_s * 3.8e9;
        assert!((told / 110_000.0 - 1.0).abs() < 0.001, "{told}");
    }
}

/// A stretch of detail can be so short that a vCPU is woken for it and halts before it has had a turn.
#[test]
fn one_that_halts_again_before_its_turn_is_woken_again() {
    const LOADS: u64 = 100;
    let mut told = Told::default();
    told.define(0, 0x40_0000, LOAD);
    // What waits for all before it to be committed, so that the cores' halts come before what ends them.
    let commit = Record::Invalidate { instruction: 0, forget: Forget::Space { pcid: 1 } };
    told.load(0, 0, 0x10_0000);
    told.tell_of(1, Record::Halt);
    told.tell(commit);
    told.tell(Record::Wake { woken: Vcpu::new(1) });
    told.tell_of(1, Record::Halt);
    for line in 1..=LOADS {
        told.load(0, 0, 0x10_0000 + line * 64);
    }
    told.tell(commit);
    told.tell(Record::Wake { woken: Vcpu::new(1) });
    told.load(1, 0, 0x20_0000);
    told.tell_of(1, Record::Settle { sequence: 1 });
    told.tell_of(1, Record::End);
    let mut machine = machine_of_two();
    Guest::new(told.stream(), 2).run(&mut machine, |_, _| Ok(())).unwrap();
    // Core 1 goes on behind all loads of core 0, and its own load follows.
    let [waker, woken] = [0, 1].map(|core| machine.cores()[core].now());
    assert!(woken > waker, "{woken} behind {waker}");
}

#[test]
fn one_that_sleeps_wakes_nobody() {
    // Core 1 has halted, and core 0 has gone on: core 1 comes to none of its records.
    let mut told = Told::default();
    told.define(0, 0x40_0000, LOAD);
    told.tell_of(1, Record::Halt);
    told.load(0, 0, 0x10_0000);
    told.tell_of(1, Record::Wake { woken: Vcpu::new(1) });
    told.load(1, 0, 0x20_0000);
    told.tell(Record::End);
    let error = Guest::new(told.stream(), 2).run(&mut machine_of_two(), |_, _| Ok(())).unwrap_err();
    assert!(error.to_string().contains("vCPU 1, which sleeps"), "{error}");
}

#[test]
fn warming_begins_when_all_cores_have_done_what_was_told() {
    const LINE: u64 = 0x20_0000;
    let mut told = Told::default();
    told.define(0, 0x40_0000, LOAD);
    told.tell(Record::Sample { phase: Phase::Measured, position: 0, keep: Keep::All, idle_ps: 0 });
    told.tell_of(1, Record::Halt);
    told.announce(0);
    told.tell(Record::Wake { woken: Vcpu::new(1) });
    told.load(1, 0, LINE);
    told.tell_of(1, Record::Halt);
    told.announce(0);
    told.tell(Record::Sample { phase: Phase::Warming, position: 1000, keep: Keep::All, idle_ps: 0 });
    told.load(1, 0, LINE);
    told.tell(Record::Sample { phase: Phase::Detailed, position: 2000, keep: Keep::All, idle_ps: 0 });
    told.tell(Record::End);
    let mut machine = machine_of_two();
    let mut guest = Guest::new(told.stream(), 2);
    guest.run(&mut machine, |_, _| Ok(())).unwrap();
    let (summary, _) = guest.sampled(&machine).unwrap();
    // Had it been warmed before, its load would have hit the L1.
    assert_eq!(summary.nodes["dram"].loads, 2);
}
