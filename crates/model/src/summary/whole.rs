//! Estimates the whole of a sampled run from its windows. What was timed there stands for what was not.
//!
//! ```text
//!   busy time of the whole = that of the beginning                                         instructions, idle, I/O: known
//!                          + that of the windows x (length of the rest / their length)
//! ```

use cxlab_kernel::Time;

use super::{Summary, Totals};
use crate::config::MachineSpec;
use crate::core::TimeStack;

/// Difference of two times, 0 if the second is greater: cores are not told of their idle time at one time.
fn less(time: Time, other: Time) -> Time {
    Time::from_ps(time.as_ps().saturating_sub(other.as_ps()))
}

/// A window, or several.
#[derive(Clone, Debug)]
pub struct Window {
    pub totals: Totals,
    /// on the schedule: instructions, and lines of those that repeat; of several cores, about their common time `[ns]`
    pub length: u64,
    /// on the schedule, counted from 0; of the pieces that a region's end cuts a window into, the same
    pub number: u64,
    /// how long all cores were idle together, whatever for: of several cores alone
    pub all_idle: Time,
}

/// Figures of a whole run that are known without its windows.
pub struct Whole {
    /// its instructions, idle time and I/O are those of all of it, the rest of what was timed
    pub totals: Totals,
    /// how long it is on the schedule
    pub position: u64,
    /// how long all cores were idle together, whatever for
    pub all_idle: Time,
    /// beginnings of runs or regions: known, and a part of the totals' time
    pub beginnings: Option<Window>,
}

impl Whole {
    /// Estimates the whole run, as if all of it had gone as `sample` did.
    pub fn told_by(&self, sample: &Window) -> Totals {
        match self.totals.cores {
            1 => self.of_one_told_by(sample),
            _ => self.of_several_told_by(sample),
        }
    }

    /// Summary of [`Whole::told_by`]. Instructions for each cycle of several cores are those of the sample. While nothing is
    /// timed, threads spin for a shorter time, because who has a lock does not wait for its lines.
    pub fn summary_told_by(&self, sample: &Window, spec: &MachineSpec) -> Summary {
        let mut summary = self.told_by(sample).summary(spec);
        if self.totals.cores > 1 {
            let known = self.totals.instructions.all().max(1) as f64;
            summary.ipc *= self.instructions_told_by(sample) / known;
        }
        summary
    }

    /// Instructions of all, as `sample` tells them.
    fn instructions_told_by(&self, sample: &Window) -> f64 {
        let beginnings = self.beginnings.as_ref().map_or(0, |window| window.totals.instructions.all());
        sample.totals.instructions.all() as f64 * self.share(sample) + beginnings as f64
    }

    /// Length of what `sample` stands for, over its own length.
    fn share(&self, sample: &Window) -> f64 {
        let known = self.beginnings.as_ref().map_or(0, |beginnings| beginnings.length);
        self.position.saturating_sub(known) as f64 / sample.length.max(1) as f64
    }

    /// Scales `sample` to what is not known of one core. Its instructions, idle time and I/O are.
    fn of_one_told_by(&self, sample: &Window) -> Totals {
        let (whole, share) = (&self.totals, self.share(sample));
        let mut told = sample.totals.scaled(share);
        let mut busy = Time::from_ps((sample.totals.busy().as_ps() as f64 * share).round() as u64);
        if let Some(beginnings) = &self.beginnings {
            told = &told + &beginnings.totals;
            busy += beginnings.totals.busy();
        }
        (told.instructions, told.idle, told.io) = (whole.instructions, whole.idle, whole.io);
        told.elapsed = busy + whole.idle + whole.io;
        told.stack = whole.stack_told_by(&told.stack, told.elapsed);
        told
    }

    /// Scales `sample` to what is not known of several cores. While one core waits, the others do as in the windows.
    fn of_several_told_by(&self, sample: &Window) -> Totals {
        let mut told = sample.unknown().scaled(self.share(sample));
        if let Some(beginnings) = &self.beginnings {
            told = &told + &beginnings.unknown();
        }
        told.instructions = self.totals.instructions;
        let (cores, io) = (self.totals.cores as u64, self.totals.io);
        told.elapsed += self.all_idle;
        told.idle += less(self.all_idle * cores, io);
        told.io = io;
        told.stack = told.stack_told_by(&told.stack, told.elapsed * cores);
        told
    }
}

impl Window {
    /// Totals without the time that is known of the whole: all cores were idle, or waited for a device.
    fn unknown(&self) -> Totals {
        let mut totals = self.totals.clone();
        totals.elapsed = less(totals.elapsed, self.all_idle);
        totals.idle = less(totals.idle, less(self.all_idle * totals.cores as u64, totals.io));
        totals.io = Time::ZERO;
        totals
    }

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
    /// The parts of the cores' time where busy time went as in the windows; idle time and I/O are known.
    fn stack_told_by(&self, windows: &TimeStack, time: Time) -> TimeStack {
        let busy = time.since(self.idle + self.io);
        let share = busy.as_ps() as f64 / windows.busy().as_ps().max(1) as f64;
        let mut told = windows.with(windows, |part, _| Time::from_ps((part.as_ps() as f64 * share).round() as u64));
        (told.idle, told.io) = (self.idle, self.io);
        told
    }
}
