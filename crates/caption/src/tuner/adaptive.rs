//! A pattern search that knows its noise: what `--mode adaptive` does better than the published rules.
//!
//! ```text
//!   measure base --> trial at base + step --better--> base moves there, step doubles
//!                          |  |  ^
//!                          |  +--+ seems better, but within doubt: base and trial in turn, up to `rounds` times
//!                          | not better
//!                          +--> trial at base - step --not better--> step halves ... least step: confirm, settle
//!   settled --base performs differently--> search again with the first step
//!           --it is known twice as well, or was held for `patience` periods--> look one least step to either side
//! ```
//! Against algorithm 1:
//! - it compares with the best share seen, not with the period before, so one lucky or unlucky period does not turn it;
//! - "better" means by more than `confidence` standard errors of the difference. The dead band follows the noise and
//!   has no unit, so it holds for any model, machine and program;
//! - a trial that seems better by more than `change`, but not beyond doubt, is repeated in turn with the base. So
//!   several periods judge a program with phases, and one a steady program;
//! - it settles on the best share instead of circling round it, and reaches 0 % and 100 %;
//! - the step grows while it wins, so a far optimum costs the logarithm of the distance;
//! - a sudden change is told by the same share performing differently, not by a constant.
//!
//! Does not model: optima that are not the only one (it finds a local one); changes within the noise.

use super::{Decision, Observation, Verdict};
use crate::error::{Error, Result};
use crate::share::{CxlShare, ShareBounds};

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AdaptiveSpec {
    pub start: CxlShare,
    pub bounds: ShareBounds,
    /// Size of the first trial `[fraction of pages]`.
    pub first_step: f64,
    /// Resolution of the search `[fraction of pages]`.
    pub least_step: f64,
    /// A winning step grows no further `[fraction of pages]`.
    pub most_step: f64,
    /// A difference counts beyond this many of its standard errors.
    pub confidence: f64,
    /// At one share a change counts beyond this, too `[fraction of the base's performance]`.
    pub change: f64,
    /// Settled periods before the neighbours are looked at again.
    pub patience: u32,
    /// Repetitions of a doubtful trial; after the last, the likelier side wins.
    pub rounds: u32,
}

impl AdaptiveSpec {
    /// Resolution 2 %: below it, neighbouring integer weights are hardly further apart (see `weights`). Change 5 %:
    /// at each visit of a share, other pages are on each side. This changes a stream's throughput (3.7 % seen in the
    /// guest).
    pub const USUAL: AdaptiveSpec = AdaptiveSpec {
        start: CxlShare::DDR_ONLY,
        bounds: ShareBounds::ALL,
        first_step: 0.1,
        least_step: 0.02,
        most_step: 0.2,
        confidence: 3.0,
        change: 0.05,
        patience: 20,
        rounds: 3,
    };

    pub fn checked(self) -> Result<AdaptiveSpec> {
        let ordered = 0.0 < self.least_step && self.least_step <= self.first_step && self.first_step <= self.most_step;
        if !ordered || self.most_step > 1.0 {
            return Err(Error::Parameter {
                parameter: "--step and --least-step",
                given: format!("{} and {}", self.first_step, self.least_step),
                valid: "0 < least step <= first step <= 0.2",
            });
        }
        Ok(self)
    }
}

#[derive(Clone, Copy, Debug)]
enum Phase {
    /// The base is being measured for the first time.
    Measure,
    /// `base + step` is being measured; `mirrored`: the other side is known not to be better.
    Trial { step: f64, mirrored: bool, doubtful: Option<Doubtful> },
    /// The base is being measured again, between two rounds of a doubtful trial.
    Again { step: f64, mirrored: bool, doubtful: Doubtful },
    /// The base is being measured once more before settling.
    Confirm,
    /// Held for so many periods.
    Settled { periods: u32 },
}

/// A trial that seemed better within doubt.
#[derive(Clone, Copy, Debug)]
struct Doubtful {
    /// Its current share.
    share: CxlShare,
    /// Mean of its periods so far.
    seen: Pooled,
}

/// Mean of equal periods at one share.
#[derive(Clone, Copy, Debug)]
struct Pooled {
    mean: f64,
    standard_error: f64,
    periods: u32,
}

impl Pooled {
    fn of(one: Observation) -> Pooled {
        Pooled { mean: one.mean, standard_error: one.standard_error, periods: 1 }
    }

    fn with(self, one: Observation) -> Pooled {
        let before = f64::from(self.periods);
        Pooled {
            mean: (before * self.mean + one.mean) / (before + 1.0),
            standard_error: (before * self.standard_error).hypot(one.standard_error) / (before + 1.0),
            periods: self.periods + 1,
        }
    }
}

#[derive(Debug)]
pub struct AdaptiveTuner {
    spec: AdaptiveSpec,
    phase: Phase,
    /// In force now.
    share: CxlShare,
    /// The best share so far, and what it gave.
    base: CxlShare,
    at_base: Pooled,
}

impl AdaptiveTuner {
    pub fn new(spec: AdaptiveSpec) -> AdaptiveTuner {
        let start = spec.bounds.hold(spec.start);
        // Measure overwrites `at_base` before anything reads it.
        let at_base = Pooled::of(Observation { mean: 0.0, standard_error: 0.0 });
        AdaptiveTuner { spec, phase: Phase::Measure, share: start, base: start, at_base }
    }

    pub fn share(&self) -> CxlShare {
        self.share
    }

    pub fn decide(&mut self, observed: Observation) -> Decision {
        let verdict = match self.phase {
            Phase::Measure => {
                self.rebase(Pooled::of(observed));
                self.try_from(self.spec.first_step, false);
                Verdict::First
            }
            Phase::Trial { step, mirrored, doubtful } => {
                let seen = doubtful.map_or(Pooled::of(observed), |trial| trial.seen.with(observed));
                self.judge(step, mirrored, seen)
            }
            Phase::Again { step, mirrored, doubtful } => {
                self.at_base = self.at_base.with(observed);
                self.share = doubtful.share;
                self.phase = Phase::Trial { step, mirrored, doubtful: Some(doubtful) };
                Verdict::Unclear
            }
            Phase::Confirm | Phase::Settled { .. } => self.watch(Pooled::of(observed)),
        };
        Decision { share: self.share, verdict }
    }

    /// A trial against the base.
    fn judge(&mut self, step: f64, mirrored: bool, seen: Pooled) -> Verdict {
        let (lead, doubt) = (seen.mean - self.at_base.mean, self.doubt(seen));
        let last = seen.periods > self.spec.rounds;
        let seems = lead > self.spec.change * self.at_base.mean.abs();
        if lead > doubt || (last && seems && lead > doubt / self.spec.confidence) {
            self.rebase(seen);
            let longer = (2.0 * step.abs()).min(self.spec.most_step).copysign(step);
            self.try_from(longer, true);
            Verdict::Better
        } else if seems && !last {
            self.phase = Phase::Again { step, mirrored, doubtful: Doubtful { share: self.share, seen } };
            self.share = self.base;
            Verdict::Unclear
        } else {
            self.turn(step, mirrored);
            Verdict::Worse
        }
    }

    /// At the base again: hold, or search where it performs differently.
    fn watch(&mut self, observed: Pooled) -> Verdict {
        let tolerated = self.spec.change * self.at_base.mean.abs();
        if (observed.mean - self.at_base.mean).abs() > tolerated.max(self.doubt(observed)) {
            self.rebase(observed);
            self.try_from(self.spec.first_step, false);
            return Verdict::Changed;
        }
        // One bad sample blurs a base until it beats nothing: judge the neighbours again once it is sharp.
        if observed.standard_error < self.at_base.standard_error / 2.0 {
            self.rebase(observed);
            self.try_from(self.spec.least_step, false);
            return Verdict::Sharper;
        }
        let periods = match self.phase {
            Phase::Settled { periods } => periods + 1,
            _ => 0,
        };
        if periods >= self.spec.patience {
            self.rebase(observed);
            self.try_from(self.spec.least_step, false);
            return Verdict::Reprobe;
        }
        self.phase = Phase::Settled { periods };
        Verdict::Settled
    }

    fn doubt(&self, observed: Pooled) -> f64 {
        self.spec.confidence * observed.standard_error.hypot(self.at_base.standard_error)
    }

    fn rebase(&mut self, observed: Pooled) {
        (self.base, self.at_base) = (self.share, observed);
    }

    /// A trial failed: the other side, then half the step, then settle.
    fn turn(&mut self, step: f64, mirrored: bool) {
        if !mirrored {
            self.try_from(-step, true);
        } else if step.abs() > self.spec.least_step {
            self.try_from((step / 2.0).abs().max(self.spec.least_step).copysign(step), false);
        } else {
            self.share = self.base;
            self.phase = Phase::Confirm;
        }
    }

    /// Goes to `base + step`; a bound in the way is a trial that failed.
    fn try_from(&mut self, step: f64, mirrored: bool) {
        let trial = self.base.moved(step, self.spec.bounds);
        if (trial.fraction() - self.base.fraction()).abs() < self.spec.least_step / 2.0 {
            return self.turn(step, mirrored);
        }
        self.share = trial;
        self.phase = Phase::Trial { step, mirrored, doubtful: None };
    }
}
