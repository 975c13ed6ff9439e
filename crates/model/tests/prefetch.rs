//! What prefetchers bring, and what bounds them.

mod support;

use cxlab_kernel::Time;
use cxlab_model::MachineSpec;
use cxlab_model::config::Sourced;
use cxlab_model::summary::Summary;
use support::{GIB, Script, machine_of, run_on, shuffled};

const COUNT: u64 = 20_000;

/// Time of the script on `8468v-asic` with its prefetchers on or off, and the summary.
fn time(enabled: bool, write: impl FnOnce(&mut Script)) -> (Time, Summary) {
    let mut spec = MachineSpec::load("8468v-asic").unwrap();
    spec.host.prefetch.enabled = Sourced::new(enabled, "the test");
    let (machine, times) = run_on(machine_of(spec), write);
    (times[0], Summary::of(&machine))
}

#[test]
fn a_stream_keeps_the_superqueue_and_the_llc_prefetches_busy_and_no_more() {
    // Little's law on CXL memory, 284 ns and no queue at these rates: 16 fill buffers without prefetchers; 48 entries of
    // the superqueue and 11 lines for the LLC with them. A line that came to the LLC costs a second, short trip.
    let spec = MachineSpec::load("8468v-asic").unwrap();
    let stream = |script: &mut Script| {
        for line in 0..COUNT {
            script.independent_load(GIB + line * 64);
        }
    };
    let lines = |time: Time| COUNT as f64 * 284.0 / time.as_ns();
    let (off, without) = time(false, stream);
    let (on, with) = time(true, stream);
    assert!((15.0..=16.01).contains(&lines(off)), "{}", lines(off));
    let most = f64::from(*spec.host.prefetch.superqueue + *spec.host.prefetch.llc_lines);
    assert!(lines(on) > 0.9 * f64::from(*spec.host.prefetch.superqueue) && lines(on) <= most * 1.02, "{}", lines(on));
    assert_eq!(without.nodes["cxl"].prefetches, 0);
    // Each line is read once, and at most a distance beyond the end.
    let read = with.nodes["cxl"].read_bytes / 64;
    assert!((COUNT..=COUNT + 20).contains(&read), "{read}");
}

#[test]
fn a_random_chase_is_not_touched_by_prefetchers() {
    let chase = |script: &mut Script| {
        for address in shuffled(0, GIB, COUNT) {
            script.chase(address);
        }
    };
    assert_eq!(time(true, chase).0, time(false, chase).0);
}

#[test]
fn a_strided_load_finds_its_next_line_on_its_way() {
    // A chase over every fifth line: each load begins when the one before has its data. The prefetch leaves with the
    // load before, so that every other trip is saved.
    let chase = |script: &mut Script| {
        for line in 0..1000 {
            script.chase(line * 5 * 64);
        }
    };
    let (off, on) = (time(false, chase).0, time(true, chase).0);
    assert!(on.as_ns() < 0.6 * off.as_ns(), "{on} of {off}");
}
