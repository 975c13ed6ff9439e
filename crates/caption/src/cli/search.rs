//! The options of the adaptive search and of the sweep, and of where the published rules start.

use clap::Args;
use cxlab_caption::error::{Error, Result};
use cxlab_caption::share::{CxlShare, ShareBounds};
use cxlab_caption::tuner::{AdaptiveSpec, SweepTuner};

#[derive(Args)]
pub struct Search {
    /// Share to start at, as 50% or 1:1 [default: paper 10:1, adaptive the weights in force]
    #[arg(long, value_name = "RATIO")]
    pub start: Option<CxlShare>,

    /// Sweep: the shares to hold, one period each, as 0%,25%,50%
    #[arg(long, value_name = "RATIOS", value_delimiter = ',')]
    pub shares: Vec<CxlShare>,

    /// Adaptive: lowest share
    #[arg(long, value_name = "RATIO")]
    pub least: Option<CxlShare>,

    /// Adaptive: highest share
    #[arg(long, value_name = "RATIO")]
    pub most: Option<CxlShare>,

    /// Adaptive: first step [default: 10%]
    #[arg(long, value_name = "RATIO")]
    pub step: Option<CxlShare>,

    /// Adaptive: resolution of the search [default: 2%]
    #[arg(long, value_name = "RATIO")]
    pub least_step: Option<CxlShare>,

    /// Adaptive: settled periods before the neighbours are looked at again [default: 20]
    #[arg(long, value_name = "PERIODS")]
    pub patience: Option<u32>,
}

impl Search {
    pub fn adaptive(&self, start: Option<CxlShare>) -> Result<AdaptiveSpec> {
        let usual = AdaptiveSpec::USUAL;
        let bounds =
            ShareBounds::new(self.least.unwrap_or(CxlShare::DDR_ONLY), self.most.unwrap_or(CxlShare::CXL_ONLY))?;
        AdaptiveSpec {
            start: start.unwrap_or(bounds.least),
            bounds,
            first_step: self.step.map_or(usual.first_step, CxlShare::fraction),
            least_step: self.least_step.map_or(usual.least_step, CxlShare::fraction),
            patience: self.patience.unwrap_or(usual.patience),
            ..usual
        }
        .checked()
    }

    pub fn sweep(&self) -> Result<SweepTuner> {
        let wrong = |given: String| Error::Parameter {
            parameter: "--shares and --start",
            given,
            valid: "one share or more in --shares with --mode sweep, which starts at the first",
        };
        match (self.shares.split_first(), self.start) {
            (Some((first, rest)), None) => Ok(SweepTuner::new(*first, rest.to_vec())),
            (None, _) => Err(wrong("no --shares".into())),
            (_, Some(start)) => Err(wrong(format!("--start {start}"))),
        }
    }

    pub fn refuse_shares(&self) -> Result<()> {
        match self.shares.first() {
            None => Ok(()),
            Some(first) => Err(Error::Parameter {
                parameter: "--shares",
                given: first.to_string(),
                valid: "only with --mode sweep",
            }),
        }
    }

    pub fn refuse_adaptive(&self) -> Result<()> {
        let shares =
            [("--least", self.least), ("--most", self.most), ("--step", self.step), ("--least-step", self.least_step)];
        let given = shares.into_iter().find_map(|(name, share)| share.map(|s| (name, s.to_string())));
        let patience = self.patience.map(|p| ("--patience", p.to_string()));
        match given.or(patience) {
            None => Ok(()),
            Some((parameter, given)) => Err(Error::Parameter {
                parameter,
                given,
                valid: "only with --mode adaptive; --mode paper has the published constants, --mode sweep its --shares",
            }),
        }
    }
}
