//! A sampled run in numbers: its windows stand for the whole, and each figure has a confidence interval.
//!
//! ```text
//!   windows w1 .. wn, each a Totals       busy time = sum of theirs x (length of the run / their length)
//!   instructions, idle, I/O: known        simulated time = busy + idle + I/O
//! ```
//!
//! Any figure is a function of the windows' sums; leaving out one window at a time (the jackknife) tells how much it
//! varies, Student's t how far the truth may be. Source: B. Efron and C. Stein, The jackknife estimate of variance, Annals of
//! Statistics 9 (1981); W. Cochran, Sampling Techniques, 3rd ed., ch. 6 (ratio estimates) and 8 (systematic samples). Not
//! modelled: what happens in no window has no interval, and a program in step with the windows' period is not noticed.

use cxlab_access::Phase;
use cxlab_kernel::Time;
use serde_json::{Map, Value, json};
use statrs::distribution::{ContinuousCDF, StudentsT};

use super::{Instructions, Summary, Totals};
use crate::machine::Machine;

/// Of the intervals.
const CONFIDENCE: f64 = 0.95;

/// A window, or several.
#[derive(Clone, Debug)]
struct Window {
    totals: Totals,
    /// on the schedule: instructions, and lines of those that repeat
    length: u64,
}

/// The windows of a run so far.
#[derive(Clone, Debug, Default)]
pub struct Windows {
    /// where the window that is open began, with the machine's totals there
    open: Option<Window>,
    measured: Vec<Window>,
    /// how far the run has come on the schedule
    position: u64,
    /// while nothing was timed: all idle, and devices' declared service
    idle: Time,
    device: Time,
}

impl Windows {
    /// A phase begins at a position of the schedule; in the one before, where nothing was timed, all were idle for `idle`.
    pub fn enter(&mut self, phase: Phase, position: u64, idle: Time, machine: &Machine) {
        if let Some(begun) = self.open.take() {
            let window = Window { totals: Totals::of(machine), length: position }.since(&begun);
            if window.totals.instructions.all() > 0 {
                self.measured.push(window);
            }
        }
        self.idle += idle;
        self.position = position;
        if phase == Phase::Measured {
            self.open = Some(Window { totals: Totals::of(machine), length: position });
        }
    }

    /// A device has served a request where nothing was timed.
    pub fn served(&mut self, service: Time) {
        self.device += service;
    }

    /// The whole run, of which `warmed` instructions (user, kernel) were not timed: its summary, and what is known of the
    /// sample.
    #[must_use]
    pub fn summary(&self, machine: &Machine, warmed: [u64; 2]) -> (Summary, Value) {
        let all = Totals::of(machine);
        let cores = all.cores as u64;
        let mut whole = all.clone();
        whole.instructions.user += warmed[0];
        whole.instructions.kernel += warmed[1];
        whole.idle += self.idle * cores;
        whole.device += self.device;
        let Some(sum) = self.measured.iter().cloned().reduce(|sum, window| sum.with(&window)) else {
            let nothing = json!({ "windows": 0, "confidence": CONFIDENCE, "intervals": null });
            return (whole.summary(machine.spec()), nothing);
        };
        let estimate = |sum: &Window| whole.told_by(sum, self.position).summary(machine.spec());
        let summary = estimate(&sum);
        let value = |summary: &Summary| serde_json::to_value(summary).expect("plain data is JSON");
        let others: Vec<_> = self.measured.iter().map(|window| value(&estimate(&sum.since(window)))).collect();
        let sampling = json!({
            "windows": self.measured.len(),
            "measured_instructions": sum.totals.instructions.all(),
            "detailed_instructions": all.instructions.all(),
            "warmed_instructions": warmed[0] + warmed[1],
            "confidence": CONFIDENCE,
            "intervals": intervals(&value(&summary), &others),
        });
        (summary, sampling)
    }
}

impl Window {
    fn with(&self, other: &Window) -> Window {
        Window { totals: &self.totals + &other.totals, length: self.length + other.length }
    }

    /// What came since `before`; or without it, if that was a part.
    fn since(&self, before: &Window) -> Window {
        Window { totals: &self.totals - &before.totals, length: self.length - before.length }
    }
}

impl Instructions {
    fn all(self) -> u64 {
        self.user + self.kernel
    }
}

impl Totals {
    /// What `self`, of this length, would be if all of it had gone as `sample` did; instructions, idle time and I/O
    /// are known.
    fn told_by(&self, sample: &Window, length: u64) -> Totals {
        let share = length as f64 / sample.length.max(1) as f64;
        let mut told = sample.totals.scaled(share);
        let busy = (sample.totals.busy().as_ps() as f64 * share).round() as u64;
        (told.instructions, told.idle, told.device) = (self.instructions, self.idle, self.device);
        told.elapsed = Time::from_ps(busy + (self.idle + self.device).as_ps() / self.cores as u64);
        told
    }
}

/// For each number of `estimate`, [low, high]; `others` are the estimates with one window left out.
fn intervals(estimate: &Value, others: &[Value]) -> Value {
    match estimate {
        Value::Object(fields) => {
            let of = |(name, value): (&String, &Value)| {
                let others: Vec<_> = others.iter().map(|other| other[name].clone()).collect();
                (name.clone(), intervals(value, &others))
            };
            Value::Object(fields.iter().map(of).collect::<Map<_, _>>())
        }
        Value::Array(items) => {
            let of = |(place, value): (usize, &Value)| {
                let others: Vec<_> = others.iter().map(|other| other[place].clone()).collect();
                intervals(value, &others)
            };
            Value::Array(items.iter().enumerate().map(of).collect())
        }
        Value::Number(number) => {
            let others: Vec<f64> = others.iter().map(|other| other.as_f64().unwrap_or(0.0)).collect();
            let estimate = number.as_f64().expect("a summary's numbers are finite");
            half_width(&others).map_or(Value::Null, |half| json!([estimate - half, estimate + half]))
        }
        _ => Value::Null,
    }
}

/// Half the interval of a figure whose estimates with one window left out are these; `None` of fewer than two.
fn half_width(others: &[f64]) -> Option<f64> {
    let count = others.len() as f64;
    let freedom = count - 1.0;
    let student = StudentsT::new(0.0, 1.0, freedom).ok().filter(|_| freedom >= 1.0)?;
    let mean = others.iter().sum::<f64>() / count;
    let variance = others.iter().map(|other| (other - mean).powi(2)).sum::<f64>() * freedom / count;
    Some(student.inverse_cdf(0.5 + CONFIDENCE / 2.0) * variance.sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_jackknife_of_a_mean_is_the_textbooks_t_interval() {
        // Ten values of mean 5.5 and sample variance 55/6; t(0.975, 9) = 2.262 (any table of Student's t).
        let values: Vec<f64> = (1..=10).map(f64::from).collect();
        let left_out: Vec<f64> = values.iter().map(|value| (55.0 - value) / 9.0).collect();
        let wanted = 2.262 * (55.0f64 / 6.0 / 10.0).sqrt();
        assert!((half_width(&left_out).unwrap() - wanted).abs() < 1e-3);
        assert_eq!(half_width(&[1.0]), None);
    }

    #[test]
    fn every_number_of_a_tree_has_an_interval_and_nothing_else_has() {
        let tree = |x: f64| json!({ "a": x, "b": [{ "c": 1 }], "name": "n", "none": null });
        let found = intervals(&tree(1.0), &[tree(0.9), tree(1.1)]);
        assert_eq!(found["b"][0]["c"], json!([1.0, 1.0]));
        assert!(found["a"][0].as_f64() < Some(0.9) && found["name"].is_null() && found["none"].is_null());
    }
}
