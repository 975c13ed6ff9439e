//! Algorithm 1 with the published constants: decisions worked by hand, and where it comes to rest on known curves.

mod common;

use common::{Curve, Noise, share};
use cxlab_caption::tuner::{PaperSpec, PaperTuner, Verdict};
use proptest::prelude::*;

/// Feeds a series of Y and gives back x after each.
fn ratios(start_x: i32, ys: &[f64]) -> Vec<i32> {
    let mut tuner = PaperTuner::new(PaperSpec { start_x, ..PaperSpec::PUBLISHED });
    ys.iter()
        .map(|y| {
            tuner.decide(*y);
            tuner.x()
        })
        .collect()
}

/// Worked by hand from algorithm 1's text: ratio 10:x, first step 3, least step 1, steps whole towards 0.
#[test]
fn algorithm_1_goes_on_while_better_and_turns_by_half_when_worse() {
    //     first: 1 + 3 = 4 | better: 4 + 3 = 7 | better: 7 + 3 = 10 | worse: step 3 x (-0.5) = -1.5 -> -1: 9
    //     better: 9 - 1 = 8 | worse: -1 x (-0.5) = 0.5 -> least 1: 9 | better: 10 | worse: -1: 9
    assert_eq!(ratios(1, &[10.0, 20.0, 30.0, 25.0, 27.0, 26.0, 28.0, 27.0]), [4, 7, 10, 9, 8, 9, 10, 9]);
}

#[test]
fn the_ratio_stops_at_10_to_20_and_at_10_to_1() {
    // 18 + 3 = 21 -> 20 | better: 23 -> 20 | worse: -1: 19 | better: 18
    assert_eq!(ratios(18, &[10.0, 20.0, 15.0, 16.0]), [20, 20, 19, 18]);
    // first: 1 + 3 = 4 | worse: -1: 3 | better: 2 | better: 1 | better: 0 -> 1
    assert_eq!(ratios(1, &[10.0, 5.0, 6.0, 7.0, 8.0]), [4, 3, 2, 1, 1]);
}

#[test]
fn a_change_below_0_2_holds_the_ratio_and_shrinks_the_step_to_1() {
    // first: 4 | +0.1: hold, step 3 -> 1 | +1: 4 + 1 = 5
    assert_eq!(ratios(1, &[10.0, 10.1, 11.1]), [4, 4, 5]);
    // first: 4 | worse: -1: 3 | -0.1: hold, step stays -1 | better: 2
    assert_eq!(ratios(1, &[10.0, 5.0, 4.9, 6.0]), [4, 3, 3, 2]);
    // exactly 0.25, representable: beyond the band, so it moves
    assert_eq!(ratios(1, &[10.0, 10.25]), [4, 7]);
}

#[test]
fn a_change_beyond_500_starts_again_with_10_to_1_and_step_3() {
    // first: 4 | better: 7 | +501: reset to 1 | better: 1 + 3 = 4
    assert_eq!(ratios(1, &[10.0, 20.0, 521.0, 522.0]), [4, 7, 1, 4]);
    // exactly 500 is not beyond: worse, -1
    assert_eq!(ratios(1, &[510.0, 10.0]), [4, 3]);
}

#[test]
fn idle_holds_the_ratio() {
    let mut tuner = PaperTuner::new(PaperSpec { start_x: 8, ..PaperSpec::PUBLISHED });
    assert_eq!(tuner.decide(70_001.0).verdict, Verdict::Idle);
    assert_eq!(tuner.x(), 8);
    // the fall from idle is beyond 500: reset
    assert_eq!(tuner.decide(10.0).verdict, Verdict::Reset);
    assert_eq!(tuner.x(), 1);
}

#[test]
fn shares_are_those_of_10_to_x() {
    let at = |x| PaperTuner::new(PaperSpec { start_x: x, ..PaperSpec::PUBLISHED }).share();
    assert_eq!(at(1), share(1.0 / 11.0)); // the paper's 9 %
    assert_eq!(at(20), share(20.0 / 30.0));
    assert_eq!(PaperSpec::starting_at(share(0.5)).unwrap().start_x, 10);
    assert!(PaperSpec::starting_at(share(0.0)).unwrap_err().to_string().starts_with("CAP003"));
    assert!(PaperSpec::starting_at(share(1.0)).is_err());
}

/// Runs the closed loop; x after each decision.
fn climb(tuner: &mut PaperTuner, periods: usize, mut y: impl FnMut(&PaperTuner) -> f64) -> Vec<i32> {
    (0..periods)
        .map(|_| {
            let seen = y(tuner);
            tuner.decide(seen);
            tuner.x()
        })
        .collect()
}

/// A bandwidth-bound curve whose best ratio is 10:best, scaled so that a step is well outside the dead band.
fn curve(best: i32) -> (Curve, f64) {
    (Curve::Bandwidth { ddr: 10.0, cxl: f64::from(best) }, 20.0)
}

fn rests_near(xs: &[i32], best: i32) -> bool {
    xs.iter().all(|x| (x - best).abs() <= 1) || pinned(xs)
}

/// Every ratio is the same end.
fn pinned(xs: &[i32]) -> bool {
    [1, 20].iter().any(|end| xs.iter().all(|x| x == end))
}

/// A weakness of the published rules, kept as published. A step beyond an end changes nothing, no change is within the dead
/// band, and the dead band holds. Without noise they stay at the end, however bad it is. `--mode adaptive` does not.
#[test]
fn the_published_rules_stay_at_an_end_that_they_run_into() {
    let (curve, scale) = curve(1);
    let mut tuner = PaperTuner::new(PaperSpec { start_x: 20, ..PaperSpec::PUBLISHED });
    let xs = climb(&mut tuner, 80, |t| scale * curve.at(t.share()));
    assert!(pinned(&xs) && xs[0] == 20);
}

/// Noise beyond the dead band frees them.
#[test]
fn noise_frees_them_from_an_end() {
    let (curve, scale) = curve(5);
    let mut noise = Noise(1);
    let mut tuner = PaperTuner::new(PaperSpec { start_x: 20, ..PaperSpec::PUBLISHED });
    let xs = climb(&mut tuner, 200, |t| scale * curve.at(t.share()) + 1.0 * noise.next());
    assert!(xs[150..].iter().all(|x| (x - 5).abs() <= 2), "{:?}", &xs[150..]);
}

proptest! {
    /// From any start, once there, never further than one step of x from the best: or pinned at an end (see below).
    #[test]
    fn it_stays_within_one_step_of_the_best(best in 1..=20i32, start_x in 1..=20i32) {
        let (curve, scale) = curve(best);
        let mut tuner = PaperTuner::new(PaperSpec { start_x, ..PaperSpec::PUBLISHED });
        let xs = climb(&mut tuner, 80, |t| scale * curve.at(t.share()));
        prop_assert!(rests_near(&xs[60..], best), "best {best}, then {:?}", &xs[60..]);
    }

    /// Noise of a fifth of the smallest step's effect does not turn it.
    #[test]
    fn small_noise_does_not_turn_it(best in 2..=19i32, start_x in 1..=20i32, seed: u64) {
        let (curve, scale) = curve(best);
        let y = |x: i32| scale * curve.at(share(f64::from(x) / f64::from(x + 10)));
        let least_effect = (1..20).map(|x| (y(x + 1) - y(x)).abs()).fold(f64::INFINITY, f64::min);
        let mut noise = Noise(seed);
        let mut tuner = PaperTuner::new(PaperSpec { start_x, ..PaperSpec::PUBLISHED });
        let xs = climb(&mut tuner, 80, |t| scale * curve.at(t.share()) + 0.2 * least_effect * noise.next());
        prop_assert!(xs[60..].iter().all(|x| (x - best).abs() <= 1), "best {best}, then {:?}", &xs[60..]);
    }

    /// The best ratio jumps: it follows.
    #[test]
    fn it_follows_a_jump(best in 1..=20i32, then in 1..=20i32) {
        let mut tuner = PaperTuner::new(PaperSpec::PUBLISHED);
        let (before, scale) = curve(best);
        climb(&mut tuner, 60, |t| scale * before.at(t.share()));
        let (after, scale) = curve(then);
        let xs = climb(&mut tuner, 80, |t| scale * after.at(t.share()));
        prop_assert!(rests_near(&xs[60..], then), "best {then}, then {:?}", &xs[60..]);
    }

    /// Whatever it sees, the ratio is one of the published twenty.
    #[test]
    fn the_ratio_is_always_valid(ys in proptest::collection::vec(-1e5..1e5f64, 1..50)) {
        prop_assert!(ratios(1, &ys).iter().all(|x| (1..=20).contains(x)));
    }
}
