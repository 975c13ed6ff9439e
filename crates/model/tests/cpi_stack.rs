//! The CPI stack: it adds up to the core's time, and each part is what arithmetic says.

mod support;

use cxlab_kernel::Time;
use cxlab_model::core::{Cause, Mode, TimeStack};
use cxlab_model::feed::Step;
use cxlab_model::mem::Stage;
use cxlab_model::request::NodeId;
use cxlab_model::summary::Summary;
use cxlab_model::{Machine, MachineSpec};
use proptest::prelude::*;
use support::{GIB, Script, load, run, shuffled, store};

const CXL: NodeId = NodeId(1);

fn stack(machine: &Machine) -> TimeStack {
    machine.cores()[0].time_stack(machine.now())
}

/// All that is charged to lines of the CXL node `[ns]`.
fn on_cxl(stack: &TimeStack) -> f64 {
    Stage::ALL.iter().map(|stage| stack.of_node(Mode::User, CXL, *stage)).sum::<Time>().as_ns()
}

#[test]
fn a_chase_is_its_stages() {
    // Each load waits for the one before: nothing is hidden, and time is loads x stages. What is not is an L1 latency and
    // a slot of commit for the first load alone.
    const COUNT: u64 = 2_000;
    let (machine, times) = run("8468v-asic", |script| {
        for address in shuffled(GIB, GIB, COUNT) {
            script.chase(address);
        }
    });
    let stack = stack(&machine);
    let summary = Summary::of(&machine);
    for (name, mean_ns) in &summary.nodes["cxl"].stages_ns {
        let charged = summary.cpi_stack.user.nodes_s["cxl"][name] * 1e9;
        assert!((charged / (mean_ns * COUNT as f64) - 1.0).abs() < 1e-3, "{name}: {charged}");
    }
    assert!((on_cxl(&stack) / times[0].as_ns() - 1.0).abs() < 1e-3);
}

#[test]
fn a_chain_of_additions_is_execution() {
    // 3,800 cycles at 3.8 GHz (263 ps each); nothing waits for memory.
    let (machine, _) = run("8468v-asic", |script| {
        for _ in 0..3_800 {
            script.serial_add();
        }
    });
    let stack = stack(&machine);
    let execution = stack.of(Mode::User, Cause::Execution).as_ns();
    assert!((execution / 999.4 - 1.0).abs() < 0.01, "{execution} ns");
    assert_eq!(on_cxl(&stack), 0.0);
}

#[test]
fn independent_loads_wait_for_fill_buffers_as_littles_law_says() {
    // The load queue has 192 loads, and 16 of them a fill buffer. So each waits 176 / 192 of its time for its buffer. The share
    // is a little less, because some that have come back wait in the queue for older ones.
    let (machine, _) = run("8468v-asic", |script| {
        for address in shuffled(GIB, GIB, 20_000) {
            script.independent_load(address);
        }
    });
    let stack = stack(&machine);
    let core = &machine.spec().host.core;
    let (queue, buffers) = (f64::from(*core.load_queue), f64::from(*core.fill_buffers));
    let waits = stack.of_node(Mode::User, CXL, Stage::FillBuffer).as_ns();
    let wanted = (queue - buffers) / queue;
    let found = waits / on_cxl(&stack);
    assert!(found < wanted && found > 0.96 * wanted, "{found}, not {wanted}");
    assert!(on_cxl(&stack) > 0.99 * machine.now().as_ns());
}

#[test]
fn stores_that_fill_the_store_queue_wait_for_their_lines() {
    let (machine, _) = run("8468v-asic", |script| {
        for address in shuffled(GIB, GIB, 5_000) {
            script.store(address);
        }
    });
    let stack = stack(&machine);
    // The program ends when its last store commits: then as many as the queue has are still to come.
    assert!(on_cxl(&stack) > 0.98 * machine.now().as_ns(), "{} of {}", on_cxl(&stack), machine.now());
}

#[test]
fn a_branch_that_was_not_guessed_costs_its_refill() {
    // Directions without a pattern: bits of a congruential walk. Behind each that was not guessed the window is empty for
    // the refill of the host file.
    let (machine, _) = run("8468v-asic", |script| {
        for word in shuffled(0, GIB, 4_000) {
            script.branch(0, word >> 20 & 1 == 1);
            script.free_move();
        }
    });
    let core = &machine.cores()[0];
    let missed = core.stats.mispredictions.get();
    assert!(missed > 1_000, "{missed}");
    let host = &machine.spec().host.core;
    let refill = host.frequency.cycles(host.branch_refill.0).as_ns();
    let charged = stack(&machine).of(Mode::User, Cause::Branches).as_ns();
    assert!((charged / (missed as f64 * refill) - 1.0).abs() < 0.02, "{charged} of {missed} x {refill} ns");
}

#[test]
fn idle_time_and_devices_are_neither_user_nor_kernel() {
    let (machine, _) = run("8468v-asic", |script| {
        script.serial_add();
        script.step(Step::Idle { until: Time::from_ns(5_000) });
        script.step(Step::Device { service: Time::from_ns(80_000) });
    });
    let stack = stack(&machine);
    assert!((stack.idle.as_ns() - 5_000.0).abs() < 10.0, "{}", stack.idle);
    assert_eq!(stack.io, Time::from_ns(80_000));
    assert!(stack.busy() < Time::from_ns(10), "{}", stack.busy());
}

/// The next action of a random program.
#[derive(Clone, Copy, Debug)]
enum Act {
    Add,
    Load(u64),
    Chase(u64),
    Store(u64),
    Modify(u64),
    NonTemporal(u64),
    Flush(u64),
    Fence,
    Branch(bool),
    Idle(u64),
    Device,
    Settle,
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let address =
        || (0..4096u64, 0..2u64).prop_map(|(line, node)| node * GIB + line * 4096 * 64 % (GIB / 2) + line * 64);
    let act = prop_oneof![
        4 => Just(Act::Add),
        4 => address().prop_map(Act::Load),
        2 => address().prop_map(Act::Chase),
        4 => address().prop_map(Act::Store),
        2 => address().prop_map(Act::Modify),
        2 => address().prop_map(Act::NonTemporal),
        1 => address().prop_map(Act::Flush),
        1 => Just(Act::Fence),
        2 => any::<bool>().prop_map(Act::Branch),
        1 => (0..3_000u64).prop_map(Act::Idle),
        1 => Just(Act::Device),
        1 => Just(Act::Settle),
    ];
    prop::collection::vec(act, 1..400)
}

fn write(script: &mut Script, acts: &[Act]) {
    let mut idle_until = 0;
    for act in acts {
        match *act {
            Act::Add => script.serial_add(),
            Act::Load(address) => script.independent_load(address),
            Act::Chase(address) => script.chase(address),
            Act::Store(address) => script.store(address),
            Act::Modify(address) => script.add_to_memory(address),
            Act::NonTemporal(address) => script.instruction(&[0x48, 0x0f, 0xc3, 0x11], &[store(address)]), // movnti
            Act::Flush(address) => script.instruction(&[0x0f, 0xae, 0x39], &[store(address)]),             // clflush
            Act::Fence => script.instruction(&[0x0f, 0xae, 0xf0], &[]),                                    // mfence
            Act::Branch(taken) => script.branch(0, taken),
            Act::Idle(ns) => {
                idle_until += ns;
                script.step(Step::Idle { until: Time::from_ns(idle_until) })
            }
            Act::Device => script.step(Step::Device { service: Time::from_ns(700) }),
            Act::Settle => script.settle(),
        };
    }
    // A load in the end: the last parts are not all a settle's.
    script.instruction(&[0x48, 0x8b, 0x01], &[load(64)]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn the_parts_add_up_to_the_cores_time_to_the_picosecond(acts in acts()) {
        let spec = MachineSpec::load("8468v-asic").unwrap();
        let (machine, _) = support::run_on(support::machine_of(spec), |script| write(script, &acts));
        let TimeStack { idle, io, .. } = stack(&machine);
        prop_assert_eq!(stack(&machine).busy() + idle + io, machine.now());
    }
}
