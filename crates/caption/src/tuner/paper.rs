//! Algorithm 1 with the published constants: the ratio is 10:x, and a step is a whole number of x.
//!
//! ```text
//!   |dY| < 0.2 hold      dY > 0 go on by the step      dY <= 0 turn round by half of it, at least 1
//!   |dY| > 500 reset     Y > 70000 idle                x stays in 1..=20
//! ```
//! Does not model: the artifact's trigger (an application ends); the controller decides when to ask.
//! Source: MICRO'23 algorithm 1, section 6.1; constants and the rules that the text leaves out from the
//! authors' artifact (facts only).

use super::{Decision, Verdict};
use crate::error::{Error, Result};
use crate::share::CxlShare;

/// The published constants. Unit of x: pages on CXL for each `ddr_pages` pages on DDR.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PaperSpec {
    /// The fixed side of the ratio.
    pub ddr_pages: i32,
    pub least_x: i32,
    pub most_x: i32,
    pub start_x: i32,
    /// The x that a reset goes to.
    pub reset_x: i32,
    pub first_step: i32,
    pub least_step: i32,
    /// |dY| below it holds the ratio `[unit of Y]`.
    pub dead_band: f64,
    /// |dY| above it starts again `[unit of Y]`.
    pub sudden_change: f64,
    /// Y above it means that nothing runs `[unit of Y]`.
    pub idle: f64,
}

impl PaperSpec {
    pub const PUBLISHED: PaperSpec = PaperSpec {
        ddr_pages: 10,
        least_x: 1,
        most_x: 20,
        start_x: 1,
        reset_x: 1,
        first_step: 3,
        least_step: 1,
        dead_band: 0.2,
        sudden_change: 500.0,
        idle: 70_000.0,
    };

    /// The published constants from another start: the nearest 10:x. CAP003 outside 9.1 % to 66.7 %.
    pub fn starting_at(share: CxlShare) -> Result<PaperSpec> {
        let spec = PaperSpec::PUBLISHED;
        let fraction = share.fraction();
        // Half a step beyond either end is still nearest to that end; further is the user's mistake.
        let start_x = (f64::from(spec.ddr_pages) * fraction / (1.0 - fraction)).round();
        if !(f64::from(spec.least_x)..=f64::from(spec.most_x)).contains(&start_x) {
            return Err(Error::Parameter {
                parameter: "--start",
                given: share.to_string(),
                valid: "9.1 % (10:1) to 66.7 % (10:20) with --mode paper; 0 % to 100 % with --mode adaptive",
            });
        }
        Ok(PaperSpec { start_x: start_x as i32, ..spec })
    }
}

#[derive(Debug)]
pub struct PaperTuner {
    spec: PaperSpec,
    x: i32,
    /// Signed, in x.
    step: i32,
    /// Y of the period before; none before the first decision.
    previous: Option<f64>,
}

impl PaperTuner {
    pub fn new(spec: PaperSpec) -> PaperTuner {
        PaperTuner { spec, x: spec.start_x, step: spec.first_step, previous: None }
    }

    pub fn x(&self) -> i32 {
        self.x
    }

    pub fn share(&self) -> CxlShare {
        CxlShare::of_pages(self.spec.ddr_pages as u64, self.x as u64).expect("the fixed side is not 0")
    }

    pub fn decide(&mut self, y: f64) -> Decision {
        let verdict = self.judge(y);
        self.previous = Some(y);
        match verdict {
            Verdict::Idle => self.step = self.spec.least_step,
            Verdict::DeadBand => self.step = self.step.signum() * self.spec.least_step,
            Verdict::Reset => (self.x, self.step) = (self.spec.reset_x, self.spec.first_step),
            Verdict::Worse => {
                self.step = self.turned();
                self.advance();
            }
            // The first decision goes towards more CXL.
            _ => self.advance(),
        }
        Decision { share: self.share(), verdict }
    }

    fn judge(&self, y: f64) -> Verdict {
        if y > self.spec.idle {
            return Verdict::Idle;
        }
        let Some(previous) = self.previous else {
            return Verdict::First;
        };
        let change = y - previous;
        if change.abs() < self.spec.dead_band {
            Verdict::DeadBand
        } else if change.abs() > self.spec.sudden_change {
            Verdict::Reset
        } else if change > 0.0 {
            Verdict::Better
        } else {
            Verdict::Worse
        }
    }

    /// Half a step backwards, whole (towards 0) and not below the least.
    fn turned(&self) -> i32 {
        -self.step.signum() * (self.step.abs() / 2).max(self.spec.least_step)
    }

    fn advance(&mut self) {
        self.x = (self.x + self.step).clamp(self.spec.least_x, self.spec.most_x);
    }
}
