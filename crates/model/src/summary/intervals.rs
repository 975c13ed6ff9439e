//! Confidence intervals of figures, from their estimates with one window left out (the jackknife).
//!
//! ```text
//!   estimates with one left out --spread--> Student's t --skewness--> [low, high]      too few windows tell: named
//! ```
//!
//! Student's t tells how far the truth may be. Its degrees of freedom are those of the windows' spread. If a few
//! windows make most of the spread, the spread itself is poorly known, as if there were fewer windows. Events that
//! few windows have are skewed. A sample that missed them is far too low more often than one is far too high. So
//! Hall's transformation makes the interval longer on that side. Where a few windows make most of a figure, all that
//! says little: such figures are named. Source: B. Efron and C. Stein, The jackknife estimate of variance, Annals of
//! Statistics 9 (1981); F. Satterthwaite, An approximate distribution of estimates of variance components, Biometrics
//! Bulletin 2 (1946); P. Hall, On the removal of skewness by transformation, J. R. Statist. Soc. B 54 (1992); W.
//! Cochran, Sampling Techniques, 3rd ed., 2.15 (skewed populations).

use std::f64::consts::FRAC_PI_2;

use serde_json::{Map, Value, json};
use statrs::distribution::{ContinuousCDF, StudentsT};

/// Confidence of the intervals.
pub const CONFIDENCE: f64 = 0.95;
/// An interval of 95 % errs in 6 % of samples at most where there are so many windows for their skewness squared (Cochran
/// 2.15, equation 2.35).
const WINDOWS_OF_SKEWNESS: f64 = 25.0;

/// If fewer windows than this tell of a figure, and most do not, the figure is named whatever its
/// skewness. A mean over the events of so few windows says nothing of bursts that none of them has seen. Five
/// programs of 41 to 224 M instructions made 141 to 576 loads from CXL memory, of 301 to 325 ns. A dozen windows that
/// saw some said 265 to 280 ns.
const FEWEST: f64 = 30.0;
/// A window that changes a figure by so little does not tell of it `[of the largest change]`. The rest is rounding to
/// whole picoseconds.
const UNTOLD: f64 = 1e-4;

/// Returns [low, high] for each number of `estimate`, and the names of those that too few windows tell of. `others`
/// are the estimates with one window left out.
pub fn intervals(estimate: &Value, others: &[Value]) -> (Value, Vec<String>) {
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

/// Names of numbers of `estimate` that are zero or missing in `alone`, which windows alone tell. What they count was
/// seen in the beginning of the run, and in no window.
pub fn unseen(estimate: &Value, alone: &Value) -> Vec<String> {
    let mut names = Vec::new();
    each_number(estimate, std::slice::from_ref(alone), "", &mut |name, estimate, alone| {
        if estimate != 0.0 && alone == [0.0] {
            names.push(name.to_owned());
        }
        Value::Null
    });
    names
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
    let telling = telling(estimate, others);
    let student = StudentsT::new(0.0, 1.0, freedom(telling, others)).ok().filter(|_| telling >= 2.0)?;
    let least = student.inverse_cdf(0.5 + CONFIDENCE / 2.0) / count.sqrt();
    // Leaving a window out takes its share away: the other way round, and 1 / (n - 1) of it. Windows that do not tell
    // have no share in a deviation.
    let of_telling = telling / (telling - 1.0) * (count - 1.0) / count;
    let spread = (moment(others, 2) * count * (count - 1.0) * of_telling).sqrt();
    let skewness = -moment(others, 3) / moment(others, 2).powf(1.5);
    let reach = |least: f64| spread * skewed(least, skewness, count);
    Some(((estimate - reach(least)).max(0.0), estimate - reach(-least)))
}

/// Degrees of freedom of the spread. A variance whose own variance is 2 / f of its square has f of them
/// (Satterthwaite). The variance of n values of kurtosis k has (k - 1) / n (Cochran 2.15), so f = 2 n / (k - 1). It is
/// at most one less than the number of windows that tell.
fn freedom(telling: f64, others: &[f64]) -> f64 {
    let kurtosis = moment(others, 4) / moment(others, 2).powi(2);
    let of_spread = 2.0 * others.len() as f64 / (kurtosis - 1.0);
    // No number where nothing varies; and two values of one size have the kurtosis 1.
    if of_spread.is_finite() { of_spread.clamp(1.0, (telling - 1.0).max(1.0)) } else { telling - 1.0 }
}

/// Distance of the mean of `count` values of this skewness from the truth `[standard deviations]`. Without skewness the
/// mean would be `deviation` away. This is the inverse of Hall's transformation.
fn skewed(deviation: f64, skewness: f64, count: f64) -> f64 {
    // No number where nothing varies.
    if skewness.is_nan() || skewness.abs() < 1e-6 {
        return deviation;
    }
    3.0 / skewness * ((1.0 + skewness * (deviation - skewness / (6.0 * count))).cbrt() - 1.0)
}

/// How many windows tell of a figure: those that change it when they are left out. A mean over events is told by the windows
/// that have some, so Student's t has the freedom of those, not of all. Of what does not vary, all tell. Those that
/// change it little count little. Normal windows of variance v have a mean deviation of sqrt(2 v / pi).
fn telling(estimate: f64, others: &[f64]) -> f64 {
    let count = others.len() as f64;
    let farthest = farthest(estimate, others);
    if farthest == 0.0 {
        return count;
    }
    let deviations: Vec<f64> = others.iter().map(|other| (other - estimate).abs()).collect();
    let change_it = deviations.iter().filter(|deviation| **deviation > UNTOLD * farthest).count() as f64;
    let squares: f64 = deviations.iter().map(|deviation| deviation.powi(2)).sum();
    (FRAC_PI_2 * deviations.iter().sum::<f64>().powi(2) / squares).min(change_it)
}

/// How far a window moves the figure when it is left out, at most; 0 where that is rounding.
fn farthest(estimate: f64, others: &[f64]) -> f64 {
    let farthest = others.iter().map(|other| (other - estimate).abs()).fold(0.0, f64::max);
    if farthest <= 1e-9 * estimate.abs() { 0.0 } else { farthest }
}

/// Whether a few windows make so much of the figure that its interval is not to be believed.
fn is_skewed(estimate: f64, others: &[f64]) -> bool {
    if farthest(estimate, others) == 0.0 {
        return false;
    }
    let (telling, count) = (telling(estimate, others), others.len() as f64);
    if telling < FEWEST && telling < count / 2.0 {
        return true;
    }
    let squared = moment(others, 3).powi(2) / moment(others, 2).powi(3);
    squared * WINDOWS_OF_SKEWNESS > count
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
        // Events that come in one window of 20, exponential in number. Symmetric intervals of 200 windows leave the
        // truth out on the high side far more often than the 2.5 % that they say. Both sides of these intervals have
        // to be near 2.5 %.
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
        // A share p has the skewness (1 - 2p) / sqrt(p (1 - p)). 25 of its square are 2426 for 1 in 100, 178 for 1 in 10.
        let seen_by = |seen: u32, windows: u32| {
            let left_out = |window| f64::from(seen - u32::from(window < seen)) / f64::from(windows - 1);
            let estimate = f64::from(seen) / f64::from(windows);
            is_skewed(estimate, &(0..windows).map(left_out).collect::<Vec<_>>())
        };
        assert!(seen_by(1, 100) && seen_by(17, 170));
        assert!(!seen_by(19, 190) && !is_skewed(2.0, &[2.0, 2.0, 2.0]));
        // What is known varies by rounding alone.
        let rounded = 5.76e-3 * (1.0 + f64::EPSILON);
        assert!(!is_skewed(5.76e-3, &[[5.76e-3; 40].as_slice(), &[rounded]].concat()));
    }

    #[test]
    fn a_mean_over_events_has_the_freedom_of_the_windows_that_have_some() {
        // n of 400 windows have one event each, uniform in height. So the mean over events is that of n draws, for
        // which Student's t is exact enough. With the freedom of 400 windows 3 events leave the truth out of 1 of 5
        // intervals.
        let mut random = cxlab_kernel::Stream::new(11, "events");
        for events in [3, 5, 12, 40] {
            let (mut covered, rounds) = (0, 1000);
            for _ in 0..rounds {
                let heights: Vec<f64> = (0..events).map(|_| 100.0 + random.below(100) as f64).collect();
                let sum: f64 = heights.iter().sum();
                let mean = sum / f64::from(events);
                let mut left_out = vec![mean; 400 - events as usize];
                left_out.extend(heights.iter().map(|height| (sum - height) / f64::from(events - 1)));
                let (low, high) = interval(mean, &left_out).unwrap();
                covered += u32::from((low..=high).contains(&149.5));
                assert!(events >= 30 || is_skewed(mean, &left_out));
            }
            let share = f64::from(covered) / f64::from(rounds);
            assert!(share > 0.9, "{share} of {events} events");
        }
    }

    #[test]
    fn what_a_few_windows_make_is_named_also_where_all_others_change_it_a_little() {
        // Of 1,000 windows twelve have a load. The others change how much the windows stand for, by a thousandth of that.
        let changes = |window: usize| if window < 12 { [1.0, -1.0][window % 2] } else { [1e-3, -1e-3][window % 2] };
        let few: Vec<f64> = (0..1000).map(|window| 300.0 + changes(window)).collect();
        let all: Vec<f64> = (0..1000).map(|window| 300.0 + [1.0, -1.0][window % 2]).collect();
        assert!(is_skewed(300.0, &few) && !is_skewed(300.0, &all));
        // The sum of what 12 + 0.988 change, squared, over that of its squares, 12: 14.06, and pi / 2 of that.
        assert!((telling(300.0, &few) - 22.08).abs() < 0.01, "{}", telling(300.0, &few));
        assert_eq!(telling(300.0, &all), 1000.0);
    }

    #[test]
    fn windows_of_which_a_few_make_the_spread_have_few_degrees_of_freedom() {
        // n equal shares but for one: the kurtosis is n - 2 + 1 / (n - 1), so 2 n / (k - 1) is 2 in the limit. For
        // normal windows it is n, and all but one are left. For +1 and -1 in turn the kurtosis is 1, and the spread
        // is known.
        let one_far: Vec<f64> = (0..400).map(|window| f64::from(u8::from(window == 7))).collect();
        assert!((freedom(400.0, &one_far) - 2.0).abs() < 0.05, "{}", freedom(400.0, &one_far));
        let in_turn: Vec<f64> = (0..400).map(|window| f64::from(window % 2)).collect();
        assert_eq!(freedom(400.0, &in_turn), 399.0);
        assert_eq!(freedom(5.0, &[1.0; 5]), 4.0);
    }

    #[test]
    fn what_no_window_has_seen_is_named() {
        let estimate = json!({ "loads": 7, "stores": 3, "writes": 0, "nodes": { "cxl": { "latency": 300.5 } } });
        let alone = json!({ "loads": 0, "stores": 2, "writes": 0, "nodes": { "cxl": { "latency": null } } });
        assert_eq!(unseen(&estimate, &alone), ["loads", "nodes.cxl.latency"]);
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
