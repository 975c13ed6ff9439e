//! Statistics against formulas and printed tables.

use cxlab_memo::distribution::Distribution;
use cxlab_memo::summary::{Summary, interval_rank};
use proptest::prelude::*;

/// Order statistics of the median's 95 % interval. Source: Le Boudec, "Performance Evaluation of Computer and Communication
/// Systems", table A.1 (n, lower rank). A row is the narrowest symmetric interval of at least 95 %.
#[test]
fn interval_ranks_of_the_printed_table() {
    for (n, rank) in [(6, 1), (7, 1), (8, 1), (9, 2), (12, 3), (15, 4), (20, 6), (25, 8), (30, 10), (50, 18), (70, 27)]
    {
        assert_eq!(interval_rank(n), Some(rank), "n = {n}");
    }
    for n in 0..6 {
        assert_eq!(interval_rank(n), None, "2 x 2^-{n} is more than 5 %");
    }
}

proptest! {
    /// By whole numbers: the sum of C(n, i) below the rank is at most 2.5 % of 2^n. One term more exceeds it.
    #[test]
    fn interval_rank_is_the_largest_whose_tail_fits(n in 6usize..=100) {
        let rank = interval_rank(n).expect("six samples are enough");
        let mut term = 1u128;
        let mut tails = vec![0u128];
        for i in 0..=rank {
            tails.push(tails[i] + term);
            term = term * (n - i) as u128 / (i as u128 + 1);
        }
        let fits = |tail: u128| tail * 40 <= 1u128 << n;
        prop_assert!(fits(tails[rank]) && !fits(tails[rank + 1]));
    }

    #[test]
    fn the_median_is_within_its_interval_and_order_does_not_matter(mut samples in prop::collection::vec(0.0f64..1e6, 6..300)) {
        let summary = Summary::of(&samples).expect("samples");
        let (low, high) = summary.median_interval.expect("six samples are enough");
        prop_assert!(summary.minimum <= low && low <= summary.median && summary.median <= high && high <= summary.maximum);
        samples.reverse();
        prop_assert_eq!(Summary::of(&samples), Some(summary));
    }
}

/// The rank of the normal approximation (n > 1000) joins the exact one: n/2 - 1.96 sqrt(n)/2.
#[test]
fn large_samples_use_the_normal_approximation() {
    assert_eq!(interval_rank(10_000), Some(4902));
    let (exact, approximate) = (interval_rank(1000).unwrap(), interval_rank(1001).unwrap());
    assert!(exact.abs_diff(approximate) <= 1, "{exact} and {approximate}");
}

/// Mean 5, sum of squares 32, so s^2 = 32/7. Median (4 + 5)/2; |x - 4.5| sorted is .5 .5 .5 .5 .5 2.5 2.5 4.5.
/// MAD 0.5, reach 2.22, so 2, 7 and 9 are outliers. The rest has mean 4.4, s^2 = 1.2/4.
#[test]
fn a_sample_by_hand() {
    let summary = Summary::of(&[2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]).expect("samples");
    assert_eq!((summary.samples, summary.outliers, summary.median), (8, 3, 4.5));
    assert!((summary.mean - 4.4).abs() < 1e-12);
    assert!((summary.standard_deviation.expect("two at least") - 0.3f64.sqrt()).abs() < 1e-12);
    assert_eq!(summary.median_interval, Some((2.0, 9.0)));
}

/// A preemption of 1 ms among latencies of some 100 ns changes neither median nor mean.
#[test]
fn an_outlier_moves_no_mean() {
    let mut samples: Vec<f64> = (0..99).map(|i| 100.0 + f64::from(i % 9)).collect();
    samples.push(1e6);
    let summary = Summary::of(&samples).expect("samples");
    assert_eq!(summary.outliers, 1);
    assert_eq!(summary.maximum, 1e6);
    assert!((summary.mean - 104.0).abs() < 0.1);
}

/// A clock that ticks coarsely makes most samples equal: nothing is called an outlier then.
#[test]
fn equal_samples_have_no_outliers() {
    let summary = Summary::of(&[10.0, 10.0, 10.0, 10.0, 20.0]).expect("samples");
    assert_eq!((summary.outliers, summary.mean), (0, 12.0));
}

#[test]
fn of_nothing_there_is_no_summary() {
    assert_eq!(Summary::of(&[]), None);
}

/// The p-th percentile of 1, 2 ... 1000 ns is 10 p ns, to the histogram's three digits.
#[test]
fn percentiles_and_cdf_of_a_uniform_sample() {
    let latencies: Vec<f64> = (1..=1000).map(f64::from).collect();
    let distribution = Distribution::of(&latencies);
    for percent in [1.0, 10.0, 50.0, 90.0, 99.0, 100.0] {
        let found = distribution.percentile(percent);
        assert!((found / (10.0 * percent) - 1.0).abs() < 1e-3, "p{percent}: {found}");
    }
    let json = serde_json::to_value(&distribution).expect("JSON");
    let cdf: Vec<(f64, f64)> = serde_json::from_value(json["cdf"].clone()).expect("pairs");
    assert!(cdf.windows(2).all(|w| w[0].0 < w[1].0 && w[0].1 < w[1].1), "strictly rising");
    assert_eq!(cdf.last().map(|step| step.1), Some(1.0));
    let half = cdf.iter().find(|step| step.1 >= 0.5).expect("half of the samples");
    assert!((half.0 / 500.0 - 1.0).abs() < 1e-3);
}
