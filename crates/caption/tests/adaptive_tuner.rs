//! The pattern search: within one least step of the best share from any start, under noise, and after the best jumps.

mod common;

use common::{Curve, Noise, share};
use cxlab_caption::share::ShareBounds;
use cxlab_caption::tuner::{AdaptiveSpec, AdaptiveTuner, Observation, Verdict};
use proptest::prelude::*;

const STEP: f64 = AdaptiveSpec::USUAL.least_step;
/// Samples in a period.
const SAMPLES: usize = 20;

fn tuner(start: f64) -> AdaptiveTuner {
    AdaptiveTuner::new(AdaptiveSpec { start: share(start), ..AdaptiveSpec::USUAL })
}

/// One period on the curve; each sample is off by up to `noise` of its value.
fn observe(curve: Curve, at: &AdaptiveTuner, noise: f64, random: &mut Noise) -> Observation {
    let true_value = curve.at(at.share());
    let samples: Vec<f64> = (0..SAMPLES).map(|_| true_value * (1.0 + noise * random.next())).collect();
    let mean = samples.iter().sum::<f64>() / SAMPLES as f64;
    let variance = samples.iter().map(|s| (s - mean).powi(2)).sum::<f64>() / (SAMPLES - 1) as f64;
    Observation { mean, standard_error: (variance / SAMPLES as f64).sqrt() }
}

/// The share once it says that it has settled; none within 200 periods.
fn settle(tuner: &mut AdaptiveTuner, curve: Curve, noise: f64, random: &mut Noise) -> Option<f64> {
    let mut settled = |_| {
        let seen = observe(curve, tuner, noise, random);
        let decision = tuner.decide(seen);
        (decision.verdict == Verdict::Settled).then(|| decision.share.fraction())
    };
    (0..200).find_map(&mut settled)
}

fn bandwidth_bound() -> impl Strategy<Value = Curve> {
    (0.1..0.9f64, 1.0..1000.0f64)
        .prop_map(|(best, scale)| Curve::Bandwidth { ddr: scale * (1.0 - best), cxl: scale * best })
}

fn latency_bound() -> impl Strategy<Value = Curve> {
    (80.0..150.0f64, 1.5..4.0f64).prop_map(|(ddr, slower)| Curve::Latency { ddr, cxl: ddr * slower })
}

fn either() -> impl Strategy<Value = Curve> {
    prop_oneof![bandwidth_bound(), latency_bound()]
}

proptest! {
    #[test]
    fn from_any_start_it_settles_within_one_step(curve in either(), start in 0.0..=1.0f64) {
        let found = settle(&mut tuner(start), curve, 0.0, &mut Noise(0)).unwrap();
        prop_assert!((found - curve.best()).abs() <= STEP + 1e-9, "settled at {found}, best {}", curve.best());
    }

    /// A latency-bound program, whose best share is the end, ends exactly there: nothing on CXL.
    #[test]
    fn a_latency_bound_program_gets_no_cxl_memory(curve in latency_bound(), start in 0.0..=1.0f64) {
        prop_assert!(settle(&mut tuner(start), curve, 0.0, &mut Noise(0)).unwrap() <= STEP);
    }

    /// 1 % noise: a step of 2 % of pages changes a bandwidth-bound throughput by over 2 %, and the mean of 20 samples is good to 0.13 %.
    #[test]
    fn under_noise_it_settles_within_one_step(curve in bandwidth_bound(), start in 0.0..=1.0f64, seed: u64) {
        let found = settle(&mut tuner(start), curve, 0.01, &mut Noise(seed)).unwrap();
        prop_assert!((found - curve.best()).abs() <= STEP + 1e-9, "settled at {found}, best {}", curve.best());
    }

    /// The best share jumps: found again, whether the present share performs differently now (Changed) or not (Reprobe).
    #[test]
    fn it_follows_a_jump(before in bandwidth_bound(), after in either(), seed: u64) {
        let mut random = Noise(seed);
        let mut tuner = tuner(0.5);
        settle(&mut tuner, before, 0.0, &mut random).unwrap();
        let mut shares: Vec<f64> = Vec::new();
        for _ in 0..120 {
            let seen = observe(after, &tuner, 0.0, &mut random);
            if tuner.decide(seen).verdict == Verdict::Settled {
                shares.push(tuner.share().fraction());
            }
        }
        let last = shares.last().unwrap();
        prop_assert!((last - after.best()).abs() <= STEP + 1e-9, "settled at {last}, best {}", after.best());
    }

    /// No objective is needed but an order: the same decisions for any positive scale and any offset (powers of two: exact).
    #[test]
    fn the_unit_of_the_objective_does_not_matter(curve in bandwidth_bound(), start in 0.0..=1.0f64, scale in 1..20i32) {
        let run = |factor: f64| {
            let mut tuner = tuner(start);
            (0..60).map(|_| {
                let seen = Observation { mean: factor * curve.at(tuner.share()), standard_error: 0.0 };
                tuner.decide(seen).share
            }).collect::<Vec<_>>()
        };
        prop_assert_eq!(run(1.0), run(f64::from(scale).exp2()));
    }

    #[test]
    fn it_never_leaves_its_bounds(values in proptest::collection::vec(-1e3..1e3f64, 1..100), start in 0.0..=1.0f64) {
        let bounds = ShareBounds::new(share(0.1), share(0.6)).unwrap();
        let mut tuner = AdaptiveTuner::new(AdaptiveSpec { start: share(start), bounds, ..AdaptiveSpec::USUAL });
        for mean in values {
            let decision = tuner.decide(Observation { mean, standard_error: 0.0 });
            prop_assert!(bounds.least <= decision.share && decision.share <= bounds.most);
        }
    }
}

/// Differences within the noise are none: no share wins, and it settles where it stands.
#[test]
fn noise_alone_does_not_move_it() {
    let mut tuner = tuner(0.4);
    let flat = Observation { mean: 100.0, standard_error: 1.0 };
    let settled = (0..20)
        .map(|nth| tuner.decide(Observation { mean: 100.0 + f64::from(nth % 3), ..flat }))
        .find(|d| d.verdict == Verdict::Settled);
    assert_eq!(settled.unwrap().share, share(0.4));
}

/// A program with phases: each period is off by up to 15 % and known to 9 %. Ten per cent of pages change the throughput of a
/// bandwidth-bound program by 20 % and more, so single periods decide nothing and several do.
#[test]
fn a_program_with_phases_is_judged_by_several_periods() {
    let curve = Curve::Bandwidth { ddr: 80.0, cxl: 20.0 };
    let mut near = 0;
    for seed in 0..20 {
        let (mut random, mut tuner) = (Noise(seed), tuner(0.5));
        let mut settled = 0.5;
        for _ in 0..60 {
            let value = curve.at(tuner.share());
            let seen = Observation { mean: value * (1.0 + 0.15 * random.next()), standard_error: 0.09 * value };
            let decision = tuner.decide(seen);
            settled = if decision.verdict == Verdict::Settled { decision.share.fraction() } else { settled };
        }
        near += u32::from((settled - curve.best()).abs() <= 0.1);
    }
    assert!(near >= 18, "{near} of 20 runs came within a first step of the best share");
}

/// A base measured through a disturbance (its error is large) hides every neighbour; measured again, it does not.
#[test]
fn a_blurred_first_measurement_is_made_good() {
    let curve = Curve::Bandwidth { ddr: 200.0, cxl: 60.0 };
    let mut tuner = tuner(0.5);
    tuner.decide(Observation { mean: curve.at(share(0.5)), standard_error: 50.0 });
    let shares: Vec<f64> = (0..60)
        .map(|_| {
            let mean = curve.at(tuner.share());
            tuner.decide(Observation { mean, standard_error: 0.01 }).share.fraction()
        })
        .collect();
    assert!((shares[59] - curve.best()).abs() <= STEP, "rests at {}", shares[59]);
}

/// Worked by hand on a roof 1 - |s - 0.655| [values in brackets], from 50 %: base and trial of each period.
#[test]
fn a_worked_search() {
    use Verdict::{Better, First, Settled, Worse};
    let by_hand = [
        (First, 60.0),   // base 50 % [.845]: try + 10
        (Better, 80.0),  // 60 [.945]: base; the step doubles to 20, and 50 is known to be worse
        (Worse, 70.0),   // 80 [.855]: half of it
        (Better, 90.0),  // 70 [.955]: base; 20 again
        (Worse, 80.0),   // 90 [.755]: 10
        (Worse, 60.0),   // 80 [.855]: the other side
        (Worse, 65.0),   // 60 [.945]: half, this side first
        (Better, 55.0),  // 65 [.995]: base; double
        (Worse, 60.0),   // 55 [.895]
        (Worse, 70.0),   // 60 [.945]
        (Worse, 67.5),   // 70 [.955]: half
        (Worse, 62.5),   // 67.5 [.98]
        (Worse, 63.0),   // 62.5 [.97]: half would be 1.25, the least is 2
        (Worse, 67.0),   // 63 [.975]
        (Worse, 65.0),   // 67 [.985]: both neighbours are worse; once more at the base
        (Settled, 65.0), // 65 [.995] as before
    ];
    let mut tuner = tuner(0.5);
    let seen = by_hand.map(|_| {
        let mean = 1.0 - (tuner.share().fraction() - 0.655).abs();
        let decision = tuner.decide(Observation { mean, standard_error: 0.0 });
        (decision.verdict, (decision.share.fraction() * 1000.0).round() / 10.0)
    });
    assert_eq!(seen, by_hand);
}
