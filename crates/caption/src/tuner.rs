//! M3: from the performance of the last period to the next share of CXL memory. Pure: no clock, no file.
//!
//! ```text
//!                 +-- paper:    the published rules, ratio 10:x        (tuner/paper.rs)
//!   Observation --+-- adaptive: pattern search that knows its noise    (tuner/adaptive.rs)   --> Decision
//!                 +-- sweep:    each of a list of shares, once         (tuner/sweep.rs)
//! ```
//! Source: MICRO'23 algorithm 1 and the text below it.

mod adaptive;
mod paper;
mod sweep;

pub use adaptive::{AdaptiveSpec, AdaptiveTuner};
pub use paper::{PaperSpec, PaperTuner};
pub use sweep::SweepTuner;

use crate::share::CxlShare;
use serde::Serialize;

/// Performance over one period at one share.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Observation {
    /// Mean of the objective, its own unit; higher is better.
    pub mean: f64,
    /// Standard error of that mean, the same unit.
    pub standard_error: f64,
}

/// Why the share moved, or did not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Nothing to compare with yet.
    First,
    Better,
    Worse,
    /// paper: the change is within the dead band; hold.
    DeadBand,
    /// paper: nothing runs; hold.
    Idle,
    /// paper: a sudden change; start again.
    Reset,
    /// adaptive: a trial seems better, but within doubt; base and trial are measured in turn.
    Unclear,
    /// adaptive: no neighbour is better; hold.
    Settled,
    /// adaptive: the same share performs differently now; search again.
    Changed,
    /// adaptive: the same share is known much better now than when the neighbours were judged by it; search again.
    Sharper,
    /// adaptive: held for long; look whether a neighbour has become better.
    Reprobe,
    /// sweep: the next share.
    Next,
    /// sweep: there is none; the run ends.
    Done,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Decision {
    pub share: CxlShare,
    pub verdict: Verdict,
}

#[derive(Debug)]
pub enum Tuner {
    Paper(PaperTuner),
    Adaptive(AdaptiveTuner),
    Sweep(SweepTuner),
}

impl Tuner {
    /// The share that should be in force now.
    pub fn share(&self) -> CxlShare {
        match self {
            Tuner::Paper(tuner) => tuner.share(),
            Tuner::Adaptive(tuner) => tuner.share(),
            Tuner::Sweep(tuner) => tuner.share(),
        }
    }

    /// Takes what was observed at `share()`; says what comes next.
    pub fn decide(&mut self, observed: Observation) -> Decision {
        match self {
            Tuner::Paper(tuner) => tuner.decide(observed.mean),
            Tuner::Adaptive(tuner) => tuner.decide(observed),
            Tuner::Sweep(tuner) => tuner.decide(),
        }
    }
}

impl std::fmt::Display for Verdict {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Verdict::First => "first",
            Verdict::Better => "better",
            Verdict::Worse => "worse",
            Verdict::DeadBand => "dead band",
            Verdict::Idle => "idle",
            Verdict::Reset => "reset",
            Verdict::Unclear => "unclear",
            Verdict::Settled => "settled",
            Verdict::Changed => "changed",
            Verdict::Sharper => "sharper",
            Verdict::Reprobe => "reprobe",
            Verdict::Next => "next",
            Verdict::Done => "done",
        })
    }
}
