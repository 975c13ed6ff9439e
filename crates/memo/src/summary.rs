//! The summary of repeated measurements: median, its interval, spread, outliers.
//!
//! - The interval of the median is distribution-free. It is that of order statistics j and n-j+1, where j is the largest whose
//!   binomial tail is at most 2.5 %. Source: Conover, "Practical Nonparametric Statistics", section 3.2. Fewer than 6 samples
//!   have none.
//! - An outlier is further than 3 x 1.4826 x MAD from the median (Hampel; 1.4826 makes MAD a normal distribution's standard
//!   deviation). Outliers are left out of mean and standard deviation, and never out of median, interval and percentiles. Where
//!   more than half of the samples are equal, MAD is zero and nothing is called an outlier.

use serde::Serialize;

/// The rule as every result states it.
pub const RULE: &str = "median with its 95 % confidence interval from order statistics (binomial, distribution-free); outliers are \
     samples further than 3 x 1.4826 x MAD from the median, counted, left out of mean and standard deviation only";

/// In the unit of the samples.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    pub samples: usize,
    pub outliers: usize,
    pub minimum: f64,
    pub median: f64,
    /// 95 % confidence interval of the median.
    pub median_interval: Option<(f64, f64)>,
    /// Without outliers.
    pub mean: f64,
    /// Without outliers; of one sample there is none.
    pub standard_deviation: Option<f64>,
    pub maximum: f64,
}

impl Summary {
    /// `None` of no samples.
    #[must_use]
    pub fn of(samples: &[f64]) -> Option<Summary> {
        let sorted = sorted(samples);
        let (&minimum, &maximum) = (sorted.first()?, sorted.last()?);
        let median = middle(&sorted);
        let deviations: Vec<f64> = sorted.iter().map(|x| (x - median).abs()).collect();
        let mad = middle(&self::sorted(&deviations));
        let reach = if mad > 0.0 { 3.0 * 1.4826 * mad } else { f64::INFINITY };
        let kept: Vec<f64> = sorted.iter().copied().filter(|x| (x - median).abs() <= reach).collect();
        let mean = kept.iter().sum::<f64>() / kept.len() as f64;
        let squares: f64 = kept.iter().map(|x| (x - mean).powi(2)).sum();
        Some(Summary {
            samples: sorted.len(),
            outliers: sorted.len() - kept.len(),
            minimum,
            median,
            median_interval: interval_rank(sorted.len()).map(|j| (sorted[j - 1], sorted[sorted.len() - j])),
            mean,
            standard_deviation: (kept.len() > 1).then(|| (squares / (kept.len() - 1) as f64).sqrt()),
            maximum,
        })
    }
}

fn sorted(samples: &[f64]) -> Vec<f64> {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted
}

/// The median of sorted samples, of which there is one at least.
fn middle(sorted: &[f64]) -> f64 {
    let n = sorted.len();
    (sorted[(n - 1) / 2] + sorted[n / 2]) / 2.0
}

/// The rank j, from 1, of the lower end of the median's 95 % interval among `n` samples.
#[must_use]
pub fn interval_rank(n: usize) -> Option<usize> {
    /// From here on the normal approximation is used; 2^-n is still a normal number there.
    const EXACT: usize = 1000;
    if n > EXACT {
        let n = n as f64;
        return Some((n / 2.0 - 1.959_964 * n.sqrt() / 2.0).floor() as usize);
    }
    let mut probability = 0.5f64.powi(n as i32);
    let (mut tail, mut j) = (0.0, 0);
    // After j rounds, `tail` is P(B <= j - 1), B binomial (n, 1/2).
    while tail + probability <= 0.025 {
        tail += probability;
        probability *= (n - j) as f64 / (j + 1) as f64;
        j += 1;
    }
    (j > 0).then_some(j)
}
