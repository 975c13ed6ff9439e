//! A recorded guest: reads records from a trace, and compares each answer with the recorded one.

use std::collections::VecDeque;
use std::path::Path;

use cxlab_access::Vcpu;
use cxlab_access::record::Words;
use cxlab_access::ring::{Behind, Reply};
use cxlab_access::trace::{Completeness, Entry, TraceReader};

use super::RecordSource;
use crate::error::ModelError;

/// Treatment of answers that differ from the recorded ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answers {
    /// the same machine: a difference is an error
    MustAgree,
    /// another machine: differences are what is wanted
    MayDiffer,
}

/// A trace and how it compares.
pub struct Replay {
    trace: TraceReader,
    answers: Answers,
    /// recorded answers that the model has not yet given: it reads ahead by a record `[ps]`
    recorded: VecDeque<u64>,
    /// answers the model gave before their record was read `[ps]`
    given: VecDeque<u64>,
    compared: u64,
}

impl Replay {
    pub fn open(path: &Path, answers: Answers) -> Result<Replay, ModelError> {
        let trace = TraceReader::open(path)?;
        Ok(Replay { trace, answers, recorded: VecDeque::new(), given: VecDeque::new(), compared: 0 })
    }

    /// The recorder's description of the run.
    #[must_use]
    pub fn description(&self) -> &str {
        self.trace.description()
    }

    /// Whether the recorded run was stopped before its own end.
    #[must_use]
    pub fn was_cut_short(&self) -> bool {
        self.trace.completeness() == Completeness::CutShort
    }

    /// Answers that were compared.
    #[must_use]
    pub fn compared(&self) -> u64 {
        self.compared
    }

    fn compare(&mut self) -> Result<(), ModelError> {
        while let (Some(recorded), Some(replayed)) = (self.recorded.front(), self.given.front()) {
            let (recorded, replayed) = (*recorded, *replayed);
            if recorded != replayed && self.answers == Answers::MustAgree {
                return Err(ModelError::Diverged { index: self.compared, recorded, replayed });
            }
            self.recorded.pop_front();
            self.given.pop_front();
            self.compared += 1;
        }
        Ok(())
    }

    fn answer(&mut self, ps: u64) -> Result<(), ModelError> {
        self.given.push_back(ps);
        self.compare()
    }
}

impl RecordSource for Replay {
    #[inline(always)]
    fn words(&mut self) -> Result<Option<Words>, ModelError> {
        loop {
            match self.trace.next_entry()? {
                None => return Ok(None),
                Some(Entry::Words(words)) => return Ok(Some(words)),
                Some(Entry::Answer(ps)) => {
                    self.recorded.push_back(ps);
                    self.compare()?;
                }
            }
        }
    }

    #[inline(always)]
    fn words_at_hand(&mut self) -> Result<Option<Words>, ModelError> {
        self.words()
    }

    fn request_done(&mut self, _number: u32) {}

    fn slept(&mut self, _vcpu: Vcpu, _ps: u64) {}

    fn put_off(&mut self, _reply: Reply, _sequence: u64, _behind: Behind) {}

    fn is_recorded_elsewhere(&self) -> bool {
        self.answers == Answers::MayDiffer
    }

    fn share_read(&self) -> Option<f64> {
        Some(self.trace.share_read())
    }

    fn answer_sync(&mut self, _vcpu: Vcpu, _sequence: u64, ps: u64) -> Result<(), ModelError> {
        self.answer(ps)
    }

    fn answer_clock(&mut self, _sequence: u64, ps: u64) -> Result<(), ModelError> {
        self.answer(ps)
    }
}
