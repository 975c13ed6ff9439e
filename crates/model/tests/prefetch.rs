//! Prefetchers bring lines within bounds.

mod support;

use cxlab_kernel::Time;
use cxlab_model::MachineSpec;
use cxlab_model::cache::CacheSpec;
use cxlab_model::fact::Sourced;
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

/// Loads of lines in a row that do not wait for each other, in CXL memory.
fn stream(script: &mut Script) {
    for line in 0..COUNT {
        script.independent_load(GIB + line * 64);
    }
}

/// Little's law on CXL memory, 284 ns and no queue at these rates (CXL-DMSim, figure 10).
fn lines_in_flight(time: Time) -> f64 {
    COUNT as f64 * 284.0 / time.as_ns()
}

/// Lines of a stream under way, with and without the homeless prefetch, and what the first one has read.
fn streams(superqueue: u32) -> (f64, f64, Summary) {
    let [with, without] = [true, false].map(|homeless| {
        let mut spec = MachineSpec::load("8468v-asic").unwrap();
        spec.host.prefetch.enabled = Sourced::new(true, "the test");
        spec.host.prefetch.homeless = Sourced::new(homeless, "the test");
        spec.host.prefetch.superqueue = Sourced::new(superqueue, "the test");
        let (machine, times) = run_on(machine_of(spec), stream);
        (lines_in_flight(times[0]), Summary::of(&machine))
    });
    (with.0, without.0, with.1)
}

#[test]
fn loads_without_a_fill_buffer_keep_the_superqueue_busy() {
    // 192 loads wait for lines in a row, of which 16 have a fill buffer (Golden Cove). The others are homeless: their lines come
    // to L2 as long as the superqueue has entries. COUNT lines fit into L2, so no victim takes an entry.
    // Without them a core has its fill buffers and the streamer's 20 lines, less what the end of a page costs.
    for superqueue in [48, 44] {
        let (with, without, summary) = streams(superqueue);
        assert!(without <= 36.0 && with > 36.0, "{with} of {superqueue}, without {without}");
        assert!(with <= 1.02 * f64::from(superqueue), "{with} of {superqueue}");
        let read = summary.nodes["cxl"].read_bytes / 64;
        assert!((COUNT..=COUNT + 20).contains(&read), "{read}");
    }
}

#[test]
fn a_stream_keeps_the_fill_buffers_and_twenty_lines_ahead_of_them_busy_and_no_more() {
    // A load holds a fill buffer whether a prefetch asked for its line or not: 16, and the streamer's 20 lines beyond them.
    // A stream ends with its page of 64 lines, which so takes two round trips: 32 lines in each.
    let (off, without) = time(false, stream);
    let mut spec = MachineSpec::load("8468v-asic").unwrap();
    spec.host.prefetch.enabled = Sourced::new(true, "the test");
    spec.host.prefetch.homeless = Sourced::new(false, "the test");
    let (machine, times) = run_on(machine_of(spec), stream);
    let (on, with) = (times[0], Summary::of(&machine));
    assert!((15.0..=16.01).contains(&lines_in_flight(off)), "{}", lines_in_flight(off));
    assert!((28.0..=36.0).contains(&lines_in_flight(on)), "{}", lines_in_flight(on));
    assert_eq!(without.nodes["cxl"].prefetches, 0);
    // Each line is read once, and at most a distance beyond the end.
    let read = with.nodes["cxl"].read_bytes / 64;
    assert!((COUNT..=COUNT + 20).contains(&read), "{read}");
}

#[test]
fn a_line_in_the_superqueue_keeps_a_prefetch_out_and_a_victim_of_l2_is_one() {
    // There are 20 entries. A stream without victims gets 20 lines in 284 ns. A stream that brings victims, clean ones, gets them
    // in 284 ns and the LLC's 33 ns. L2 has 32,768 lines, so the first pass of COUNT has no victims and the third has.
    let mut spec = MachineSpec::load("8468v-asic").unwrap();
    spec.host.prefetch.enabled = Sourced::new(true, "the test");
    spec.host.prefetch.superqueue = Sourced::new(20, "the test");
    let (_, times) = run_on(machine_of(spec), |script| {
        for pass in 0..3 {
            for line in pass * COUNT..(pass + 1) * COUNT {
                script.independent_load(GIB + line * 64);
            }
            script.settle();
        }
    });
    // Lines of a page come in bursts, and so their victims wait for each other: it may be twice as much.
    let (first, third) = (times[0].as_ns(), (times[2] - times[1]).as_ns());
    let more = 33.0 / 284.0;
    assert!((1.0 + 0.9 * more..1.0 + 1.5 * more).contains(&(third / first)), "{}", third / first);
}

#[test]
fn lines_of_a_pair_come_together() {
    // All lines of blocks of 256 KiB in a random order: 16 fill buffers bring 32 lines, for each second one is in L2.
    let mut random = cxlab_kernel::Stream::new(1, "blocks");
    let mut order: Vec<u64> = (0..4096).collect();
    for last in (1..order.len()).rev() {
        order.swap(last, random.below(last as u64 + 1) as usize);
    }
    let blocks = |pairs: bool| {
        let mut spec = MachineSpec::load("8468v-asic").unwrap();
        spec.host.prefetch.enabled = Sourced::new(true, "the test");
        spec.host.prefetch.pairs = Sourced::new(pairs, "the test");
        spec.host.prefetch.homeless = Sourced::new(false, "the test");
        let (machine, times) = run_on(machine_of(spec), |script| {
            for line in (0..5).flat_map(|block| order.iter().map(move |place| block * 4096 + place)) {
                script.independent_load(GIB + line * 64);
            }
        });
        (times[0].as_ns(), Summary::of(&machine).nodes["cxl"].read_bytes / 64)
    };
    let ((alone, read_alone), (together, read)) = (blocks(false), blocks(true));
    assert!((1.8..2.1).contains(&(alone / together)), "{}", alone / together);
    // Nothing is read in vain, a line is at most read twice where the streamer runs over a block's end.
    assert!(read <= read_alone.max(5 * 4096) + 20, "{read} of {read_alone}");
}

#[test]
fn a_random_chase_brings_pairs_and_gains_nothing() {
    let chase = |script: &mut Script| {
        for address in shuffled(0, GIB, COUNT) {
            script.chase(address);
        }
    };
    let ((on, with), (off, without)) = (time(true, chase), time(false, chase));
    assert!((0.97..1.03).contains(&(on.as_ns() / off.as_ns())), "{on} of {off}");
    let read = |summary: &Summary| summary.nodes["dram"].read_bytes as f64;
    assert!((1.9..=2.0).contains(&(read(&with) / read(&without))), "{}", read(&with) / read(&without));
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

/// Mean time of a load in a chase through lines that are in L2, not in L1.
fn chase_in_l2(lines: impl Iterator<Item = u64> + Clone, set: impl FnOnce(&mut MachineSpec)) -> f64 {
    let count = lines.clone().count() as f64;
    let mut spec = MachineSpec::load("8468v-asic").unwrap();
    spec.host.prefetch.enabled = Sourced::new(true, "the test");
    set(&mut spec);
    let (_, times) = run_on(machine_of(spec), |script| {
        for _ in 0..2 {
            for line in lines.clone() {
                script.chase(line * 64);
            }
            script.settle();
        }
    });
    (times[1] - times[0]).as_ns() / count
}

/// Latencies of hits of L1 and L2 [ns].
fn hits() -> (f64, f64) {
    let spec = MachineSpec::load("8468v-asic").unwrap();
    let ns = |cache: &CacheSpec| spec.host.core.frequency.cycles(cache.latency.0).as_ns();
    (ns(&spec.host.l1), ns(&spec.host.l2))
}

#[test]
fn the_next_line_of_a_chase_in_a_row_is_on_its_way_to_l1() {
    // 256 KiB are in L2 (2 MiB) and not in L1 (48 KiB). The page before ends where the next one begins, so only the first
    // line of a page is not asked for. A line comes one hit of L2 after the load before asked for it. The load of the line
    // asks for the next one when that load is done. So two loads take as long as one hit of L2.
    let next_line = |on: bool| chase_in_l2(0..4096, |spec| spec.host.prefetch.next_line = Sourced::new(on, "the test"));
    let (_, l2) = hits();
    assert!((next_line(true) / ((63.0 / 2.0 + 1.0) * l2 / 64.0) - 1.0).abs() < 0.02, "{} ns", next_line(true));
    assert!((next_line(false) / l2 - 1.0).abs() < 0.01, "{} ns", next_line(false));
}

#[test]
fn the_next_line_of_a_strided_load_is_on_its_way_to_l1() {
    // Every fifth line of 1 MiB: 3,277 lines, of which L1 keeps 768. A stride knows nothing of pages, and is as far ahead
    // as the next line.
    let (_, l2) = hits();
    let strided = chase_in_l2((0..16_384).step_by(5), |_| {});
    assert!((strided / (l2 / 2.0) - 1.0).abs() < 0.01, "{strided} ns, not half of {l2}");
}

#[test]
fn a_second_load_of_a_line_that_comes_from_l2_waits_for_it_too() {
    // Both loads leave at once. The line is in L2, and was pushed out of L1 (48 KiB) by 128 KiB of others.
    let mut spec = MachineSpec::load("8468v-asic").unwrap();
    spec.host.prefetch.enabled = Sourced::new(false, "the test");
    let (_, times) = run_on(machine_of(spec), |script| {
        for line in 0..2048 {
            script.chase(line * 64);
        }
        script.settle();
        script.independent_load(0);
        script.independent_load(8);
        script.settle();
        script.independent_load(16);
        script.settle();
    });
    let (l1, l2) = hits();
    let [second, later] = [times[1] - times[0], times[2] - times[1]].map(Time::as_ns);
    assert!((second - later - (l2 - l1)).abs() < 0.3, "{second} ns, and {later} ns when L1 has the line");
}

#[test]
fn nothing_comes_to_l1_while_loads_hold_all_fill_buffers() {
    let l1_prefetches = |fill_buffers: u32| {
        let mut spec = MachineSpec::load("8468v-asic").unwrap();
        spec.host.prefetch.enabled = Sourced::new(true, "the test");
        spec.host.core.fill_buffers = Sourced::new(fill_buffers, "the test");
        let (machine, _) = run_on(machine_of(spec), |script| {
            for line in 0..64 {
                script.chase(GIB + line * 64);
            }
        });
        machine.cores()[0].stats.l1_prefetches.get()
    };
    assert_eq!(l1_prefetches(1), 0);
    assert!(l1_prefetches(2) > 30, "{}", l1_prefetches(2));
}
