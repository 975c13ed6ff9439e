//! M1, M2 and M3 in a row. Pure: samples in, shares out.
//!
//! ```text
//!   Sample --> Window --> LinearModel --> mean since the last tuning --> Tuner --> Decision
//!             (M1)        (M2)            (Observation)                  (M3)
//! ```
//! Source: MICRO'23 figure 10.

use crate::error::{Error, Result};
use crate::estimator::LinearModel;
use crate::sample::Sample;
use crate::share::CxlShare;
use crate::tuner::{Decision, Observation, Tuner};
use crate::units::Seconds;
use crate::window::Window;
use std::time::Duration;

/// The figure that the tuner climbs.
#[derive(Debug)]
pub enum Objective {
    /// The estimate of the memory subsystem's performance.
    Estimate(LinearModel),
    /// The program's own figure, where samples carry it.
    Throughput,
}

/// When the tuner is asked.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Trigger {
    /// So long after the tuning before, in the samples' own time.
    Every(Duration),
    /// When a sample says that a program ended.
    Completion,
}

#[derive(Debug)]
pub struct ControllerSpec {
    pub objective: Objective,
    pub trigger: Trigger,
    /// Samples that a tuning needs at least.
    pub least_samples: usize,
    /// Samples that are left out after a change of the share, while pages are still being placed.
    pub settling_samples: usize,
}

/// Result of a sample.
#[derive(Clone, Debug)]
pub struct Step {
    /// The sample after the moving average.
    pub averaged: Sample,
    /// The objective at this sample.
    pub performance: f64,
    /// Not of one share, or not of the programs alone: no decision rests on it.
    pub left_out: bool,
    pub decision: Option<Decision>,
}

#[derive(Debug)]
pub struct Controller {
    spec: ControllerSpec,
    source_name: String,
    window: Window,
    tuner: Tuner,
    /// Objective, one value a sample since the last tuning.
    gathered: Vec<f64>,
    settling: usize,
    tuned_at: Option<Seconds>,
    latest: Option<Seconds>,
    samples: usize,
}

impl Controller {
    /// `source_name` is the sensor's, for messages.
    pub fn new(spec: ControllerSpec, window: Window, tuner: Tuner, source_name: String) -> Controller {
        // Putting the first share in force is a change like any other.
        let settling = spec.settling_samples;
        Controller {
            spec,
            source_name,
            window,
            tuner,
            gathered: Vec::new(),
            settling,
            tuned_at: None,
            latest: None,
            samples: 0,
        }
    }

    pub fn share(&self) -> CxlShare {
        self.tuner.share()
    }

    pub fn samples(&self) -> usize {
        self.samples
    }

    /// Samples before the first decision can fall.
    pub fn least_samples(&self) -> usize {
        self.spec.least_samples.max(1)
    }

    /// The next sample is not of the programs alone: leave it out.
    pub fn leave_out_next(&mut self) {
        self.settling = self.settling.max(1);
    }

    /// Errors: CAP010 where time runs backwards, CAP011 where the sample lacks what the objective needs.
    pub fn observe(&mut self, sample: &Sample) -> Result<Step> {
        self.samples += 1;
        self.check_time(sample)?;
        let averaged = self.window.average(sample);
        let performance = self.performance(&averaged)?;
        let left_out = self.settling > 0;
        if left_out {
            self.settling -= 1;
        } else {
            self.gathered.push(performance);
        }
        let decision = self.is_due(sample).then(|| self.tune(sample.time_s));
        Ok(Step { averaged, performance, left_out, decision })
    }

    fn check_time(&mut self, sample: &Sample) -> Result<()> {
        let time = sample.time_s;
        if self.latest.is_some_and(|latest| time <= latest) {
            return Err(Error::Sample {
                source_name: self.source_name.clone(),
                line: self.samples,
                detail: format!("time_s is {}, not after the sample before", time.0),
            });
        }
        self.latest = Some(time);
        self.tuned_at.get_or_insert(time);
        Ok(())
    }

    fn performance(&self, sample: &Sample) -> Result<f64> {
        match &self.spec.objective {
            Objective::Estimate(model) => model.estimate(sample, &self.source_name),
            Objective::Throughput => sample.throughput.ok_or_else(|| Error::MissingMetric {
                source_name: self.source_name.clone(),
                metric: "throughput",
                needed_by: "--objective throughput".into(),
                given: sample.given(),
            }),
        }
    }

    fn is_due(&self, sample: &Sample) -> bool {
        let asked = match self.spec.trigger {
            // Half a microsecond: sums of decimal fractions must not postpone a tuning by a sample.
            Trigger::Every(interval) => {
                self.tuned_at.is_some_and(|at| sample.time_s.0 - at.0 + 5e-7 >= interval.as_secs_f64())
            }
            Trigger::Completion => sample.completed.is_some_and(|programs| programs > 0),
        };
        asked && self.gathered.len() >= self.least_samples()
    }

    fn tune(&mut self, now: Seconds) -> Decision {
        let before = self.tuner.share();
        let decision = self.tuner.decide(self.observation());
        self.gathered.clear();
        self.tuned_at = Some(now);
        self.settling = if decision.share == before { 0 } else { self.spec.settling_samples };
        decision
    }

    /// Neighbouring moving averages share readings: the error of their mean is that of the readings below them.
    fn observation(&self) -> Observation {
        let n = self.gathered.len() as f64;
        let mean = self.gathered.iter().sum::<f64>() / n;
        let variance = self.gathered.iter().map(|y| (y - mean).powi(2)).sum::<f64>() / (n - 1.0).max(1.0);
        let independent = (n / self.window.length().get() as f64).max(1.0);
        Observation { mean, standard_error: (variance / independent).sqrt() }
    }
}
