//! Which side a chunk is on.

#[path = "../src/sides.rs"]
mod sides;

use sides::{Dealer, Side};

/// A whole share `[millionths]`.
const WHOLE: u64 = 1_000_000;

fn deal(share: u64, chunks: usize) -> Vec<Side> {
    let dealer = Dealer::new();
    (0..chunks).map(|_| dealer.deal(share)).collect()
}

#[test]
fn the_ends_are_pure() {
    assert!(deal(0, 100).iter().all(|side| *side == Side::Ddr));
    assert!(deal(WHOLE, 100).iter().all(|side| *side == Side::Cxl));
}

/// By hand, a quarter from a half: .5 .75 | 1.0 is CXL, then every fourth.
#[test]
fn a_quarter_is_every_fourth() {
    use Side::{Cxl, Ddr};
    assert_eq!(deal(250_000, 8), [Ddr, Cxl, Ddr, Ddr, Ddr, Cxl, Ddr, Ddr]);
}

#[test]
fn any_run_keeps_the_share_to_one_chunk() {
    for share in [1, 90_909, 231_000, 333_333, 500_000, 999_999] {
        for chunks in [1, 7, 64, 1000] {
            let cxl = deal(share, chunks).iter().filter(|side| **side == Side::Cxl).count() as f64;
            let exact = chunks as f64 * share as f64 / WHOLE as f64;
            assert!((cxl - exact).abs() <= 1.0, "{cxl} of {chunks} at {share}");
        }
    }
}
