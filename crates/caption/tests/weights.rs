//! Integer weights for a share.

mod common;

use common::share;
use cxlab_caption::share::CxlShare;
use cxlab_caption::weights::{Nodes, Placement, USUAL_BOUND, Weights};
use proptest::prelude::*;
use std::num::NonZeroU8;

const PAIR: Nodes = Nodes { ddr: 1, cxl: 1 };

fn weights(ddr: u8, cxl: u8) -> Placement {
    Placement::Interleaved(Weights { ddr: NonZeroU8::new(ddr).unwrap(), cxl: NonZeroU8::new(cxl).unwrap() })
}

/// By hand: 1/4 is 3:1, 1/2 is 1:1, 1/11 is 10:1, 3/13 is 10:3; equal shares take the smallest weights.
#[test]
fn common_shares_get_the_smallest_weights() {
    let nearest = |fraction| Placement::nearest(share(fraction), PAIR, USUAL_BOUND);
    assert_eq!(nearest(0.25), weights(3, 1));
    assert_eq!(nearest(0.5), weights(1, 1));
    assert_eq!(nearest(1.0 / 11.0), weights(10, 1));
    assert_eq!(nearest(3.0 / 13.0), weights(10, 3));
}

/// A weight of 0 does not exist: the ends are nodemasks.
#[test]
fn the_ends_are_nodemasks() {
    assert_eq!(Placement::nearest(CxlShare::DDR_ONLY, PAIR, USUAL_BOUND), Placement::DdrOnly);
    assert_eq!(Placement::nearest(CxlShare::CXL_ONLY, PAIR, USUAL_BOUND), Placement::CxlOnly);
    assert_eq!(Placement::parse("1:0", PAIR).unwrap(), Placement::DdrOnly);
    assert_eq!(Placement::parse("0:7", PAIR).unwrap(), Placement::CxlOnly);
    assert_eq!(Placement::parse("100%", PAIR).unwrap(), Placement::CxlOnly);
}

#[test]
fn a_ratio_is_taken_as_it_stands() {
    assert_eq!(Placement::parse("6:2", PAIR).unwrap(), weights(6, 2));
    assert_eq!(Placement::parse("255:1", PAIR).unwrap(), weights(255, 1));
    for wrong in ["0:0", "256:1", "-1:1", "3", "3:", ":", "", "101%", "-1%", "nan%", "inf%", "3:1:1", "25 percent"] {
        assert!(Placement::parse(wrong, PAIR).is_err(), "{wrong:?} was taken");
    }
}

/// Two DDR nodes and one CXL node: 1:1 a node is one third CXL.
#[test]
fn several_nodes_of_a_kind_share_its_pages() {
    let nodes = Nodes { ddr: 2, cxl: 1 };
    assert_eq!(Placement::nearest(share(1.0 / 3.0), nodes, USUAL_BOUND), weights(1, 1));
    assert_eq!(Placement::nearest(share(0.5), nodes, USUAL_BOUND), weights(1, 2));
}

proptest! {
    /// Between 5 and 70 % the reachable shares are at most 0.8 points apart, so the nearest is at most 0.4 away.
    #[test]
    fn weights_to_32_reach_every_usual_share(fraction in 0.05..0.70f64) {
        let found = Weights::nearest(share(fraction), PAIR, USUAL_BOUND);
        prop_assert!((found.share(PAIR).fraction() - fraction).abs() <= 0.004);
    }

    /// No other weights within the bound are nearer.
    #[test]
    fn nearest_is_nearest(fraction in 0.001..0.999f64, bound in 1..40u8, ddr in 1..40u8, cxl in 1..40u8) {
        let (ddr, cxl) = ((ddr - 1) % bound + 1, (cxl - 1) % bound + 1);
        let found = Weights::nearest(share(fraction), PAIR, NonZeroU8::new(bound).unwrap());
        let other = f64::from(cxl) / f64::from(ddr + cxl);
        prop_assert!((found.share(PAIR).fraction() - fraction).abs() <= (other - fraction).abs() + 1e-12);
        prop_assert!(found.ddr.get() <= bound && found.cxl.get() <= bound);
    }
}
