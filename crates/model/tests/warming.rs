//! Functional warming leaves caches and predictor as detail would have left them.

mod support;

use cxlab_kernel::Stream;
use cxlab_model::Machine;
use cxlab_model::feed::{Branch, Outcome, Touch};
use cxlab_model::summary::Summary;
use support::{Script, load, machine, store};

const MACHINE: &str = "8468v-asic";
const LINE: u64 = 64;

fn touch(machine: &mut Machine, line: u64, touch: Touch) {
    let access = if touch == Touch::NonTemporal { store(line * LINE) } else { load(line * LINE) };
    machine.touch(0, access, touch);
}

fn run(machine: &mut Machine, write: impl FnOnce(&mut Script)) -> Summary {
    let before = Summary::of(machine);
    let mut script = Script::default();
    write(&mut script);
    script.settle();
    machine.run(&mut [script], |_| Ok(())).unwrap();
    let mut after = Summary::of(machine);
    let dram = after.nodes.get_mut("dram").unwrap();
    dram.loads -= before.nodes["dram"].loads;
    after.core.l1_hits -= before.core.l1_hits;
    after
}

#[test]
fn what_was_touched_functionally_hits_in_detail_and_counts_nowhere() {
    let mut machine = machine(MACHINE);
    (0..100).for_each(|line| touch(&mut machine, line, Touch::Plain));
    let nothing = Summary::of(&machine);
    assert_eq!((nothing.nodes["dram"].loads, nothing.core.l1_hits, nothing.core.llc_misses), (0, 0, 0));
    let summary = run(&mut machine, |script| {
        (0..100).for_each(|line| {
            script.independent_load(line * LINE);
        });
    });
    assert_eq!((summary.nodes["dram"].loads, summary.core.l1_hits), (0, 100));
}

#[test]
fn flushed_and_streamed_lines_are_gone() {
    for gone in [Touch::Flush, Touch::NonTemporal] {
        let mut machine = machine(MACHINE);
        touch(&mut machine, 7, Touch::Plain);
        touch(&mut machine, 7, gone);
        let summary = run(&mut machine, |script| {
            script.independent_load(7 * LINE);
        });
        assert_eq!(summary.nodes["dram"].loads, 1, "{gone:?}");
    }
}

#[test]
fn a_walk_warmed_up_functionally_misses_as_often_as_one_warmed_up_in_detail() {
    // 3 MiB: above the L2 (2 MiB), below the LLC, so LRU of three levels decides.
    let walk = |seed| {
        let mut random = Stream::new(seed, "walk");
        (0..40_000).map(move |_| random.below(3 << 20 >> 6)).collect::<Vec<_>>()
    };
    let probe: Vec<_> = walk(2).into_iter().take(10_000).collect();
    let counted = |machine: &mut Machine, lines: &[u64]| {
        let summary = run(machine, |script| {
            lines.iter().for_each(|line| {
                script.chase(line * LINE);
            });
        });
        [summary.nodes["dram"].loads as f64, summary.core.l1_hits as f64]
    };
    let mut functional = machine(MACHINE);
    walk(1).into_iter().for_each(|line| touch(&mut functional, line, Touch::Plain));
    let functional = counted(&mut functional, &probe);
    let alone = counted(&mut machine(MACHINE), &walk(1));
    let both = counted(&mut machine(MACHINE), &[walk(1), probe].concat());
    for (one, (all, before)) in functional.into_iter().zip(both.into_iter().zip(alone)) {
        let (other, detailed) = (all - before, (both, alone));
        assert!((one - other).abs() <= 0.01 * other.max(100.0), "{functional:?} {detailed:?}");
    }
}

#[test]
fn a_branch_learnt_functionally_is_guessed_in_detail() {
    let mut machine = machine(MACHINE);
    let next = 0x50_0000;
    for _ in 0..100 {
        machine.learn_branch(0, Branch::Conditional, Outcome { next, target: next });
    }
    let summary = run(&mut machine, |script| {
        script.serial_add().branch(0, false);
    });
    assert_eq!((summary.core.branches, summary.core.mispredictions), (1, 0));
}
