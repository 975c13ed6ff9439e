//! DevLoad and the host's throttling on it.

use cxlab_kernel::Time;
use cxlab_model::cxl::{Lanes, ThrottleSpec};
use cxlab_model::fabric::ExpanderSpec;
use cxlab_model::fact::Sourced;

use crate::harness::{Bench, Media, Mix};
use crate::link_bound::link_bound;

const READS: Mix = Mix { reads: 1, writes: 0 };
/// A media of 50 ns and a line each 5 ns keeps ten lines in its pipeline.
const SLOW: Media = Media { latency: Time::from_ns(50), gap: Time::from_ns(5) };

/// Thresholds at 16, 24 and 30 of a queue of 32. At full bandwidth a line is in the queue for 50 + 15 + 2.1 ns,
/// so that 13.4 of them are in it.
fn queue_of_32(throttled: bool) -> ExpanderSpec {
    let mut spec = link_bound(Lanes::X16, (1, 2, 2));
    spec.device.read_queue.value = 32;
    let dev_load = &mut spec.device.dev_load;
    (dev_load.optimal.value, dev_load.moderate.value, dev_load.severe.value) = (0.5, 0.75, 0.9375);
    spec.throttle = throttled
        .then(|| ThrottleSpec { interval: Sourced::new(Time::from_ns(1000), "test"), floor: Sourced::new(4, "test") });
    spec
}

fn loads(window: u32) -> [u64; 4] {
    let mut bench = Bench::new(&queue_of_32(false), SLOW);
    bench.closed_loop(window, READS, 5_000);
    let device = bench.path.stats(Time::ZERO).device.counts;
    [device.light_load, device.optimal_load, device.moderate_overload, device.severe_overload].map(|load| load.get())
}

#[test]
fn the_load_is_that_of_the_queue() {
    // Below 16 in flight the queue cannot be at its first threshold.
    assert_eq!(loads(15), [5_000, 0, 0, 0]);
    // 600 in flight before a slow media: the queue is full all the time but at the start and the end.
    let [light, optimal, moderate, severe] = loads(600);
    assert!(light + optimal + moderate < 50 && severe > 4_950, "{light} {optimal} {moderate} {severe}");
}

#[test]
fn a_host_that_throttles_shortens_the_queue_and_keeps_the_bandwidth() {
    let run = |throttled| {
        let mut bench = Bench::new(&queue_of_32(throttled), SLOW);
        let bandwidth = bench.closed_loop(600, READS, 60_000).gb_s();
        let now = bench.machine.queue.now();
        let stats = bench.path.stats(now);
        (bandwidth, stats.root_port.response_fifo, stats.root_port.counts.throttled.get())
    };
    let (free, free_in_flight, free_throttled) = run(false);
    let (bandwidth, in_flight, throttled) = run(true);
    assert_eq!(free_throttled, 0);
    assert!(throttled > 0);
    // The path beside the media holds (158 ns + its pipeline of 50 ns) / 5 ns = 42 lines at full bandwidth.
    assert!(free_in_flight > 550.0 && in_flight < 150.0, "{free_in_flight} {in_flight}");
    assert!(bandwidth > 0.95 * free, "{bandwidth} of {free}");
    assert!((free / 12.8 - 1.0).abs() < 0.01, "64 B in 5 ns are 12.8 GB/s, not {free}");
}

#[test]
fn throttling_stops_at_its_floor() {
    // A media of 2 us: even four in flight fill a queue of four.
    let mut spec = queue_of_32(true);
    spec.device.read_queue.value = 4;
    let mut bench = Bench::new(&spec, Media::fixed(Time::from_ns(2_000)));
    let run = bench.closed_loop(600, READS, 20_000);
    // Little: four in flight over 2158 ns at least.
    let floor = 4.0 * 64.0 / 2_158.0;
    assert!(run.gb_s() >= 0.99 * floor, "{} below {floor}", run.gb_s());
}
