//! A sampled run in numbers: its windows stand for the whole, and each figure has a confidence interval.
//!
//! ```text
//!   windows w1 .. wn, each a Totals       busy time = sum of theirs x (length of the run / their length)
//!   instructions, idle, I/O: known        simulated time = busy + idle + I/O
//! ```
//!
//! Windows of several cores lie on an axis of about their common time (qemu-plugin/src/stream/axis.rs). Known is only
//! the time in which all are idle together. Every other wait is a part of the windows' time.
//!
//! Any figure is a function of the windows' sums; leaving out one window at a time tells how much it varies
//! (`intervals.rs`). Source: W. Cochran, Sampling Techniques, 3rd ed., ch. 5A (one unit in each
//! stratum) and 6 (ratio estimates). Not modelled: that neighbouring windows are alike, which makes intervals wider than need be.

use cxlab_access::{Keep, Phase};
use cxlab_kernel::Time;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

use super::intervals::{CONFIDENCE, intervals, unseen};
use super::whole::{Whole, Window};
use super::{Instructions, Summary, Totals};
use crate::core::TimeSpent;
use crate::machine::Machine;

/// Size, intervals and doubts of a sample.
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

/// The windows of a run so far.
#[derive(Clone, Debug, Default)]
pub struct Windows {
    /// where the window that is open began, with the machine's totals there
    open: Option<Window>,
    measured: Vec<Window>,
    /// beginnings of runs or regions: they stand for themselves alone
    beginnings: Option<Window>,
    /// the window that is open is such a beginning
    begins: bool,
    /// the next window's number
    next: u64,
    /// where the last window that another phase has followed ended on the schedule
    ended: Option<u64>,
    /// where the last phase began on the schedule, and the instructions before it, timed and warmed
    position: u64,
    before: u64,
    /// how long all cores were idle together in detail so far
    all_idle: Time,
    /// while nothing was timed: how long all were idle, and how long until a device had answered
    untimed: TimeSpent,
}

impl Windows {
    /// Whether a phase at this position would begin before the window that it ends.
    pub fn would_go_back(&self, position: u64) -> bool {
        self.open.as_ref().is_some_and(|begun| position < begun.length)
    }

    /// A phase begins at a position of the schedule. So far `warmed` instructions (user, kernel) were not timed. In
    /// the phase before, if it was not timed, all cores were idle for `idle`.
    pub fn enter(&mut self, phase: Phase, position: u64, idle: Time, warmed: [u64; 2], machine: &Machine) {
        let here = Window { totals: Totals::of(machine), length: position, number: 0, all_idle: self.all_idle };
        if let Some(begun) = self.open.take() {
            self.ended = (phase != Phase::Measured).then_some(position);
            let window = here.since(&begun);
            if self.begins {
                self.beginnings = Some(self.beginnings.take().map_or(window.clone(), |before| before.with(&window)));
            } else if window.length > 0 {
                self.measured.push(window);
            }
        }
        self.untimed.idle += idle;
        (self.position, self.before) = (position, executed(machine, warmed));
        self.begins = phase == Phase::Beginning;
        if self.begins {
            self.open = Some(here);
        } else if phase == Phase::Measured {
            // A region's end cuts a window: what follows is of the same one.
            let goes_on = self.ended == Some(position) && self.next > 0;
            let number = if goes_on { self.next - 1 } else { self.next };
            self.next = number + 1;
            self.open = Some(Window { number, ..here });
        }
    }

    /// Keeps these of the windows so far. The open window always stays.
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

    /// Where nothing was timed, all cores were idle until a device had answered.
    pub fn rested(&mut self, span: Time) {
        self.untimed.io += span;
    }

    /// Estimates the whole run, of which `warmed` instructions (user, kernel) were not timed.
    fn whole(&self, machine: &Machine, warmed: [u64; 2]) -> Whole {
        // A run that breaks off has come further than where its last phase began: by its instructions, as near as can be told.
        let executed = executed(machine, warmed);
        let mut totals = Totals::of(machine);
        let since = match totals.cores {
            1 => executed - self.before,
            _ => (self.position as f64 * (executed as f64 / self.before.max(1) as f64 - 1.0)).round() as u64,
        };
        let position = self.position + since;
        let cores = totals.cores as u64;
        totals.instructions.user += warmed[0];
        totals.instructions.kernel += warmed[1];
        totals.idle += self.untimed.idle * cores + self.untimed.io * (cores - 1);
        totals.io += self.untimed.io;
        let beginnings = if self.measured.is_empty() { None } else { self.beginnings.clone() };
        Whole { totals, position, all_idle: self.all_idle + self.untimed.idle + self.untimed.io, beginnings }
    }

    /// All windows so far as one. Without windows, the beginnings stand for all. `None`: there is nothing.
    fn sum(&self) -> Option<Window> {
        let windows = self.measured.iter().cloned().reduce(|sum, window| sum.with(&window));
        windows.or_else(|| self.beginnings.clone())
    }

    /// Time of the run so far, as the windows tell it. `None` if there is no window.
    #[must_use]
    pub fn elapsed(&self, machine: &Machine, warmed: [u64; 2]) -> Option<Time> {
        self.sum().map(|sum| self.whole(machine, warmed).told_by(&sum).elapsed)
    }

    /// The whole run, of which `warmed` instructions (user, kernel) were not timed: its summary, and what is known of the
    /// sample.
    #[must_use]
    pub fn summary(&self, machine: &Machine, warmed: [u64; 2]) -> (Summary, Sampling) {
        let whole = self.whole(machine, warmed);
        let Some(sum) = self.sum() else {
            let nothing = Sampling {
                windows: 0,
                measured_instructions: None,
                detailed_instructions: None,
                warmed_instructions: None,
                confidence: CONFIDENCE,
                intervals: Value::Null,
                too_few_windows_for: Vec::new(),
            };
            return (whole.totals.summary(machine.spec()), nothing);
        };
        let estimate = |sum: &Window| whole.summary_told_by(sum, machine.spec());
        let summary = estimate(&sum);
        let told = figures(&summary);
        let others: Vec<_> = self.measured.iter().map(|window| figures(&estimate(&sum.since(window)))).collect();
        let (intervals, mut few) = intervals(&told, &others);
        let alone = Whole { beginnings: None, ..whole };
        few.extend(unseen(&told, &figures(&alone.summary_told_by(&sum, machine.spec()))));
        let sampling = Sampling {
            windows: self.measured.len(),
            measured_instructions: Some(sum.totals.instructions.all()),
            detailed_instructions: Some(Totals::of(machine).instructions.all()),
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

impl Instructions {
    pub(super) fn all(self) -> u64 {
        self.user + self.kernel
    }
}
