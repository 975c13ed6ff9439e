//! HDM decoders: the specification's bit fields, each address in exactly one place, bad ranges refused.

use cxlab_kernel::Bytes;
use cxlab_model::addr::{Dpa, Hpa};
use cxlab_model::fabric::{ExpanderSpec, HdmDecoderSpec, HdmDecoders, TargetId};
use cxlab_model::fact::Sourced;
use proptest::prelude::*;

use crate::harness::device;

const GIB: u64 = 1 << 30;

fn range(base: u64, size: u64, granularity: u64, targets: &[u8]) -> HdmDecoderSpec {
    let bytes = |value| Sourced::new(Bytes::new(value), "test");
    let targets = Sourced::new(targets.iter().map(|target| TargetId(*target)).collect(), "test");
    HdmDecoderSpec { base: bytes(base), size: bytes(size), granularity: bytes(granularity), targets }
}

fn decoders(ranges: &[HdmDecoderSpec]) -> HdmDecoders {
    let expander = device("dmsim-asic"); // 64 GiB each
    HdmDecoders::new(ranges, &[&expander; 8]).unwrap()
}

fn refusal(ranges: &[HdmDecoderSpec], devices: &[&ExpanderSpec]) -> String {
    HdmDecoders::new(ranges, devices).unwrap_err().to_string()
}

#[test]
fn consecutive_granules_go_round_the_target_list() {
    // CXL 2.0, 8.2.5.12: 4 ways at 256 B. The fifth granule is the second of the first target.
    let decoders = decoders(&[range(4 * GIB, 8 * GIB, 256, &[2, 0, 3, 1])]);
    let places = [0, 256, 512, 768, 1024, 1024 + 255].map(|offset| decoders.decode(Hpa::new(4 * GIB + offset)));
    let expected = [(2, 0), (0, 0), (3, 0), (1, 0), (2, 256), (2, 511)];
    assert_eq!(places, expected.map(|(target, dpa)| Some((TargetId(target), Dpa::new(dpa)))));
}

#[test]
fn what_no_decoder_claims_is_nowhere() {
    let decoders = decoders(&[range(4 * GIB, GIB, 4096, &[0]), range(8 * GIB, GIB, 4096, &[0])]);
    for hpa in [0, 4 * GIB - 1, 5 * GIB, 8 * GIB - 1, 9 * GIB] {
        assert_eq!(decoders.decode(Hpa::new(hpa)), None, "{hpa:#x}");
    }
    // The second range of a device follows the first in it.
    assert_eq!(decoders.decode(Hpa::new(8 * GIB + 5)), Some((TargetId(0), Dpa::new(GIB + 5))));
    assert_eq!(decoders.encode(TargetId(0), Dpa::new(2 * GIB)), None);
    assert_eq!(decoders.encode(TargetId(1), Dpa::new(0)), None);
}

proptest! {
    #[test]
    fn an_address_has_one_place_and_the_place_one_address(
        iw in 0u32..4, ig in 0u32..7, base in 0u64..64, granules in 1u64..16, at in any::<prop::sample::Index>(),
    ) {
        let (ways, granularity) = (1u64 << iw, 256u64 << ig);
        let (base, size) = (base << 28, (granules * ways) << 28);
        let targets: Vec<u8> = (0..ways as u8).rev().collect();
        let decoders = decoders(&[range(base, size, granularity, &targets)]);
        let hpa = base + at.index(size as usize) as u64;
        let (target, dpa) = decoders.decode(Hpa::new(hpa)).unwrap();
        // CXL 2.0, 8.2.5.12, with IG and IW, of the offset into the range:
        //
        //     DPA[7+IG:0] = HPA[7+IG:0], DPA[51:IG+8] = HPA[51:IG+IW+8], way = HPA[IG+IW+7:IG+8]
        let offset = hpa - base;
        prop_assert_eq!(dpa.get() % granularity, offset % granularity);
        prop_assert_eq!(dpa.get() / granularity, offset / granularity / ways);
        prop_assert_eq!(target, TargetId(targets[(offset / granularity % ways) as usize]));
        prop_assert!(dpa.get() < size / ways);
        prop_assert_eq!(decoders.encode(target, dpa), Some(Hpa::new(hpa)));
    }

    #[test]
    fn a_place_has_one_address_over_several_ranges(at in 0u64..3 * GIB, target in 0u8..2) {
        let decoders = decoders(&[range(8 * GIB, 2 * GIB, 1024, &[0]), range(GIB, 2 * GIB, 256, &[1, 0]),
                                  range(4 * GIB, 2 * GIB, 16384, &[1])]);
        let place = (TargetId(target), Dpa::new(at));
        let hpa = decoders.encode(place.0, place.1).unwrap();
        prop_assert_eq!(decoders.decode(hpa), Some(place));
    }
}

#[test]
fn bad_ranges_are_refused_with_what_is_valid() {
    let (asic, fpga) = (device("dmsim-asic"), device("dmsim-fpga"));
    let two = [&asic, &asic];
    let cases = [
        (refusal(&[range(0, 3 * GIB, 256, &[0, 1, 0])], &two), "CXL010", "1, 2, 4, 8"),
        (refusal(&[range(0, GIB, 128, &[0])], &two), "CXL011", "256 B, 512 B"),
        (refusal(&[range(0, GIB, 300, &[0])], &two), "CXL011", "16 KiB"),
        (refusal(&[range(0, GIB, 0, &[0])], &two), "CXL011", "16 KiB"),
        (refusal(&[range(4096, GIB, 256, &[0])], &two), "CXL012", "256 MiB"),
        (refusal(&[range(0, 256 << 20, 256, &[0, 1])], &two), "CXL012", "512 MiB"),
        (refusal(&[range(0, 0, 256, &[0])], &two), "CXL013", "decodes nothing"),
        (refusal(&[range(0, GIB, 256, &[0, 1])], &[&asic, &fpga]), "CXL014", "`dmsim-fpga` (16 GiB)"),
        (refusal(&[range(0, 65 * GIB, 256, &[0])], &two), "CXL015", "64 GiB"),
        (refusal(&[range(0, GIB, 256, &[1, 1])], &two), "CXL016", "target 1"),
        (refusal(&[range(0, GIB, 256, &[0]), range(512 << 20, GIB, 256, &[1])], &two), "CXL017", "overlap"),
        (refusal(&[range(0, GIB, 256, &[0, 2])], &two), "CXL018", "2 devices"),
    ];
    for (message, code, part) in cases {
        assert!(message.starts_with(code) && message.contains(part), "{message}");
    }
}
