//! How long reads and writes take, and how many there can be.

use cxlab_kernel::{Stream, Time};
use cxlab_model::mem::AccessKind::{Read, Write};

use cxlab_model::media::flash::Kind;

use super::harness::{Bench, UNIT, small, spec, suspending};

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
fn a_part_that_suspends_serves_a_read_in_the_middle_of_a_program() {
    let mut bench = Bench::new(&spec("z-nand", suspending), 8192);
    bench.flash.begin_log();
    bench.ask(0, Write);
    bench.ask(1, Write);
    bench.pass(Time::from_ns(20_000));
    let read = bench.ask(5, Read);
    // 5 us to suspend, 3 us of tR, 4 KiB at 1 GB/s, 500 ns of the controller.
    assert_eq!(bench.finish(read), Time::from_ns(20_000 + 5_000 + 3_000 + 4_096 + 500));
    bench.drain();
    let log = bench.flash.take_log();
    let begun: Vec<_> = log.iter().map(|operation| (operation.at.as_ns(), operation.kind)).collect();
    let [(0.0, Kind::Program { .. }), (25_000.0, Kind::Read { .. }), (second, Kind::Program { .. })] = begun[..] else {
        panic!("{begun:?}")
    };
    // The first program takes 4.096 us of the bus and 100 us, and what the read has taken from it.
    assert_eq!(second, 4_096.0 + 100_000.0 + 5_000.0 + 3_000.0 + 4_096.0);
    assert_eq!(bench.flash.stats().suspended.get(), 1);
}

#[test]
fn nothing_is_suspended_while_its_data_are_on_the_bus_nor_right_before_its_end() {
    for (at, suspended) in [(4_000, 0), (4_100, 1), (99_000, 1), (99_200, 0)] {
        let mut bench = Bench::new(&spec("z-nand", suspending), 8192);
        bench.ask(0, Write);
        bench.pass(Time::from_ns(at));
        let read = bench.ask(5, Read);
        let took = bench.finish(read) - Time::from_ns(at);
        assert_eq!(bench.flash.stats().suspended.get(), suspended, "a read at {at} ns");
        // Without suspension: the rest of the program, then tR, the bus and the controller.
        let rest = if suspended == 1 { 5_000 } else { 104_096 - at };
        assert_eq!(took, Time::from_ns(rest + 3_000 + 4_096 + 500));
    }
}

#[test]
fn a_stream_of_reads_does_not_keep_writes_from_their_programs() {
    let mut bench = Bench::new(&spec("z-nand", suspending), 8192);
    let writes: Vec<_> = (0..20).map(|unit| bench.ask(unit, Write)).collect();
    for read in 0..10_000 {
        bench.ask(100 + read % 4_000, Read);
        bench.pass(Time::from_ns(8_000));
    }
    let end = writes.into_iter().map(|write| bench.finish(write)).max().unwrap();
    // Each of the 17 that do not fit the buffer waits for a program, and each program for a read or two.
    assert!(end < Time::from_ns(20 * 150_000), "{} ns", end.as_ns());
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
