//! A checker that knows nothing of translation layers finds no operation that cells cannot do.

use cxlab_kernel::Stream;
use cxlab_model::media::flash::checker::Checker;
use cxlab_model::media::flash::{BlockId, Collector, FlashPart, Kind, Operation, Precondition};
use cxlab_model::mem::AccessKind;

use super::harness::{Bench, small, spec, suspending};

/// Units read and written at random, a quarter of the drive more often than the rest: operations that the checker saw.
fn load(change: fn(&mut FlashPart), collector: Collector, how: Precondition, requests: u64) -> u64 {
    const UNITS: u64 = 16_384;
    let mut spec = spec("z-nand", |part| {
        change(part);
        part.planes.value = 2;
        part.pages.value = 32;
    });
    (spec.collector.value, spec.precondition.value, spec.dies.value) = (collector, how, 2);
    let mut bench = Bench::new(&spec, UNITS);
    let geometry = *bench.flash.geometry();
    let held = match how {
        Precondition::Full => geometry.logical.div_ceil(geometry.units_per_block()),
        // All but the erased ones: two and the one that hosts fill next.
        Precondition::Fragmented => geometry.blocks - 3,
    };
    let mut checker = Checker::new(geometry.stripes, held);
    bench.flash.begin_log();
    let (mut random, mut seen) = (Stream::new(9, "requests"), 0u64);
    for request in 0..requests {
        let kind = if random.below(3) == 0 { AccessKind::Read } else { AccessKind::Write };
        let within = if random.below(2) == 0 { UNITS / 4 } else { UNITS };
        let tag = bench.ask(random.below(within), kind);
        if request % 8 == 0 {
            bench.finish(tag);
        }
        for operation in bench.flash.take_log() {
            seen += 1;
            checker.take(&operation).unwrap_or_else(|fault| panic!("{fault}"));
        }
    }
    bench.drain();
    bench.flash.take_log().iter().for_each(|operation| checker.take(operation).unwrap());
    assert!(seen > requests && bench.flash.stats().erases.get() > 1_000, "{seen} operations");
    seen
}

#[test]
fn no_page_is_read_before_it_is_programmed_nor_programmed_twice() {
    for collector in [Collector::Greedy, Collector::CostBenefit] {
        for how in [Precondition::Full, Precondition::Fragmented] {
            load(small, collector, how, 200_000);
        }
    }
    load(suspending, Collector::Greedy, Precondition::Fragmented, 200_000);
}

#[test]
#[ignore = "10^8 operations take minutes"]
fn nor_in_a_hundred_million_operations() {
    let seen = load(small, Collector::Greedy, Precondition::Fragmented, 40_000_000);
    assert!(seen >= 100_000_000, "{seen} operations");
}

#[test]
fn the_checker_finds_what_cells_cannot_do() {
    let operation = |kind| Operation { at: cxlab_kernel::Time::ZERO, die: 0, kind };
    let block = BlockId(7);
    let program = |stripe| operation(Kind::Program { block, stripe });
    let read = |stripe| operation(Kind::Read { block, stripe, plane: 0 });
    let mut checker = Checker::new(4, 0);
    assert!(checker.take(&read(0)).is_err(), "read before it is programmed");
    assert!(checker.take(&program(0)).is_ok() && checker.take(&read(0)).is_ok());
    assert!(checker.take(&program(0)).is_err(), "programmed twice");
    assert!(checker.take(&program(2)).is_err(), "out of order");
    assert!(checker.take(&operation(Kind::Erase { block })).is_ok());
    assert!(checker.take(&read(0)).is_err(), "read after it is erased");
    assert!(checker.take(&program(0)).is_ok());
}
