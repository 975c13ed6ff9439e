//! The moving average of M1: each metric, the mean of its last readings.
//!
//! A metric that a sample lacks keeps the readings it has; one that was never read stays absent.
//! Source: MICRO'23 section 6.1 ("a moving average of the past 5 samples for each counter").

use crate::sample::{Metric, Sample};
use std::collections::VecDeque;
use std::num::NonZeroUsize;

/// The last `length` samples.
#[derive(Debug)]
pub struct Window {
    length: NonZeroUsize,
    samples: VecDeque<Sample>,
}

impl Window {
    pub fn new(length: NonZeroUsize) -> Window {
        Window { length, samples: VecDeque::with_capacity(length.get()) }
    }

    pub fn length(&self) -> NonZeroUsize {
        self.length
    }

    /// Takes a sample in; gives it back with every metric averaged.
    pub fn average(&mut self, sample: &Sample) -> Sample {
        if self.samples.len() == self.length.get() {
            self.samples.pop_front();
        }
        self.samples.push_back(sample.clone());
        let mut averaged = sample.clone();
        for metric in Metric::ALL {
            averaged.set(metric, self.mean(|s| s.metric(metric)));
        }
        averaged.throughput = self.mean(|s| s.throughput);
        averaged
    }

    fn mean(&self, read: impl Fn(&Sample) -> Option<f64>) -> Option<f64> {
        let (sum, count) =
            self.samples.iter().filter_map(read).fold((0.0, 0u32), |(sum, count), v| (sum + v, count + 1));
        (count > 0).then(|| sum / f64::from(count))
    }
}
