//! Gaps of the model of flash: each test fails when its gap closes, and DEVIATIONS.md names it.

use cxlab_kernel::Time;
use cxlab_model::mem::AccessKind::{Read, Write};

use super::harness::{Bench, small, spec};

#[test]
fn a_read_waits_for_the_whole_program_before_it() {
    // FLA-1: drives suspend a program of 100 us for a read of 3 us. The part's file does not say so.
    let mut bench = Bench::new(&spec("z-nand", small), 8192);
    bench.ask(0, Write);
    let begun = bench.now();
    let read = bench.ask(5, Read);
    assert!(bench.finish(read) - begun > Time::from_ns(100_000));
}

#[test]
fn reads_of_two_planes_of_a_die_follow_each_other() {
    // FLA-2: parts with independent planes sense both at once.
    let mut bench = Bench::new(&spec("v-nand-tlc", |_| {}), 1 << 20);
    // A page has 4 units, and a stripe a page of each of two planes.
    let (first, second) = (bench.ask(0, Read), bench.ask(4, Read));
    let (first, second) = (bench.finish(first), bench.finish(second));
    assert!(second - first > Time::from_ns(60_000));
}
