//! Phases of a sampled run: warming, which never reaches the cores, and windows of detail.

use cxlab_access::{Forget, Keep, Phase, Record, Vcpu};
use cxlab_kernel::Time;

use super::checks::{MOST_TIME, too_long};
use super::{Guest, RecordSource};
use crate::error::ModelError;
use crate::machine::Machine;
use crate::summary::{Sampling, Summary, Windows};

impl<S: RecordSource> Guest<S> {
    /// Summary of the run by its windows, and what is known of the sample. `None` if the whole run was followed in
    /// detail.
    pub fn sampled(&mut self, machine: &Machine) -> Option<(Summary, Sampling)> {
        let windows = self.windows.as_ref().filter(|_| self.warming.instructions != [0; 2])?;
        Some(windows.summary(machine, self.warming.instructions))
    }

    /// Let caches and predictor see what happens, until there is detail again.
    pub(super) fn warm(&mut self, machine: &mut Machine) -> Result<(), ModelError> {
        self.warming_ahead = false;
        self.warming.begin();
        while let Some(words) = self.source.words()? {
            let index = Vcpu::of(words).index();
            if index < self.readers.len() {
                if let Some(access) = Record::access_of(words) {
                    self.check_page(access)?;
                    self.warming.access(index, access, &self.blocks, machine);
                    continue;
                }
                if Record::block_of(words).is_some_and(|entered| self.warming.enter(index, entered, machine)) {
                    continue;
                }
            }
            self.warming.settle(machine);
            let (index, record) = self.decode(words)?;
            match record {
                Record::Cut { instruction } => self.warming.cut(index, instruction),
                Record::Define { .. } | Record::Page { .. } => {
                    self.define(record)?;
                    self.tell_machine(machine)?;
                }
                Record::Invalidate { forget, .. } => {
                    if let Forget::Page(page) = forget {
                        self.check_told(page)?;
                    }
                    machine.forget_translations(index, forget);
                }
                Record::Rested { span_ps } | Record::Device { service_ps: span_ps } => {
                    self.check_time(span_ps)?;
                    self.check_stands(record)?;
                    self.windows().rested(Time::from_ps(span_ps));
                }
                Record::Sample { phase, position, keep, idle_ps } => {
                    self.check_time(idle_ps)?;
                    check_missing(machine)?;
                    machine.warming_has_passed();
                    self.enter(phase, position, keep, Time::from_ps(idle_ps), machine)?;
                    self.warming.begin();
                    return Ok(());
                }
                Record::End => break,
                _ => return Err(ModelError::Stream { cause: format!("{record:?} stands where nothing is timed") }),
            }
        }
        self.warming.settle(machine);
        self.end();
        check_missing(machine)
    }

    fn windows(&mut self) -> &mut Windows {
        self.windows.get_or_insert_default()
    }

    /// A phase of a sampled run begins.
    pub(super) fn enter(
        &mut self,
        phase: Phase,
        position: u64,
        keep: Keep,
        idle: Time,
        machine: &Machine,
    ) -> Result<(), ModelError> {
        let warmed = self.warming.instructions;
        if self.windows().would_go_back(position) {
            let cause = format!("a phase at position {position} begins before the window that it ends");
            return Err(ModelError::Stream { cause });
        }
        self.windows().enter(phase, position, idle, warmed, machine);
        self.windows().keep(keep);
        Ok(())
    }

    /// All are idle from where all was committed. Several cores can be idle each by itself, too.
    pub(super) fn idle(&mut self, until_ps: u64) -> Result<(), ModelError> {
        if until_ps > MOST_TIME.as_ps() {
            return Err(too_long(until_ps));
        }
        if let Some(windows) = &mut self.windows {
            windows.all_idle(Time::from_ps(until_ps.saturating_sub(self.committed_ps)));
        }
        // Another span may follow this one at once.
        self.committed_ps = self.committed_ps.max(until_ps);
        Ok(())
    }
}

impl<S: RecordSource> Guest<S> {
    /// All are idle until a device has done something: the answer to the question behind it says how long.
    pub(super) fn rest(&mut self, until_ps: u64) -> Result<(), ModelError> {
        if until_ps > MOST_TIME.as_ps() {
            return Err(too_long(until_ps));
        }
        self.rests = true;
        Ok(())
    }
}

/// Warming names pages that are there.
fn check_missing(machine: &mut Machine) -> Result<(), ModelError> {
    machine.take_missing_page().map_or(Ok(()), |page| Err(ModelError::replaced(page)))
}
