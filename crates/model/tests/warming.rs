//! Functional warming leaves caches and predictor as detail would have left them.

mod support;

use std::ops::Range;

use cxlab_kernel::{Bytes, Stream};
use cxlab_model::addr::Hpa;
use cxlab_model::fact::Sourced;
use cxlab_model::feed::{Branch, LineAccess, Outcome, Touch};
use cxlab_model::home::AddressRange;
use cxlab_model::request::NodeId;
use cxlab_model::summary::Summary;
use cxlab_model::translation::{AddressSpace, Forget, PageSize};
use cxlab_model::{Machine, MachineSpec};
use support::{GIB, Script, load, machine, machine_of, store};

const MACHINE: &str = "8468v-asic";
const MACHINE_OF_FLASH: &str = "cmm-h-800";
const LINE: u64 = 64;
const CHASE: &[u8] = &[0x48, 0x8b, 0x00]; // mov rax, [rax]

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
fn prefetchers_read_ahead_of_what_is_touched_functionally() {
    let spec = || MachineSpec::load(MACHINE).unwrap();
    // Each miss brings the other line of its 128 bytes (Intel 248966, "Data Prefetch to the L2 and Last Level Caches").
    let mut machine = machine_of(spec());
    let pages = || (0..1000).map(|page| page * 64);
    pages().for_each(|line| touch(&mut machine, line, Touch::Plain));
    let summary = run(&mut machine, |script| {
        pages().for_each(|line| {
            script.chase((line + 1) * LINE);
        });
    });
    assert_eq!(summary.nodes["dram"].loads, 0);
    // L1 looks for the next line in L2 at each touch, up to 1034. From the third look at a line in a row, each runs two
    // lines on: 1027 to 1044 are here, and 1045 is not.
    let mut machine = machine_of(spec());
    (1024..1034).for_each(|line| touch(&mut machine, line, Touch::Plain));
    for (line, loads) in [(1034, 0), (1044, 0), (1045, 1)] {
        let summary = run(&mut machine.clone(), |script| {
            script.chase(line * LINE);
        });
        assert_eq!(summary.nodes["dram"].loads, loads, "{line}");
    }
}

#[test]
fn as_many_lines_are_refused_functionally_as_in_detail() {
    const PAGES: u64 = 2048;
    let mut spec = MachineSpec::load(MACHINE).unwrap();
    // Few more entries than fill buffers: where loads overlap, the other line of 128 bytes often finds no room.
    let entries = *spec.host.core.fill_buffers + 4;
    spec.host.prefetch.superqueue = Sourced::new(entries, "the test");
    let mut machine = machine_of(spec);
    // Triangular numbers: no two distances are equal, or a prefetcher of L1 would follow them. 66 lines spread over L2's sets.
    let lines = |from: u64| (0..PAGES).map(move |number| (from + number * (number + 1) / 2 % PAGES) * 66);
    let missing = |machine: &Machine, from: u64| {
        let others = lines(from).map(|line| Hpa::new((line + 1) * LINE));
        others.filter(|other| machine.cores()[0].state(*other).is_none()).count() as u64
    };
    run(&mut machine, |script| {
        lines(0).for_each(|line| {
            script.independent_load(line * LINE);
        });
    });
    let in_detail = missing(&machine, 0);
    assert!((PAGES / 10..PAGES * 9 / 10).contains(&in_detail), "{in_detail}");
    lines(PAGES).for_each(|line| touch(&mut machine, line, Touch::Plain));
    let functionally = missing(&machine, PAGES);
    assert!(in_detail.abs_diff(functionally) < PAGES / 50, "{in_detail} in detail, {functionally} functionally");
}

#[test]
fn lines_that_are_near_already_are_not_counted_among_the_refused() {
    const HOT: u64 = 1 << 20;
    const PAGES: u64 = 100;
    let mut spec = MachineSpec::load(MACHINE).unwrap();
    // The others are not to bring the line that the next-line prefetcher wants.
    spec.host.prefetch.pairs = Sourced::new(false, "the test");
    spec.host.prefetch.stream_distance = Sourced::new(1, "the test");
    let mut machine = machine_of(spec);
    (0..64).for_each(|line| touch(&mut machine, HOT + line, Touch::Plain));
    // Misses fill the fill buffers. Between them come loads in a row, whose next lines L1 has.
    run(&mut machine, |script| {
        (0..2048).for_each(|number| {
            script.independent_load(number * (number + 1) / 2 % 2048 * 66 * LINE);
            script.independent_load((HOT + number % 64) * LINE);
        });
    });
    let pages = || (0..PAGES).map(|page| 2 * HOT + page * 64);
    pages().for_each(|line| (line..line + 2).for_each(|line| touch(&mut machine, line, Touch::Plain)));
    let brought = |line: u64| machine.cores()[0].state(Hpa::new((line + 2) * LINE)).is_some();
    assert_eq!(pages().filter(|line| brought(*line)).count() as u64, PAGES);
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
fn a_page_that_was_touched_functionally_is_translated_without_a_walk_until_it_is_forgotten() {
    let frames = AddressSpace::frames((0..4).map(|frame| frame << 21));
    let space = AddressSpace::new(frames, Hpa::new(GIB - (64 << 20)), PageSize::Kib4);
    // More pages than the first TLB holds, fewer than the second one does (data/hosts: 96 and 2048).
    let through = |page: u64| {
        let access = load(page << 12);
        LineAccess { page: Some(space.page(access.address)), ..access }
    };
    for (forgets, walks) in [(false, 0), (true, 200)] {
        let mut machine = machine(MACHINE);
        machine.set_page_tables(space.tables);
        (0..200).for_each(|page| machine.touch(0, through(page), Touch::Plain));
        if forgets {
            machine.forget_translations(0, Forget::Everything);
        }
        run(&mut machine, |script| {
            (0..200).for_each(|page| {
                script.instruction(CHASE, &[through(page)]);
            });
        });
        let stats = machine.cores()[0].translation_stats();
        assert_eq!((stats.walks.get(), stats.first_misses.get() > 0), (walks, true));
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

/// A page of the cache of `cmm-h-800`.
const PAGE: u64 = 4096;

#[test]
fn what_was_touched_functionally_is_in_the_cache_of_its_device() {
    let set = ["capacity=64KiB", "ways=16", "start=empty"].map(|change| format!("nodes.cxl.device.cache.{change}"));
    let node = NodeId(1);
    let fills = |touched: Range<u64>, read: Range<u64>| {
        let mut machine = machine_of(MachineSpec::load_with(MACHINE_OF_FLASH, &set).unwrap());
        let page = |number: u64| GIB + number * PAGE;
        touched.for_each(|number| machine.touch(0, load(page(number)), Touch::Plain));
        let mut script = Script::default();
        // Another line of the page, so that no cache of the host has it.
        read.for_each(|number| {
            script.independent_load(page(number) + PAGE / 2);
        });
        script.settle();
        machine.run(&mut [script], |_| Ok(())).unwrap();
        let port = machine.ports(node).next().unwrap();
        port.expander.unwrap().device_cache.unwrap().fills.get()
    };
    // One set of 16 ways.
    assert_eq!(fills(0..16, 0..16), 0, "all pages are there");
    assert_eq!(fills(0..0, 0..16), 16, "no page is there");
    assert_eq!(fills(0..32, 16..32), 0, "the 16 pages that were touched last are there");
    assert_eq!(fills(0..32, 0..16), 16, "the 16 pages before them are not");
}

#[test]
fn lines_that_snoops_push_out_of_the_llc_are_written_in_no_time() {
    // Each slice holds one line. Core 0 changes 500 lines, and core 1 reads them: each comes to the LLC, and pushes the
    // one before it out. Nothing of that is left for detail.
    let mut spec = support::quiet(MACHINE);
    spec.host.llc.slice_capacity = Sourced::new(Bytes::new(LINE), "the test");
    spec.host.llc.ways = Sourced::new(1, "the test");
    let mut machine = Machine::new(spec, 2, &[AddressRange { start: 0, length: GIB, node: 0 }]).unwrap();
    (0..500).for_each(|line| machine.touch(0, store(line * LINE), Touch::Plain));
    (0..500).for_each(|line| machine.touch(1, load(line * LINE), Touch::Plain));
    let mut scripts = [Script::default(), Script::default()];
    scripts[0].chase(GIB / 2);
    for script in &mut scripts {
        script.settle();
    }
    machine.run(&mut scripts, |_| Ok(())).unwrap();
    let dram = &Summary::of(&machine).nodes["dram"];
    assert_eq!((dram.loads, dram.write_bytes), (1, 0));
}
