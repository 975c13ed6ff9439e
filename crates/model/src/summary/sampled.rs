//! A sampled run in numbers: its windows stand for the whole, and each figure has a confidence interval.
//!
//! ```text
//!   windows w1 .. wn, each a Totals       busy time = sum of theirs x (length of the run / their length)
//!   instructions, idle, I/O: known        simulated time = busy + idle + I/O
//! ```
//!
//! Of several cores, windows lie on an axis of about their common time (qemu-plugin/src/stream/axis.rs). Known is only the
//! time in which all are idle together. A core that waits for another, or for a device, is a part of the windows' time.
//!
//! Any figure is a function of the windows' sums; leaving out one window at a time (the jackknife) tells how much it
//! varies, Student's t how far the truth may be. Events that few windows have are skewed: a sample that missed them is far too
//! low more often than one is far too high, so Hall's transformation makes the interval longer on that side. Where a few
//! windows make most of a figure, all that says little: such figures are named. Source: B. Efron and C. Stein, The
//! jackknife estimate of variance, Annals of Statistics 9 (1981); P. Hall, On the removal of skewness by transformation,
//! J. R. Statist. Soc. B 54 (1992); W. Cochran, Sampling Techniques, 3rd ed., 2.15 (skewed populations), ch. 6 (ratio
//! estimates) and 8 (systematic samples). Not modelled: a program in step with the windows' period is not noticed.

use cxlab_access::{Keep, Phase};
use cxlab_kernel::Time;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value, json};
use statrs::distribution::{ContinuousCDF, StudentsT};

use super::{Instructions, Summary, Totals};
use crate::core::TimeStack;
use crate::machine::Machine;

/// Of the intervals.
const CONFIDENCE: f64 = 0.95;
/// An interval of 95 % errs in 6 % of samples at most where there are so many windows for their skewness squared (Cochran
/// 2.15, equation 2.35).
const WINDOWS_OF_SKEWNESS: f64 = 25.0;

/// A figure that fewer windows tell of than this, where there are more, is named whatever its skewness.
const FEWEST: usize = 10;
/// A window that changes a figure by so little does not tell of it [of the largest change]: what is left is rounding, of
/// whole picoseconds.
const UNTOLD: f64 = 1e-4;

/// What is known of a sample.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Sampling {
    pub windows: usize,
    /// in the windows; absent where there is none
    #[serde(skip_serializing_if = "Option::is_none")]
    pub measured_instructions: Option<u64>,
    /// in the windows and in their warm-up
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detailed_instructions: Option<u64>,
    /// functionally, between the windows
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warmed_instructions: Option<u64>,
    /// of the intervals, 0 to 1
    pub confidence: f64,
    /// the summary with `[low, high]` in the place of each number
    pub intervals: Value,
    /// names of figures whose interval says little: few windows have seen them
    pub too_few_windows_for: Vec<String>,
}

/// A window, or several.
#[derive(Clone, Debug)]
struct Window {
    totals: Totals,
    /// on the schedule: instructions, and lines of those that repeat; of several cores, about their common time [ns]
    length: u64,
    /// on the schedule, counted from 0; of the pieces that a region's end cuts a window into, the same
    number: u64,
    /// how long all cores were idle together: of several cores alone
    all_idle: Time,
}

/// The windows of a run so far.
#[derive(Clone, Debug, Default)]
pub struct Windows {
    /// where the window that is open began, with the machine's totals there
    open: Option<Window>,
    measured: Vec<Window>,
    /// the next window's number
    next: u64,
    /// where the last window that another phase has followed ended on the schedule
    ended: Option<u64>,
    /// where the last phase began on the schedule, and the instructions before it, timed and warmed
    position: u64,
    before: u64,
    /// how long all cores were idle together in detail so far
    all_idle: Time,
    /// while nothing was timed: all idle, and devices' declared service
    idle: Time,
    device: Time,
}

impl Windows {
    /// A phase begins at a position of the schedule, `warmed` instructions (user, kernel) were not timed so far; in the
    /// one before, where nothing was timed, all were idle for `idle`.
    pub fn enter(&mut self, phase: Phase, position: u64, idle: Time, warmed: [u64; 2], machine: &Machine) {
        let here = Window { totals: Totals::of(machine), length: position, number: 0, all_idle: self.all_idle };
        if let Some(begun) = self.open.take() {
            self.ended = (phase != Phase::Measured).then_some(position);
            let window = here.since(&begun);
            if window.length > 0 {
                self.measured.push(window);
            }
        }
        self.idle += idle;
        (self.position, self.before) = (position, executed(machine, warmed));
        if phase == Phase::Measured {
            // A region's end cuts a window: what follows is of the same one.
            let goes_on = self.ended == Some(position) && self.next > 0;
            let number = if goes_on { self.next - 1 } else { self.next };
            self.next = number + 1;
            self.open = Some(Window { number, ..here });
        }
    }

    /// Of the windows so far, but for the one that is open, these are kept.
    pub fn keep(&mut self, keep: Keep) {
        if keep == Keep::All {
            return;
        }
        self.measured.retain(|window| keep.keeps(window.number));
        self.measured.iter_mut().for_each(|window| window.number /= 2);
        self.next = (self.next - u64::from(self.open.is_some())) / 2 + u64::from(self.open.is_some());
        if let Some(open) = &mut self.open {
            open.number /= 2;
        }
    }

    /// All cores were idle together, in detail.
    pub fn all_idle(&mut self, span: Time) {
        self.all_idle += span;
    }

    /// A device has served a request where nothing was timed.
    pub fn served(&mut self, service: Time) {
        self.device += service;
    }

    /// The whole run, of which `warmed` instructions (user, kernel) were not timed: its summary, and what is known of the
    /// sample.
    #[must_use]
    pub fn summary(&self, machine: &Machine, warmed: [u64; 2]) -> (Summary, Sampling) {
        // A run that breaks off has come further than where its last phase began: by its instructions, as near as can be told.
        let executed = executed(machine, warmed);
        let all = Totals::of(machine);
        let since = match all.cores {
            1 => executed - self.before,
            _ => (self.position as f64 * (executed as f64 / self.before.max(1) as f64 - 1.0)).round() as u64,
        };
        let position = self.position + since;
        let cores = all.cores as u64;
        let mut whole = all.clone();
        whole.instructions.user += warmed[0];
        whole.instructions.kernel += warmed[1];
        whole.idle += self.idle * cores;
        whole.device += self.device;
        let Some(sum) = self.measured.iter().cloned().reduce(|sum, window| sum.with(&window)) else {
            let nothing = Sampling {
                windows: 0,
                measured_instructions: None,
                detailed_instructions: None,
                warmed_instructions: None,
                confidence: CONFIDENCE,
                intervals: Value::Null,
                too_few_windows_for: Vec::new(),
            };
            return (whole.summary(machine.spec()), nothing);
        };
        let all_idle = self.all_idle + self.idle;
        let estimate = |sum: &Window| match cores {
            1 => whole.told_by(sum, position),
            _ => whole.of_several_told_by(sum, position, all_idle),
        };
        let estimate = |sum: &Window| estimate(sum).summary(machine.spec());
        let summary = estimate(&sum);
        let value = |summary: &Summary| figures(summary);
        let others: Vec<_> = self.measured.iter().map(|window| value(&estimate(&sum.since(window)))).collect();
        let (intervals, few) = intervals(&value(&summary), &others);
        let sampling = Sampling {
            windows: self.measured.len(),
            measured_instructions: Some(sum.totals.instructions.all()),
            detailed_instructions: Some(all.instructions.all()),
            warmed_instructions: Some(warmed[0] + warmed[1]),
            confidence: CONFIDENCE,
            intervals,
            too_few_windows_for: few,
        };
        (summary, sampling)
    }
}

/// The figures that have intervals. In the place of the CPI stack's many parts are the shares that people are told.
fn figures(summary: &Summary) -> Value {
    let mut value = serde_json::to_value(summary).expect("plain data is JSON");
    let figures = value.as_object_mut().expect("a summary is an object");
    figures.remove("cpi_stack");
    figures.insert("where_it_went".into(), json!(summary.cpi_stack.shares()));
    value
}

/// Instructions so far, timed and not.
fn executed(machine: &Machine, warmed: [u64; 2]) -> u64 {
    Totals::of(machine).instructions.all() + warmed[0] + warmed[1]
}

impl Window {
    fn with(&self, other: &Window) -> Window {
        let (length, number) = (self.length + other.length, self.number);
        Window { totals: &self.totals + &other.totals, length, number, all_idle: self.all_idle + other.all_idle }
    }

    /// What came since `before`; or without it, if that was a part.
    fn since(&self, before: &Window) -> Window {
        let (length, number) = (self.length - before.length, before.number);
        let all_idle = self.all_idle.since(before.all_idle);
        Window { totals: &self.totals - &before.totals, length, number, all_idle }
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
        told.stack = self.stack_told_by(&sample.totals.stack, told.elapsed * self.cores as u64);
        told
    }
}

impl Totals {
    /// The same of several cores, all of which were idle together for `all_idle`: what one does while another waits is as
    /// in the windows.
    fn of_several_told_by(&self, sample: &Window, length: u64, all_idle: Time) -> Totals {
        let cores = self.cores as u64;
        let mut windows = sample.totals.clone();
        let apart = sample.all_idle * cores;
        windows.elapsed = windows.elapsed.since(sample.all_idle);
        windows.idle = windows.idle.since(apart);
        windows.stack.idle = windows.stack.idle.since(apart);
        let mut told = windows.scaled(length as f64 / sample.length.max(1) as f64);
        told.instructions = self.instructions;
        told.elapsed += all_idle;
        told.idle += all_idle * cores;
        told.stack.idle += all_idle * cores;
        told
    }
}

impl Totals {
    /// The parts of the cores' time where busy time went as in the windows; idle time and I/O are known.
    fn stack_told_by(&self, windows: &TimeStack, time: Time) -> TimeStack {
        let busy = time.since(self.idle + self.device);
        let share = busy.as_ps() as f64 / windows.busy().as_ps().max(1) as f64;
        let mut told = windows.with(windows, |part, _| Time::from_ps((part.as_ps() as f64 * share).round() as u64));
        (told.idle, told.io) = (self.idle, self.device);
        told
    }
}

/// For each number of `estimate`, [low, high], and the names of those that too few windows tell of; `others` are the
/// estimates with one window left out.
fn intervals(estimate: &Value, others: &[Value]) -> (Value, Vec<String>) {
    let mut few = Vec::new();
    let tree = each_number(estimate, others, "", &mut |name, estimate, others| {
        let Some((low, high)) = interval(estimate, others) else { return Value::Null };
        if is_skewed(estimate, others) {
            few.push(name.to_owned());
        }
        json!([low, high])
    });
    (tree, few)
}

/// The tree with each number replaced by what `of` makes of its name, itself and those at its place in `others`.
fn each_number(tree: &Value, others: &[Value], name: &str, of: &mut impl FnMut(&str, f64, &[f64]) -> Value) -> Value {
    let mut below = |key: &str, value: &Value, at: &dyn Fn(&Value) -> Value| {
        let name = if name.is_empty() { key.to_owned() } else { format!("{name}.{key}") };
        each_number(value, &others.iter().map(at).collect::<Vec<_>>(), &name, of)
    };
    match tree {
        Value::Object(fields) => {
            let of = |(key, value): (&String, &Value)| (key.clone(), below(key, value, &|other| other[key].clone()));
            Value::Object(fields.iter().map(of).collect::<Map<_, _>>())
        }
        Value::Array(items) => {
            let of = |(place, value): (usize, &Value)| below(&place.to_string(), value, &|other| other[place].clone());
            Value::Array(items.iter().enumerate().map(of).collect())
        }
        Value::Number(number) => {
            let others: Vec<f64> = others.iter().map(|other| other.as_f64().unwrap_or(0.0)).collect();
            of(name, number.as_f64().expect("a summary's numbers are finite"), &others)
        }
        _ => Value::Null,
    }
}

/// The mean power of their deviations from their mean.
fn moment(values: &[f64], power: i32) -> f64 {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    values.iter().map(|value| (value - mean).powi(power)).sum::<f64>() / count
}

/// The interval of a figure, which cannot be negative, whose estimates with one window left out are these; `None` of fewer
/// than two.
fn interval(estimate: f64, others: &[f64]) -> Option<(f64, f64)> {
    let count = others.len() as f64;
    let telling = telling(estimate, others) as f64;
    let student = StudentsT::new(0.0, 1.0, telling - 1.0).ok().filter(|_| telling >= 2.0)?;
    let least = student.inverse_cdf(0.5 + CONFIDENCE / 2.0) / count.sqrt();
    // Leaving a window out takes its share away: the other way round, and 1 / (n - 1) of it. Windows that do not tell
    // have no share in a deviation.
    let of_telling = telling / (telling - 1.0) * (count - 1.0) / count;
    let spread = (moment(others, 2) * count * (count - 1.0) * of_telling).sqrt();
    let skewness = -moment(others, 3) / moment(others, 2).powf(1.5);
    let reach = |least: f64| spread * skewed(least, skewness, count);
    Some(((estimate - reach(least)).max(0.0), estimate - reach(-least)))
}

/// How far the mean of `count` values of this skewness is from the truth, where that of values without any is as far as
/// `deviation` [standard deviations]: the inverse of Hall's transformation.
fn skewed(deviation: f64, skewness: f64, count: f64) -> f64 {
    // No number where nothing varies.
    if skewness.is_nan() || skewness.abs() < 1e-6 {
        return deviation;
    }
    3.0 / skewness * ((1.0 + skewness * (deviation - skewness / (6.0 * count))).cbrt() - 1.0)
}

/// How many windows tell of a figure: those that change it when they are left out. A mean over events is told by the windows
/// that have some, so Student's t has the freedom of those, not of all. Of what does not vary, all tell.
fn telling(estimate: f64, others: &[f64]) -> usize {
    let far = |other: &f64| (other - estimate).abs();
    let farthest = others.iter().map(far).fold(0.0, f64::max);
    if farthest <= 1e-9 * estimate.abs() {
        return others.len();
    }
    others.iter().filter(|other| far(other) > UNTOLD * farthest).count()
}

/// Whether a few windows make so much of the figure that its interval is not to be believed.
fn is_skewed(estimate: f64, others: &[f64]) -> bool {
    let telling = telling(estimate, others);
    if telling < others.len() && telling < FEWEST {
        return true;
    }
    // Where nothing varies this is no number, and greater than none.
    let squared = moment(others, 3).powi(2) / moment(others, 2).powi(3);
    squared * WINDOWS_OF_SKEWNESS > others.len() as f64
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
        let (low, high) = interval(5.5, &left_out).unwrap();
        assert!((high - 5.5 - wanted).abs() < 1e-3 && (5.5 - low - wanted).abs() < 1e-3, "{low} to {high}");
        assert_eq!(interval(1.0, &[1.0]), None);
    }

    #[test]
    fn an_interval_of_skewed_windows_covers_as_often_as_it_says() {
        // Events that come in one window of 20, exponential in number. Symmetric intervals of 200 windows leave the truth
        // out on the high side far more often than the 2.5 % that they say; both sides of these are to be near it.
        let mut random = cxlab_kernel::Stream::new(7, "windows");
        let mut draw = || {
            let (comes, height) = (random.below(20) == 0, (random.below(1 << 20) as f64 + 0.5) / f64::from(1 << 20));
            if comes { -height.ln() } else { 0.0 }
        };
        let (truth, rounds) = (1.0 / 20.0, 2000);
        let (mut below, mut above) = (0, 0);
        for _ in 0..rounds {
            let windows: Vec<f64> = (0..200).map(|_| draw()).collect();
            let sum: f64 = windows.iter().sum();
            let left_out: Vec<f64> = windows.iter().map(|window| (sum - window) / 199.0).collect();
            let (low, high) = interval(sum / 200.0, &left_out).unwrap();
            below += u32::from(truth > high);
            above += u32::from(truth < low);
        }
        let share = |count: u32| f64::from(count) / f64::from(rounds);
        assert!(share(below) < 0.06 && share(above) < 0.06, "{} and {}", share(below), share(above));
    }

    #[test]
    fn what_one_window_in_a_hundred_has_seen_is_named() {
        // A share p has the skewness (1 - 2p) / sqrt(p (1 - p)): 25 of its square are 2426 for 1 in 100, 178 for 1 in 10.
        let seen_by = |seen: u32, windows: u32| {
            let left_out = |window| f64::from(seen - u32::from(window < seen)) / f64::from(windows - 1);
            let estimate = f64::from(seen) / f64::from(windows);
            is_skewed(estimate, &(0..windows).map(left_out).collect::<Vec<_>>())
        };
        assert!(seen_by(1, 100) && seen_by(17, 170));
        assert!(!seen_by(19, 190) && !is_skewed(2.0, &[2.0, 2.0, 2.0]));
    }

    #[test]
    fn a_mean_over_events_has_the_freedom_of_the_windows_that_have_some() {
        // Of 100 windows n have one event each, uniform in height: the mean over events is that of n draws, for which
        // Student's t is exact enough. With the freedom of 100 windows 3 events leave the truth out of 1 of 5 intervals.
        let mut random = cxlab_kernel::Stream::new(11, "events");
        for events in [3, 5, 12] {
            let (mut covered, rounds) = (0, 1000);
            for _ in 0..rounds {
                let heights: Vec<f64> = (0..events).map(|_| 100.0 + random.below(100) as f64).collect();
                let sum: f64 = heights.iter().sum();
                let mean = sum / f64::from(events);
                let mut left_out = vec![mean; 100 - events as usize];
                left_out.extend(heights.iter().map(|height| (sum - height) / f64::from(events - 1)));
                let (low, high) = interval(mean, &left_out).unwrap();
                covered += u32::from((low..=high).contains(&149.5));
                assert!(events >= 10 || is_skewed(mean, &left_out));
            }
            let share = f64::from(covered) / f64::from(rounds);
            assert!(share > 0.9, "{share} of {events} events");
        }
    }

    #[test]
    fn every_number_of_a_tree_has_an_interval_and_nothing_else_has() {
        let tree = |x: f64| json!({ "a": x, "b": [{ "c": 1 }], "name": "n", "none": null });
        let (found, few) = intervals(&tree(1.0), &[tree(0.9), tree(1.1)]);
        assert!(few.is_empty());
        assert_eq!(found["b"][0]["c"], json!([1.0, 1.0]));
        assert!(found["a"][0].as_f64() < Some(0.9) && found["name"].is_null() && found["none"].is_null());
    }
}
