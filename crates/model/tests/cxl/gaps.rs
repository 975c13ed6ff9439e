//! Known gaps: each test holds the model as it is, and fails when the gap closes.

use cxlab_kernel::Time;
use cxlab_model::cxl::Lanes;
use cxlab_model::mem::AccessKind;

use crate::harness::{Bench, Media, Mix};
use crate::link_bound::link_bound;

use AccessKind::Read;

/// Slot 0 has formats of its own, the largest with two DRS headers (H5); three fit in slots 1 to 3 only (G6).
#[test]
fn three_drs_share_slot_0() {
    let mut bench = Bench::new(&link_bound(Lanes::X16, (3, 0, 1)), Media::fixed(Time::from_ns(50)));
    bench.align_media = Some(Time::from_ns(1000));
    bench.together(&[(Time::ZERO, Read); 3]);
    let s2m = bench.path.stats(Time::from_ns(1)).s2m.counts;
    assert_eq!((s2m.header_slots.get(), s2m.flits.get()), (1, 4));
}

/// RETRY.Req, which asks for the replay, is a control flit on the other wire (CXL 2.0, 4.2.8).
#[test]
fn a_retry_takes_no_flit_of_the_other_wire() {
    let flits = |rate| {
        let mut spec = link_bound(Lanes::X16, (1, 2, 2));
        spec.link.bit_error_rate.value = rate;
        let mut bench = Bench::new(&spec, Media::fixed(Time::from_ns(50)));
        bench.closed_loop(1, Mix { reads: 1, writes: 0 }, 5_000);
        let stats = bench.path.stats(Time::from_ns(1));
        (stats.m2s.counts.flits.get(), stats.s2m.counts.retries.get())
    };
    let ((without, none), (with, some)) = (flits(0.0), flits(5e-5));
    assert!(none == 0 && some > 0);
    assert_eq!(with, without);
}

/// Real links send flits all the time; a message waits for the next one to start, half a flit on average.
#[test]
fn a_flit_on_an_idle_wire_starts_at_once() {
    let mut bench = Bench::new(&link_bound(Lanes::X8, (1, 0, 1)), Media::fixed(Time::from_ns(50)));
    // Arrivals at every phase of a flit of 2.125 ns, each alone.
    let traffic: Vec<_> = (0..17).map(|index| (Time::from_ps(index * 1_000_125), Read)).collect();
    let lives = bench.together(&traffic);
    assert!(lives.iter().all(|life| life.ended - life.started == lives[0].ended - lives[0].started));
}
