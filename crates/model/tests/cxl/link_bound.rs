//! A device that only its link bounds moves what the slots of its flits carry.
//!
//! S is slots of 16 B a second and direction, and f the share of reads. A read return has D slots, a write completion N. A
//! Req is one slot, an RwD five. So BW = 4 S / max(f + 5 (1 - f), f D + (1 - f) N).

use cxlab_kernel::Time;
use cxlab_model::cxl::{Encoding, Lanes};
use cxlab_model::fabric::ExpanderSpec;

use crate::harness::{Bench, Media, Mix, device};

/// (DRS a header, NDR with DRS, NDR a header): packings that are seen or stated.
const PACKINGS: [(u8, u8, u8); 3] = [(1, 2, 2), (2, 0, 3), (3, 0, 2)];
const MIXES: [Mix; 5] = [
    Mix { reads: 1, writes: 0 },
    Mix { reads: 3, writes: 1 },
    Mix { reads: 2, writes: 1 },
    Mix { reads: 1, writes: 1 },
    Mix { reads: 0, writes: 1 },
];
/// GB/s of payload, sync header bypass, 32 GT/s: rows of x8, then of x16; the formula above, by hand.
const TABLE: [(Lanes, [[f64; 5]; 3]); 2] = [
    (
        Lanes::X8,
        [[24.09, 32.13, 36.14, 40.16, 24.09], [26.77, 34.83, 38.72, 40.16, 24.09], [27.80, 35.69, 39.43, 40.16, 24.09]],
    ),
    (
        Lanes::X16,
        [[48.19, 64.25, 72.28, 80.31, 48.19], [53.54, 69.67, 77.45, 80.31, 48.19], [55.60, 71.39, 78.85, 80.31, 48.19]],
    ),
];

/// Queues so deep and media so fast that only the wires bound.
pub fn link_bound(lanes: Lanes, packing: (u8, u8, u8)) -> ExpanderSpec {
    let mut spec = device("dmsim-asic");
    spec.link.lanes.value = lanes;
    spec.link.encoding.value = Encoding::SyncHeaderBypass;
    spec.link.bit_error_rate.value = 0.0;
    let rule = &mut spec.link.packing;
    (rule.drs_per_header.value, rule.ndr_with_drs.value, rule.ndr_per_header.value) = packing;
    let (port, device) = (&mut spec.root_port, &mut spec.device);
    for depth in [
        &mut port.request_fifo,
        &mut port.response_fifo,
        &mut port.drs_credits,
        &mut port.ndr_credits,
        &mut device.req_credits,
        &mut device.rwd_credits,
        &mut device.read_queue,
        &mut device.write_queue,
    ] {
        depth.value = 1024;
    }
    spec
}

/// Simulated bandwidth `[GB/s]`.
pub fn simulate(spec: &ExpanderSpec, mix: Mix) -> f64 {
    Bench::new(spec, Media::fixed(Time::from_ns(50))).closed_loop(1024, mix, 40_000).gb_s()
}

#[test]
fn six_packings_and_five_mixes_move_what_their_slots_carry() {
    let mut wrong = Vec::new();
    for (lanes, rows) in TABLE {
        for (packing, row) in PACKINGS.into_iter().zip(rows) {
            for (mix, expected) in MIXES.into_iter().zip(row) {
                let simulated = simulate(&link_bound(lanes, packing), mix);
                let error = (simulated / expected - 1.0) * 100.0;
                println!("{lanes:?} {packing:?} {mix:?}: {expected} expected, {simulated:.2} simulated, {error:+.2} %");
                if error.abs() > 0.5 {
                    wrong.push((lanes, packing, mix, expected, simulated));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn the_stated_bound_is_the_tables() {
    for (lanes, rows) in TABLE {
        for (packing, row) in PACKINGS.into_iter().zip(rows) {
            for (mix, expected) in MIXES.into_iter().zip(row) {
                let bound = link_bound(lanes, packing).link.bound(mix.reads, mix.writes).unwrap() / 1e9;
                assert!((bound - expected).abs() < 0.006, "{lanes:?} {packing:?} {mix:?}: {bound} for {expected}");
            }
        }
    }
}
