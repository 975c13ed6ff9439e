//! The whole distribution of single measurements: percentiles and CDF, from an HDR histogram with three significant digits.

use hdrhistogram::Histogram;
use serde::Serialize;

/// Percentiles that are printed; 0 and 100 are the extremes.
pub const PERCENTILES: [f64; 12] = [0.0, 1.0, 5.0, 10.0, 25.0, 50.0, 75.0, 90.0, 95.0, 99.0, 99.9, 100.0];

/// Latencies, kept as picoseconds.
#[derive(Clone, Debug)]
pub struct Distribution {
    picoseconds: Histogram<u64>,
}

impl Distribution {
    /// Makes the distribution of these latencies `[ns]`.
    #[must_use]
    pub fn of(latencies: &[f64]) -> Distribution {
        let mut picoseconds = Histogram::new(3).expect("three digits are valid");
        for ns in latencies {
            picoseconds.record((ns * 1e3).round() as u64).expect("the histogram resizes itself");
        }
        Distribution { picoseconds }
    }

    /// `[ns]`
    #[must_use]
    pub fn percentile(&self, percent: f64) -> f64 {
        self.picoseconds.value_at_percentile(percent) as f64 / 1e3
    }
}

impl Serialize for Distribution {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Shape {
            unit: &'static str,
            /// (percent, latency)
            percentiles: Vec<(f64, f64)>,
            /// (latency, share of samples up to it)
            cdf: Vec<(f64, f64)>,
        }
        let total = self.picoseconds.len() as f64;
        let mut below = 0;
        let cdf = self.picoseconds.iter_recorded().map(|step| {
            below += step.count_at_value();
            (step.value_iterated_to() as f64 / 1e3, below as f64 / total)
        });
        let cdf = cdf.collect();
        let percentiles = PERCENTILES.iter().map(|&p| (p, self.percentile(p))).collect();
        Shape { unit: "ns", percentiles, cdf }.serialize(serializer)
    }
}
