//! Estimates the whole of a sampled run from its windows. What was timed there stands for what was not.
//!
//! ```text
//!   busy time of the whole = that of the windows x (length of the run / their length)      instructions, idle, I/O: known
//! ```

use cxlab_kernel::Time;

use super::Totals;
use crate::core::TimeStack;

/// A window, or several.
#[derive(Clone, Debug)]
pub struct Window {
    pub totals: Totals,
    /// on the schedule: instructions, and lines of those that repeat; of several cores, about their common time `[ns]`
    pub length: u64,
    /// on the schedule, counted from 0; of the pieces that a region's end cuts a window into, the same
    pub number: u64,
    /// how long all cores were idle together: of several cores alone
    pub all_idle: Time,
}

/// Figures of a whole run that are known without its windows.
pub struct Whole {
    /// its instructions, idle time and devices' service are those of all of it, the rest of what was timed
    pub totals: Totals,
    /// how long it is on the schedule
    pub position: u64,
    /// how long all cores were idle together
    pub all_idle: Time,
}

impl Whole {
    /// Estimates the whole run, as if all of it had gone as `sample` did.
    pub fn told_by(&self, sample: &Window) -> Totals {
        match self.totals.cores {
            1 => self.totals.told_by(sample, self.position),
            _ => self.totals.of_several_told_by(sample, self.position, self.all_idle),
        }
    }
}

impl Window {
    pub fn with(&self, other: &Window) -> Window {
        let (length, number) = (self.length + other.length, self.number);
        Window { totals: &self.totals + &other.totals, length, number, all_idle: self.all_idle + other.all_idle }
    }

    /// Difference from `before`: what came since, or the rest if `before` was a part.
    pub fn since(&self, before: &Window) -> Window {
        let (length, number) = (self.length - before.length, before.number);
        let all_idle = self.all_idle.since(before.all_idle);
        Window { totals: &self.totals - &before.totals, length, number, all_idle }
    }
}

impl Totals {
    /// Scales `sample` to the length of `self`. Instructions, idle time and I/O of `self` are known.
    fn told_by(&self, sample: &Window, length: u64) -> Totals {
        let share = length as f64 / sample.length.max(1) as f64;
        let mut told = sample.totals.scaled(share);
        let busy = (sample.totals.busy().as_ps() as f64 * share).round() as u64;
        (told.instructions, told.idle, told.device) = (self.instructions, self.idle, self.device);
        told.elapsed = Time::from_ps(busy + (self.idle + self.device).as_ps() / self.cores as u64);
        told.stack = self.stack_told_by(&sample.totals.stack, told.elapsed * self.cores as u64);
        told
    }

    /// Scales `sample` to `self`, of several cores that were all idle together for `all_idle`. While one core waits, the
    /// others do as in the windows.
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

    /// The parts of the cores' time where busy time went as in the windows; idle time and I/O are known.
    fn stack_told_by(&self, windows: &TimeStack, time: Time) -> TimeStack {
        let busy = time.since(self.idle + self.device);
        let share = busy.as_ps() as f64 / windows.busy().as_ps().max(1) as f64;
        let mut told = windows.with(windows, |part, _| Time::from_ps((part.as_ps() as f64 * share).round() as u64));
        (told.idle, told.io) = (self.idle, self.device);
        told
    }
}
