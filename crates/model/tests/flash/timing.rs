//! How long reads and writes take, and how many there can be.

use cxlab_kernel::{Stream, Time};
use cxlab_model::mem::AccessKind::{Read, Write};

use super::harness::{Bench, UNIT, small, spec};

#[test]
fn a_random_read_alone_takes_the_cells_the_bus_and_the_controller() {
    for part in ["z-nand", "v-nand-tlc", "qlc"] {
        let spec = spec(part, |_| {});
        let mut bench = Bench::new(&spec, 1 << 20);
        let (cells, bus) = (*spec.part.part().read, spec.part.part().bus.as_gb_s());
        // The bus moves so many bytes a nanosecond.
        let wanted = cells.as_ns() + UNIT as f64 / bus + 500.0;
        let mut random = Stream::new(1, "reads");
        for _ in 0..100 {
            let begun = bench.now();
            let tag = bench.ask(random.below(1 << 20), Read);
            let took = bench.finish(tag) - begun;
            assert!((took.as_ns() - wanted).abs() < 0.01, "{part}: {} ns for {wanted} ns", took.as_ns());
        }
    }
}

#[test]
fn reads_never_take_more_than_the_buses_carry_nor_more_than_the_dies_sense() {
    for (channels, dies, bound_by_bus) in [(1, 1, false), (1, 64, true), (4, 32, true), (4, 1, false)] {
        let mut spec = spec("z-nand", small);
        (spec.channels.value, spec.dies.value) = (channels, dies);
        let units = u64::from(channels * dies) * 8192;
        let mut bench = Bench::new(&spec, units);
        const READS: u64 = 4_000;
        let mut random = Stream::new(2, "reads");
        let tags: Vec<_> = (0..READS).map(|_| bench.ask(random.below(units), Read)).collect();
        let end = tags.into_iter().map(|tag| bench.finish(tag)).max().unwrap();
        let found = (READS * UNIT) as f64 / end.as_ns();
        // Buses of 1 GB/s; a die senses and sends 4 KiB in 3 us and 4.096 us.
        let bus = f64::from(channels);
        let cells = f64::from(channels * dies) * UNIT as f64 / (3_000.0 + 4_096.0);
        let bound = bus.min(cells);
        assert!(found <= bound, "{channels} x {dies}: {found} GB/s of {bound}");
        // Random units load dies unevenly; the last one to finish decides.
        assert!(found > 0.6 * bound, "{channels} x {dies}: {found} GB/s of {bound}");
        assert_eq!(bus < cells, bound_by_bus);
    }
}

#[test]
fn a_write_is_done_when_the_buffer_has_it_and_then_waits_for_programs() {
    let mut bench = Bench::new(&spec("z-nand", small), 8192);
    let controller = Time::from_ns(500);
    let first = bench.ask(0, Write);
    assert_eq!(bench.finish(first), controller, "the buffer takes it at once");
    let begun = bench.now();
    let tags: Vec<_> = (1..=400).map(|unit| bench.ask(unit, Write)).collect();
    let end = tags.into_iter().map(|tag| bench.finish(tag)).max().unwrap();
    // Stripes of one unit on one die: each takes 4.096 us on the bus and 100 us to the cells; the buffer holds a few.
    let each = (end - begun).as_ns() / 400.0;
    assert!((each / 104_096.0 - 1.0).abs() < 0.02, "{each} ns a unit");
}

#[test]
fn a_read_of_what_is_still_in_the_buffer_needs_no_cells() {
    let mut bench = Bench::new(&spec("v-nand-tlc", |_| {}), 1 << 20);
    let written = bench.ask(77, Write);
    let begun = bench.finish(written);
    let read = bench.ask(77, Read);
    assert_eq!(bench.finish(read) - begun, Time::from_ns(500));
    assert_eq!((bench.flash.stats().buffer_hits.get(), bench.flash.stats().reads.get()), (1, 0));
}

#[test]
fn collection_gives_way_to_reads() {
    let mut bench = Bench::new(&spec("z-nand", small), 8192);
    let mut random = Stream::new(3, "writes");
    // Past the spare blocks, so that collection works all the time.
    for _ in 0..6_000 {
        let tag = bench.ask(random.below(8192), Write);
        bench.finish(tag);
    }
    let mut worst = Time::ZERO;
    for _ in 0..200 {
        bench.ask(random.below(8192), Write);
        let begun = bench.now();
        let tag = bench.ask(random.below(8192), Read);
        worst = worst.max(bench.finish(tag) - begun);
    }
    assert!(bench.flash.stats().preempted.get() > 0);
    // A block of 256 stripes takes 5 ms to copy at the least: half of it is valid, each unit is programmed in 100 us.
    // A read waits for the operation under way, an erase of 1 ms, and at most two stripes of the buffer.
    assert!(worst < Time::from_ns(1_500_000), "{worst}");
}
