//! Link-layer retry: as many flits fail as the bit error rate says, and each costs what a replay costs.

use cxlab_kernel::Time;
use cxlab_model::cxl::Lanes;
use cxlab_model::mem::AccessKind;

use crate::harness::{Bench, Media, Mix};
use crate::link_bound::link_bound;

const READS: Mix = Mix { reads: 1, writes: 0 };

#[test]
fn without_bit_errors_nothing_is_sent_again() {
    let mut bench = Bench::new(&link_bound(Lanes::X8, (1, 2, 2)), Media::fixed(Time::from_ns(50)));
    bench.closed_loop(600, READS, 20_000);
    let stats = bench.path.stats(bench.machine.queue.now());
    assert_eq!((stats.m2s.counts.retries.get(), stats.s2m.counts.retries.get()), (0, 0));
}

#[test]
fn flits_fail_and_cost_as_the_bit_error_rate_says() {
    let mut spec = link_bound(Lanes::X8, (1, 2, 2));
    let free = spec.link.bound(1, 0).unwrap() / 1e9;
    let (rate, retry_ns) = (1e-5_f64, 100.0);
    spec.link.bit_error_rate.value = rate;
    spec.link.retry_latency.value = "100 ns".parse().unwrap();
    let mut bench = Bench::new(&spec, Media::fixed(Time::from_ns(50)));
    let run = bench.closed_loop(600, READS, 60_000);
    let s2m = bench.path.stats(bench.machine.queue.now()).s2m.counts;

    // 544 bits, independent: p of a failed transmission; p / (1 - p) of them for each good flit.
    let p = 1.0 - (1.0 - rate).powi(544);
    let (flits, retries) = (s2m.flits.get() as f64, s2m.retries.get() as f64);
    let expected = flits * p / (1.0 - p);
    let deviation = (flits * p).sqrt() / (1.0 - p);
    assert!((retries - expected).abs() < 4.0 * deviation, "{retries} for {expected} +- {deviation}");

    // x8 at 32 GT/s: a flit of 2.125 ns; one that failed costs itself and the wait for its replay.
    let slowdown = 1.0 + retries / flits * (2.125 + retry_ns) / 2.125;
    let error = run.gb_s() / (free / slowdown) - 1.0;
    assert!(error.abs() < 0.02, "{} GB/s for {}: {:+.2} %", run.gb_s(), free / slowdown, error * 100.0);
}

#[test]
fn a_replay_delays_what_follows_it_but_loses_nothing() {
    let mut spec = link_bound(Lanes::X16, (1, 2, 2));
    spec.link.bit_error_rate.value = 9e-5;
    let mut bench = Bench::new(&spec, Media::fixed(Time::from_ns(50)));
    let traffic: Vec<_> = (0..500).map(|index| (Time::from_ns(index * 3), AccessKind::Read)).collect();
    let lives = bench.together(&traffic);
    // In order over both wires: a media of one latency keeps the order, and so does go-back-N.
    assert!(lives.windows(2).all(|pair| pair[0].ended <= pair[1].ended));
    assert!(bench.path.stats(Time::ZERO).m2s.counts.retries.get() > 0);
}
