//! A tuner that only sweeps: it holds each of a list of shares for one period, then ends.
//!
//! Measures a series of shares. M2 is fitted on it: "we collect CPU counter values at various DDR:CXL ratios"
//! (MICRO'23 section 6.1). A search is judged by its table.

use super::{Decision, Verdict};
use crate::share::CxlShare;

#[derive(Debug)]
pub struct SweepTuner {
    /// In force now, and then those still to come.
    now: CxlShare,
    rest: std::vec::IntoIter<CxlShare>,
}

impl SweepTuner {
    pub fn new(first: CxlShare, rest: Vec<CxlShare>) -> SweepTuner {
        SweepTuner { now: first, rest: rest.into_iter() }
    }

    pub fn share(&self) -> CxlShare {
        self.now
    }

    pub fn decide(&mut self) -> Decision {
        let verdict = match self.rest.next() {
            Some(share) => {
                self.now = share;
                Verdict::Next
            }
            None => Verdict::Done,
        };
        Decision { share: self.now, verdict }
    }
}
