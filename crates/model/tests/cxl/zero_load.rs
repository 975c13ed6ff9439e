//! An access that meets nobody takes the sum of its stages, exactly.

use cxlab_kernel::Time;
use cxlab_model::mem::{AccessKind, Stage};

use crate::harness::{Bench, Life, Media, device};

fn ns(text: &str) -> Time {
    text.parse().unwrap()
}

#[test]
fn the_paths_of_cxl_dmsim_take_what_table_iii_adds_up_to() {
    // CXL-DMSim table III, each latency both ways: 2 x (50 + 14 + 15) + 50 and 2 x (50 + 14 + 60) + 50.
    for (name, total) in [("dmsim-asic", "208 ns"), ("dmsim-fpga", "298 ns")] {
        for kind in [AccessKind::Read, AccessKind::Write] {
            let life: Life = Bench::new(&device(name), Media::fixed(ns("50 ns"))).alone(kind);
            assert_eq!(life.ended - life.started, ns(total), "{name} {kind:?}");
        }
    }
}

#[test]
fn the_stages_of_a_read_are_those_of_the_device_file() {
    // x16 at 32 GT/s, 128b/130b: a flit of 544 bits takes 544 x 130/128 / 512 = 1.0791 ns. A Req is one flit, a
    // DRS is five slots, two flits. They are within the receiving side's latency.
    let life = Bench::new(&device("dmsim-asic"), Media::fixed(ns("50 ns"))).alone(AccessKind::Read);
    let expected = [
        (Stage::RootPortQueue, Time::ZERO),
        (Stage::HostOut, ns("64 ns")),
        (Stage::LinkM2s, ns("1.079 ns")),
        (Stage::DeviceIn, ns("13.921 ns")),
        (Stage::DeviceQueue, Time::ZERO),
        (Stage::Media, ns("50 ns")),
        (Stage::LinkS2m, ns("17.158 ns")),
        (Stage::HostIn, ns("61.842 ns")),
    ];
    assert_eq!(life.stages(), expected);
    assert_eq!(life.stages().iter().map(|(_, time)| *time).sum::<Time>(), life.ended - life.started);
}
