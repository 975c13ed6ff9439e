//! Translation: what pages within reach of the TLBs cost (nothing), what the others do (a walk's reads), and what is
//! forgotten.

mod support;

use std::collections::VecDeque;
use std::num::NonZeroU32;

use cxlab_kernel::Time;
use cxlab_model::addr::Hpa;
use cxlab_model::fact::Sourced;
use cxlab_model::feed::{LineAccess, Step};
use cxlab_model::summary::{Counters, Part};
use cxlab_model::translation::{AddressSpace, Array, ArraySpec, Forget, Mapping, Page, PageId, PageSize, Scope, Tlb};
use cxlab_model::{Machine, MachineSpec};
use proptest::prelude::*;
use support::{GIB, Script, load, machine};

/// Figures of the host of `8468v-asic`: a cycle at 3.8 GHz, L1, L2 and second TLB in cycles.
const GHZ: f64 = 3.8;
const L1: f64 = 5.0;
const L2: f64 = 15.0;
const SECOND_TLB: f64 = 7.0;
const PAGE: u64 = 4096;

/// The first 960 MiB of the DRAM in frames at their own addresses, page tables behind them.
fn space(size: PageSize) -> AddressSpace {
    let frames = AddressSpace::frames((0..480).map(|frame| frame << 21));
    AddressSpace::new(frames, Hpa::new(GIB - (64 << 20)), size)
}

/// Run a script whose accesses go through pages of this size.
fn run(size: PageSize, write: impl FnOnce(&mut Script, &dyn Fn(u64) -> LineAccess)) -> Ran {
    let space = space(size);
    let tables = space.tables;
    let through = move |address| {
        let access = load(address);
        LineAccess { page: Some(space.page(access.address)), ..access }
    };
    let mut script = Script::default();
    write(&mut script, &through);
    script.settle();
    let mut machine = machine("8468v-asic");
    machine.set_page_tables(tables);
    let mut feeds = [script];
    machine.run(&mut feeds, |_| Ok(())).unwrap_or_else(|error| panic!("{error}"));
    let [script] = feeds;
    Ran { machine, times: script.clock_answers }
}

struct Ran {
    machine: Machine,
    times: Vec<Time>,
}

impl Ran {
    fn walks(&self) -> u64 {
        self.machine.cores()[0].translation_stats().walks.get()
    }
}

const CHASE: &[u8] = &[0x48, 0x8b, 0x00]; // mov rax, [rax]

/// Mean time of a load of a chase in the second of two equal rounds `[cycles]`, and walks in all.
fn second_round(size: PageSize, order: impl Fn(u64) -> u64, count: u64) -> (f64, u64) {
    let ran = run(size, |script, through| {
        for _ in 0..2 {
            for step in 0..count {
                script.instruction(CHASE, &[through(order(step))]);
            }
            script.settle();
        }
    });
    ((ran.times[1] - ran.times[0]).as_ns() * GHZ / count as f64, ran.walks())
}

/// A line of page `page`, in another set of L1 than those of its neighbours.
fn line_of(page: u64) -> u64 {
    page * PAGE + page % 64 * 64
}

#[test]
fn pages_within_the_first_tlb_cost_nothing() {
    // 96 pages of 4 KiB fill it exactly; their lines fit L1.
    let (cycles, walks) = second_round(PageSize::Kib4, line_of, 96);
    assert!((cycles - L1).abs() < 0.02, "{cycles} cycles");
    assert_eq!(walks, 96);
}

#[test]
fn pages_within_the_second_tlb_cost_its_latency() {
    // 512 pages in turn: none of them is still in the first TLB when it comes again (LRU), all are in the second one.
    let (cycles, walks) = second_round(PageSize::Kib4, line_of, 512);
    assert!((cycles - (L1 + SECOND_TLB)).abs() < 0.02, "{cycles} cycles");
    assert_eq!(walks, 512);
}

#[test]
fn pages_beyond_both_tlbs_cost_the_read_of_their_entry() {
    // 16,384 pages are eight times what the second TLB holds, and 2,048 lines of PTEs. A line is read again after 2,048 others
    // and as many lines of data, so that it is in L2, not in L1. Their 32 page-directory entries are known.
    let order = |step: u64| {
        let page = step % 2048 * 8 + step / 2048;
        page * PAGE + page / 32 % 64 * 64
    };
    let (cycles, walks) = second_round(PageSize::Kib4, order, 1 << 14);
    assert!((cycles - (L2 + L2)).abs() < 0.1, "{cycles} cycles");
    assert_eq!(walks, 2 << 14);
    // The same lines through pages of 2 MiB: 32 of them.
    let (cycles, walks) = second_round(PageSize::Mib2, order, 1 << 14);
    assert!((cycles - L2).abs() < 0.1, "{cycles} cycles");
    assert_eq!(walks, 32);
}

#[test]
fn a_first_touch_reads_every_level_from_memory_and_says_so() {
    let alone = run(PageSize::Kib4, |script, _| {
        script.instruction(CHASE, &[load(1 << 20)]);
    });
    let ran = run(PageSize::Kib4, |script, through| {
        script.instruction(CHASE, &[through(1 << 20)]);
    });
    let walk_ns = ran.machine.cores()[0].translation_stats().walk_latency.mean_ns();
    // Each of the four entries is a load of its own that no cache has. Tables that lie together may find their row open, which
    // saves tRCD (16.67 ns, JESD79-5 at 4800).
    let (read, trcd) = (alone.times[0], 16.67);
    let least = 4.0 * read.as_ns() - 3.0 * trcd - 0.5;
    assert!((least..4.0 * read.as_ns() + 0.5).contains(&walk_ns), "{walk_ns} ns in reads of {read}");
    let (stats, stages) = ran.machine.nodes().next().unwrap();
    assert_eq!((stats.loads.get(), stats.walk_reads.get()), (1, 4));
    let translation = stages[cxlab_model::mem::Stage::Translation as usize];
    assert!((translation.as_ns() / walk_ns - 1.0).abs() < 1e-3, "{translation} of {walk_ns} ns");
    // The load begins when the walk ends: its own way is as long as alone.
    assert!(((ran.times[0] - translation).as_ns() / read.as_ns() - 1.0).abs() < 0.05, "{:?}", ran.times);
}

#[test]
fn a_walk_that_joins_a_miss_under_way_begins_when_it_is_asked_for() {
    const LOAD: &[u8] = &[0x48, 0x8b, 0x19]; // mov rbx, [rcx]
    const MULTIPLY: &[u8] = &[0x48, 0x0f, 0xaf, 0xc0]; // imul rax, rax
    const TARGET: u64 = 1 << 20;
    let ran = run(PageSize::Kib4, |script, through| {
        // The lines of all entries are on their way. The address is known 300 x 3 cycles later, behind their arrival; the
        // core looks that far ahead before the first of them has come.
        for entry in space(PageSize::Kib4).entries(Hpa::new(TARGET)) {
            script.instruction(LOAD, &[load(entry.get())]);
        }
        for _ in 0..300 {
            script.instruction(MULTIPLY, &[]);
        }
        script.instruction(CHASE, &[through(TARGET)]);
    });
    let stats = ran.machine.cores()[0].translation_stats();
    // All four entries are in L1 by then. A read that joined its line's miss is over as soon as it begins.
    let cycles = stats.walk_latency.mean_ns() * GHZ;
    assert_eq!(stats.walks.get(), 1);
    assert!((0.0..4.0 * L1 + 0.1).contains(&cycles), "{cycles} cycles");
    // The load itself is no earlier than its address: 300 multiplications of 3 cycles.
    assert!(ran.times[0].as_ns() * GHZ > 900.0, "{:?}", ran.times);
}

#[test]
fn the_counters_of_latency_begin_behind_translation() {
    // As L1D_PEND_MISS and the CHA's TOR do: from the fill buffer on, and from the home agent on.
    let read = |walks: bool| {
        let ran = run(PageSize::Kib4, |script, through| {
            script.instruction(CHASE, &[if walks { through(1 << 20) } else { load(1 << 20) }]);
        });
        Counters::default().read(&ran.machine)
    };
    let (walked, alone) = (read(true), read(false));
    // To the row of the bank that the walk may have opened: tRCD, 16.67 ns.
    let close = |one: Option<f64>, other: Option<f64>| (one.unwrap() - other.unwrap()).abs() < 17.0;
    assert!(close(walked.ddr_read_latency_ns, alone.ddr_read_latency_ns), "{walked:?} {alone:?}");
    assert!(close(walked.l1_miss_latency_ns, alone.l1_miss_latency_ns), "{walked:?} {alone:?}");
}

#[test]
fn no_more_walks_are_under_way_than_there_are_walkers() {
    // Loads of 64 pages, 2 MiB apart, that do not wait for each other: PTE and PDE lines of their own, 4 walkers.
    const COUNT: u64 = 64;
    let ran = run(PageSize::Kib4, |script, through| {
        for step in 0..COUNT {
            script.instruction(&[0x48, 0x8b, 0x01], &[through(step * (2 << 20) + step * 64)]);
        }
    });
    let stats = ran.machine.cores()[0].translation_stats();
    assert_eq!((stats.walks.get(), stats.walker_waits.get()), (COUNT, COUNT - 4));
    let alone = 100.0; // less than any read of the DRAM takes [ns]
    assert!(ran.times[0].as_ns() > COUNT as f64 / 4.0 * alone, "{}", ran.times[0]);
}

#[test]
fn who_needs_a_page_that_is_walked_for_waits_for_that_walk() {
    let ran = run(PageSize::Kib4, |script, through| {
        for line in 0..8 {
            script.instruction(&[0x48, 0x8b, 0x01], &[through((1 << 20) + line * 64)]);
        }
    });
    let stats = ran.machine.cores()[0].translation_stats();
    assert_eq!((stats.walks.get(), stats.joined.get(), stats.first_misses.get()), (1, 7, 8));
}

#[test]
fn a_store_is_complete_when_its_page_is_known() {
    // Its line is there, its page is not: the walk delays its commit.
    let ran = run(PageSize::Kib4, |script, through| {
        script.instruction(CHASE, &[load(1 << 20)]).settle();
        let store = LineAccess { store: true, ..through(1 << 20) };
        script.instruction(&[0x48, 0x89, 0x11], &[store]);
    });
    assert_eq!(ran.walks(), 1);
    assert!((ran.times[1] - ran.times[0]).as_ns() > 400.0, "{:?}", ran.times);
}

#[test]
fn what_is_invalidated_is_walked_for_again() {
    let walks = |forget: Forget| {
        let ran = run(PageSize::Kib4, |script, through| {
            script.instruction(CHASE, &[through(0)]).instruction(CHASE, &[through(PAGE)]);
            script.step(Step::Invalidate { forget });
            script.instruction(CHASE, &[through(0)]).instruction(CHASE, &[through(PAGE)]);
        });
        ran.walks()
    };
    assert_eq!(walks(Forget::Everything), 4);
    assert_eq!(walks(Forget::Page(PageId(NonZeroU32::MIN))), 3);
    assert_eq!(walks(Forget::Tables), 2);
    assert_eq!(walks(Forget::Space { pcid: 0 }), 4);
    assert_eq!(walks(Forget::Space { pcid: 7 }), 2);
}

#[test]
fn global_pages_stay_when_spaces_are_forgotten() {
    let spec = MachineSpec::load("8468v-asic").unwrap().host.tlb;
    let mapping =
        |pcid, global| Mapping { size: PageSize::Kib4, pcid, global, upper: false, reads: 4, entries: [0; 5] };
    let mappings = [mapping(1, false), mapping(1, true), mapping(2, false)];
    let page = |id: u32| Page::new(PageId(NonZeroU32::new(id).unwrap()), PageSize::Kib4, u64::from(id));
    let stay = |forget| {
        let mut tlb = Tlb::new(&spec);
        (1..).zip(&mappings).for_each(|(id, mapping)| tlb.fill(page(id), Scope::of(mapping), false, Time::ZERO));
        tlb.forget(forget);
        (1..=3).filter(|id| tlb.first(page(*id), false).is_some()).collect::<Vec<_>>()
    };
    assert_eq!(stay(Forget::Spaces), [2]);
    assert_eq!(stay(Forget::Space { pcid: 1 }), [2, 3]);
    assert_eq!(stay(Forget::Everything), [0u32; 0]);
}

#[test]
fn statistics_of_translation_are_in_the_tree() {
    let ran = run(PageSize::Kib4, |script, through| {
        script.instruction(CHASE, &[through(0)]);
    });
    let tree = Part::tree(&ran.machine);
    let core = tree.parts.iter().find(|part| part.name == "core0").unwrap();
    let translation = core.parts.iter().find(|part| part.name == "translation").unwrap();
    assert!(translation.statistics.iter().any(|entry| entry.name == "walks"));
}

/// An order to an array, against lists in the order of use.
#[derive(Clone, Copy, Debug)]
enum Told {
    Touch { number: u64, large: bool },
    Forget { number: u64 },
}

proptest! {
    #[test]
    fn an_array_is_a_list_of_each_set_in_the_order_of_use(
        told in proptest::collection::vec(
            prop_oneof![
                9 => (0u64..24, any::<bool>()).prop_map(|(number, large)| Told::Touch { number, large }),
                1 => (0u64..24).prop_map(|number| Told::Forget { number }),
            ],
            1..400,
        )
    ) {
        const SETS: u64 = 2;
        const WAYS: usize = 4;
        let sourced = |value| Sourced::new(value, "this test");
        let (entries, ways) = (sourced(SETS as u32 * WAYS as u32), sourced(WAYS as u32));
        let mut array = Array::new(&ArraySpec { entries, ways: ways.clone(), large_ways: ways });
        let mut lists: [VecDeque<u32>; SETS as usize] = Default::default();
        for told in told {
            match told {
                Told::Touch { number, large } => {
                    let size = if large { PageSize::Mib2 } else { PageSize::Kib4 };
                    let id = 1 + number as u32 * 2 + u32::from(large);
                    let page = Page::new(PageId(NonZeroU32::new(id).unwrap()), size, number);
                    let list = &mut lists[(number % SETS) as usize];
                    let place = list.iter().position(|held| *held == id);
                    prop_assert_eq!(array.find(page).is_some(), place.is_some());
                    match place {
                        Some(place) => drop(list.remove(place)),
                        None => array.insert(page, Scope::default(), Time::ZERO),
                    }
                    list.push_front(id);
                    list.truncate(WAYS);
                }
                Told::Forget { number } => {
                    let id = 1 + number as u32 * 2;
                    array.retain(|page, _| page.0.get() != id);
                    lists.iter_mut().for_each(|list| list.retain(|held| *held != id));
                }
            }
        }
    }
}
