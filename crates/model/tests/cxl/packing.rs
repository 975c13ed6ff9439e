//! Which messages share slots and flits: small cases, by hand.

use cxlab_kernel::Time;
use cxlab_model::cxl::{Lanes, WireStats};
use cxlab_model::mem::AccessKind;

use crate::harness::{Bench, Media};
use crate::link_bound::link_bound;

use AccessKind::{Read, Write};

/// Responses of accesses that arrive together: what the S2M wire carried.
fn s2m(packing: (u8, u8, u8), kinds: &[AccessKind]) -> WireStats {
    responses(packing, kinds.iter().map(|kind| (Time::ZERO, *kind)).collect())
}

fn responses(packing: (u8, u8, u8), traffic: Vec<(Time, AccessKind)>) -> WireStats {
    let mut spec = link_bound(Lanes::X16, packing);
    // A device slower than all arrivals together: one response after another is ready at the same time.
    spec.device.read_queue.value = 64;
    let mut bench = Bench::new(&spec, Media::fixed(Time::from_ns(50)));
    bench.align_media = Some(Time::from_ns(1000));
    bench.together(&traffic);
    bench.path.stats(Time::from_ns(1)).s2m.counts
}

/// (flits, header slots, data slots, empty slots)
fn counts(stats: &WireStats) -> (u64, u64, u64, u64) {
    (stats.flits.get(), stats.header_slots.get(), stats.data_slots.get(), stats.empty_slots.get())
}

#[test]
fn a_line_is_five_slots_in_two_flits() {
    // H D D D | D . . .
    assert_eq!(counts(&s2m((1, 0, 1), &[Read])), (2, 1, 4, 3));
}

#[test]
fn four_lines_roll_over_into_five_full_flits() {
    // The last flit is an all-data flit: `H D D D | H D D D | H D D D | H D D D | D D D D`.
    assert_eq!(counts(&s2m((1, 0, 1), &[Read; 4])), (5, 4, 16, 0));
}

#[test]
fn drs_that_are_ready_together_share_a_header_slot() {
    assert_eq!(counts(&s2m((2, 0, 1), &[Read; 2])), (3, 1, 8, 3));
    assert_eq!(counts(&s2m((2, 0, 1), &[Read; 3])), (4, 2, 12, 2));
    assert_eq!(counts(&s2m((3, 0, 1), &[Read; 3])), (4, 1, 12, 3));
}

#[test]
fn ndr_ride_with_drs_as_far_as_the_rule_goes() {
    assert_eq!(counts(&s2m((1, 1, 1), &[Read, Write])), (2, 1, 4, 3));
    assert_eq!(counts(&s2m((1, 2, 1), &[Read, Write, Write])), (2, 1, 4, 3));
    assert_eq!(counts(&s2m((1, 1, 1), &[Read, Write, Write])), (2, 2, 4, 2));
    assert_eq!(counts(&s2m((1, 0, 1), &[Read, Write])), (2, 2, 4, 2));
}

#[test]
fn ndr_share_a_header_slot_of_their_own() {
    assert_eq!(counts(&s2m((1, 0, 1), &[Write; 4])), (1, 4, 0, 0));
    assert_eq!(counts(&s2m((1, 0, 2), &[Write; 4])), (1, 2, 0, 2));
    assert_eq!(counts(&s2m((1, 0, 3), &[Write; 4])), (1, 2, 0, 2));
}

#[test]
fn a_flit_that_has_started_takes_no_more() {
    // The second response is ready in the next period: its own header, its own flits.
    let apart = vec![(Time::ZERO, Read), (Time::from_ns(1500), Read)];
    assert_eq!(counts(&responses((2, 0, 1), apart)), (4, 2, 8, 6));
}
