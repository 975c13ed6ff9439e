//! A link that is trained anew carries what its new lanes and rate carry, after a rest.

use cxlab_kernel::Time;
use cxlab_model::cxl::{Lanes, LinkRate};
use cxlab_model::mem::AccessKind;

use crate::harness::{Bench, Media, Mix};
use crate::link_bound::link_bound;

const READS: Mix = Mix { reads: 1, writes: 0 };

/// Reads of one DRS a header: 24.09 GB/s on x8 at 32 GT/s (tests/cxl/link_bound.rs), and in proportion to lanes and rate.
#[test]
fn bandwidth_follows_lanes_and_rate() {
    let spec = link_bound(Lanes::X16, (1, 2, 2));
    for (lanes, rate, expected) in [
        (Lanes::X8, LinkRate::Gt32, 24.09),
        (Lanes::X16, LinkRate::Gt16, 24.09),
        (Lanes::X4, LinkRate::Gt16, 24.09 / 4.0),
        (Lanes::X1, LinkRate::Gt8, 24.09 / 32.0),
    ] {
        let mut bench = Bench::new(&spec, Media::fixed(Time::from_ns(50)));
        bench.path.retrain(Time::ZERO, lanes, rate).unwrap();
        let simulated = bench.closed_loop(1024, READS, 20_000).gb_s();
        assert!((simulated / expected - 1.0).abs() < 0.005, "{lanes:?} {rate:?}: {simulated} for {expected}");
    }
}

#[test]
fn nothing_passes_while_the_link_is_trained() {
    let mut bench = Bench::new(&link_bound(Lanes::X16, (1, 2, 2)), Media::fixed(Time::from_ns(50)));
    let before = bench.alone(AccessKind::Read).ended;
    bench.path.retrain(before, Lanes::X16, LinkRate::Gt32).unwrap();
    let started = before + Time::from_ns(1);
    let after = bench.together(&[(started, AccessKind::Read)]).remove(0).ended;
    // The rest is 50 us (an assumption of the expander), and the way is as long as before.
    assert!(after - started > Time::from_ns(50_000) - Time::from_ns(100), "{}", after - started);
}

#[test]
fn a_link_is_not_trained_beyond_what_it_has() {
    let mut bench = Bench::new(&link_bound(Lanes::X8, (1, 2, 2)), Media::fixed(Time::from_ns(50)));
    let refused = bench.path.retrain(Time::ZERO, Lanes::X16, LinkRate::Gt32).unwrap_err().to_string();
    assert!(refused.starts_with("CXL021") && refused.contains("x8 at 32 GT/s"), "{refused}");
}
