//! The loop: read, decide, act, record, until the source ends, the program ends, or a signal asks.

use crate::actuator::{Actuator, Applied, Effort, Replacement};
use crate::controller::{Controller, Step};
use crate::error::{Error, Result};
use crate::interrupt::Interrupt;
use crate::live::Live;
use crate::log::Log;
use crate::sensor::{Reading, Sensor};
use crate::tuner::Verdict;
use crate::units::Seconds;
use std::io::Write;
use std::process::Child;
use std::time::Duration;

pub struct Run {
    pub sensor: Sensor,
    pub controller: Controller,
    pub actuator: Actuator,
    /// Moves resident pages too, where asked for.
    pub replacement: Option<Replacement>,
    pub log: Option<Log>,
    pub live: Live,
    /// Says on standard output what would be written.
    pub dry: bool,
    /// The sample interval that the rules were published with, where it matters: another one stands for it, and that is said.
    pub stands_for: Option<Duration>,
    /// The program runs so long before the first sample: its start is not what it does.
    pub delay: Duration,
    /// The run ends after so many samples.
    pub most_samples: Option<usize>,
    /// The program that the run is for: it ends with it.
    pub program: Option<Child>,
}

/// The end of a run, and its result.
#[derive(Debug)]
pub struct Summary {
    pub samples: usize,
    pub decisions: usize,
    pub last: Applied,
    pub moved_pages: u64,
    /// Why there were no more samples.
    pub end: End,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The source, or a signal asked for it.
    Source,
    /// The program.
    Program,
    /// All that was asked for has been measured.
    Measured,
}

impl Run {
    /// CAP012 where the source ends before anything was decided.
    pub fn go(&mut self, interrupt: &Interrupt) -> Result<Summary> {
        let mut in_force = self.act(self.controller.share())?;
        let mut decisions = 0;
        let mut earlier: Option<Seconds> = None;
        // A signal that ends the delay ends the first reading as well.
        interrupt.sleep(self.delay)?;
        let end = loop {
            let sample = match self.sensor.next(interrupt)? {
                Reading::Sample(sample) => sample,
                Reading::Interrupted => break End::Source,
                Reading::Ended if decisions == 0 => return Err(self.ended_early()),
                Reading::Ended => break End::Source,
            };
            let step = self.controller.observe(&sample)?;
            self.record(&step, &in_force)?;
            let interval = earlier.map(|e| sample.time_s.0 - e.0);
            self.note_interval(interval);
            earlier = Some(sample.time_s);
            if let Some(decision) = step.decision {
                decisions += 1;
                if decision.verdict == Verdict::Done {
                    break End::Measured;
                }
                in_force = self.act(decision.share)?;
            }
            self.replace(&in_force, interval)?;
            if self.program_ended()? {
                break End::Program;
            }
            if self.most_samples.is_some_and(|most| self.controller.samples() >= most) {
                break End::Measured;
            }
        };
        self.live.end();
        let moved_pages = self.replacement.as_ref().map_or(0, Replacement::moved_pages);
        Ok(Summary { samples: self.controller.samples(), decisions, last: in_force, moved_pages, end })
    }

    fn act(&mut self, share: crate::share::CxlShare) -> Result<Applied> {
        let applied = self.actuator.apply(share)?;
        if self.dry {
            let mut out = std::io::stdout().lock();
            let mut say = || applied.writes.iter().try_for_each(|line| writeln!(out, "would write {line}"));
            say().map_err(Error::io("write", "standard output"))?;
        }
        Ok(applied)
    }

    fn record(&mut self, step: &Step, in_force: &Applied) -> Result<()> {
        self.live.show(step, in_force);
        self.log.as_mut().map_or(Ok(()), |log| log.record(step, in_force))
    }

    fn replace(&mut self, in_force: &Applied, seconds: Option<f64>) -> Result<()> {
        let (Some(replacement), Some(seconds)) = (&mut self.replacement, seconds) else {
            return Ok(());
        };
        match replacement.step(in_force.share, Duration::from_secs_f64(seconds.max(0.0))) {
            // A program that has ended has no pages.
            Err(_) if self.program_ended()? => Ok(()),
            Err(refused) => Err(refused),
            Ok(Effort::Rested) => Ok(()),
            Ok(Effort::Worked) => {
                self.controller.leave_out_next();
                Ok(())
            }
        }
    }

    /// Once: on a simulated machine milliseconds stand for the paper's seconds.
    fn note_interval(&mut self, seconds: Option<f64>) {
        let Some((seconds, published)) = seconds.zip(self.stands_for) else {
            return;
        };
        self.stands_for = None;
        if (seconds / published.as_secs_f64() - 1.0).abs() > 0.5 {
            let here = Duration::from_secs_f64(seconds.max(0.0));
            self.live
                .note(&format!("a sample every {here:?} of its time stands for one every {published:?} in the paper"));
        }
    }

    fn program_ended(&mut self) -> Result<bool> {
        let Some(program) = &mut self.program else {
            return Ok(false);
        };
        Ok(program.try_wait().map_err(Error::io("wait for", "the program"))?.is_some())
    }

    fn ended_early(&self) -> Error {
        let needed = self.controller.least_samples();
        Error::Ended { source_name: self.sensor.name(), had: self.controller.samples(), needed }
    }
}
