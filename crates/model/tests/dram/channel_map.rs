//! The channel map is one to one, fair, and no stride sits on one channel.

use std::collections::HashSet;

use cxlab_kernel::Bytes;
use cxlab_model::addr::Dpa;
use cxlab_model::media::dram::{ChannelMap, Granularity};
use proptest::prelude::*;

fn map(channels: u32, granularity: u64) -> ChannelMap {
    ChannelMap::new(channels, Granularity::new("interleave", Bytes::new(granularity)).unwrap()).unwrap()
}

proptest! {
    #[test]
    fn every_line_has_a_place_of_its_own_and_no_place_is_left_out(channels in 1u32..17, log2 in 0u32..7) {
        let map = map(channels, 64 << log2);
        let stripes = 32u64;
        let lines = (stripes * u64::from(channels)) << log2;
        let places: HashSet<_> = (0..lines).map(|line| map.place(Dpa::new(line * 64))).collect();
        prop_assert_eq!(places.len() as u64, lines);
        prop_assert!(places.iter().all(|place| place.channel < channels && place.line < stripes << log2));
    }

    #[test]
    fn no_stride_of_a_power_of_two_sits_on_one_channel(log2 in 6u32..24) {
        let map = map(8, 256);
        let channels: HashSet<_> = (0..64u64).map(|step| map.place(Dpa::new(step << log2)).channel).collect();
        prop_assert!(channels.len() > 1, "stride {} B visits {:?}", 1u64 << log2, channels);
    }
}

#[test]
fn what_cannot_be_is_refused_with_what_is_valid() {
    let error = Granularity::new("interleave", Bytes::new(96)).unwrap_err().to_string();
    assert_eq!(error, "DRAM001: `interleave` is 96 B, but must be a power of two, 64 B or more");
    let granularity = Granularity::new("interleave", Bytes::new(64)).unwrap();
    let error = ChannelMap::new(0, granularity).unwrap_err().to_string();
    assert_eq!(error, "DRAM001: `channels` is 0, but must be 1 to 256");
}
