//! Known gaps: each test says how the model errs today and fails on the day when it no longer does.
//! The rows are those of DEVIATIONS.md.

mod support;

use std::num::NonZeroU32;

use cxlab_kernel::Time;
use cxlab_model::MachineSpec;
use cxlab_model::addr::Hpa;
use cxlab_model::fact::Sourced;
use cxlab_model::summary::Summary;
use cxlab_model::translation::{Page, PageId, PageSize, Scope, Tlb};
use support::{GIB, load, machine_of, run, run_on};

#[test]
fn mod_1_the_wrong_path_touches_nothing() {
    // Silicon would fetch and load behind a wrong guess: here only what was executed exists.
    let (machine, _) = run("8468v-asic", |script| {
        let mut coin = cxlab_kernel::Stream::new(1, "coin");
        for line in 0..1_000 {
            script.independent_load(line * 64).branch(1, coin.below(2) == 1);
        }
    });
    assert_eq!(Summary::of(&machine).nodes["dram"].loads, 1_000);
}

#[test]
fn mod_2_code_is_never_fetched() {
    // A megabyte of NOPs, each executed once: silicon would read 16,384 lines of it.
    let (machine, _) = run("8468v-asic", |script| {
        for _ in 0..(1 << 17) {
            script.instruction(&[0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0], &[]);
        }
    });
    assert_eq!(Summary::of(&machine).nodes["dram"].read_bytes, 0);
}

#[test]
fn mod_3_sets_of_a_tlb_are_chosen_by_low_bits() {
    // 64 pages, each as many pages apart as the second TLB has sets: one set, 16 ways. Silicon hashes more bits than these.
    let mut tlb = Tlb::new(&MachineSpec::load("8468v-asic").unwrap().host.tlb);
    let page = |number: u32| {
        let id = PageId(NonZeroU32::new(number + 1).unwrap());
        Page::new(id, PageSize::Kib4, u64::from(number) * 128)
    };
    (0..64).for_each(|number| tlb.fill(page(number), Scope::default(), false, Time::ZERO));
    assert_eq!((0..64).filter(|number| tlb.second(page(*number)).is_some()).count(), 16);
}

#[test]
fn mod_4_the_streamer_fills_no_llc_alone() {
    // All lines that it has run ahead, up to 20, are in the core's L2; silicon leaves some of the far ones in the LLC.
    let mut spec = MachineSpec::load("8468v-asic").unwrap();
    spec.host.prefetch.enabled = Sourced::new(true, "the test");
    let (machine, _) = run_on(machine_of(spec), |script| {
        for line in 0..40 {
            script.chase(line * 64);
        }
        // Until all of them have come.
        script.chase(GIB).chase(GIB + 4096);
    });
    let read = Summary::of(&machine).nodes["dram"].read_bytes / 64;
    assert!(read > 50, "{read}");
    let core = &machine.cores()[0];
    assert_eq!((0..64).filter(|line| core.state(Hpa::new(line * 64)).is_some()).count() as u64, read);
}

#[test]
fn mod_7_kinds_of_operations_share_no_port() {
    // Five integer ports and three vector ports, of which silicon has five in all: six a cycle here.
    const COUNT: u64 = 60_000;
    let (_, times) = run("8468v-asic", |script| {
        for _ in 0..COUNT / 6 {
            for _ in 0..3 {
                script.free_move().instruction(&[0xc5, 0xf5, 0xfe, 0xc2], &[]); // vpaddd ymm0, ymm1, ymm2
            }
        }
    });
    assert!(COUNT as f64 / (times[0].as_ns() * 3.8) > 5.5);
}

#[test]
fn mod_8_a_row_of_the_reorder_buffer_is_an_instruction() {
    // Behind a miss the window fills with 512 rows; silicon's 512 entries hold half as many read-modify-writes.
    let (machine, _) = run("8468v-asic", |script| {
        script.chase(GIB);
        for index in 0..100 {
            script.add_to_memory(index % 8 * 8);
        }
        for _ in 0..400 {
            script.free_move();
        }
    });
    assert_eq!(machine.cores()[0].stats.window_full.get(), 0);
}

#[test]
fn mod_9_a_wait_for_the_clock_is_a_barrier() {
    // What follows rdtsc is dispatched after it has committed; silicon lets it overtake.
    let time = |barrier: bool| {
        let (_, times) = run("8468v-asic", |script| {
            script.independent_load(0);
            if barrier {
                script.settle(); // what a clock read does once it is dispatched
            }
            script.independent_load(3 * 64);
        });
        *times.last().unwrap()
    };
    assert!(time(true) >= time(false) + Time::from_ns(100));
}

#[test]
fn mod_5_a_hint_does_not_choose_the_level() {
    // prefetcht1 is for L2 (Intel SDM vol. 2B, PREFETCHh): here the load behind it hits L1.
    let (machine, _) = run("8468v-asic", |script| {
        script.instruction(&[0x0f, 0x18, 0x11], &[load(0)]).settle(); // prefetcht1 [rcx]
        script.step(cxlab_model::feed::Step::Delay { span: Time::from_ns(500) }).chase(0);
    });
    assert_eq!(machine.cores()[0].stats.l1_hits.get(), 1);
}
