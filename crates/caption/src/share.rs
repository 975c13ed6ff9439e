//! The share of pages that go to CXL memory: the one number that Caption steers.

use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Fraction of pages on CXL memory, 0 (all DDR) to 1 (all CXL).
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(try_from = "f64", into = "f64")]
pub struct CxlShare(f64);

impl CxlShare {
    pub const DDR_ONLY: CxlShare = CxlShare(0.0);
    pub const CXL_ONLY: CxlShare = CxlShare(1.0);

    /// Refuses what is not a fraction (CAP001).
    pub fn new(fraction: f64) -> Result<CxlShare> {
        if (0.0..=1.0).contains(&fraction) {
            Ok(CxlShare(fraction))
        } else {
            Err(Error::Share { given: fraction.to_string() })
        }
    }

    /// Share of `cxl` pages beside `ddr` pages; CAP001 where both are 0.
    pub fn of_pages(ddr: u64, cxl: u64) -> Result<CxlShare> {
        match ddr + cxl {
            0 => Err(Error::Share { given: "0:0".into() }),
            all => Ok(CxlShare(cxl as f64 / all as f64)),
        }
    }

    pub fn fraction(self) -> f64 {
        self.0
    }

    /// Moves by a signed step and stays within `bounds`.
    pub fn moved(self, step: f64, bounds: ShareBounds) -> CxlShare {
        CxlShare((self.0 + step).clamp(bounds.least.0, bounds.most.0))
    }
}

impl TryFrom<f64> for CxlShare {
    type Error = Error;
    fn try_from(fraction: f64) -> Result<CxlShare> {
        CxlShare::new(fraction)
    }
}

impl From<CxlShare> for f64 {
    fn from(share: CxlShare) -> f64 {
        share.0
    }
}

impl std::str::FromStr for CxlShare {
    type Err = Error;

    /// "25%" (CXL) or "3:1" (pages on DDR : pages on CXL).
    fn from_str(text: &str) -> Result<CxlShare> {
        let refused = || Error::Share { given: text.to_string() };
        let text = text.trim();
        if let Some(percent) = text.strip_suffix('%') {
            let percent: f64 = percent.trim().parse().map_err(|_| refused())?;
            return CxlShare::new(percent / 100.0).map_err(|_| refused());
        }
        let (ddr, cxl) = text.split_once(':').ok_or_else(refused)?;
        let pages = |side: &str| side.trim().parse::<u32>().map_err(|_| refused());
        CxlShare::of_pages(pages(ddr)?.into(), pages(cxl)?.into()).map_err(|_| refused())
    }
}

impl fmt::Display for CxlShare {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.1} %", self.0 * 100.0)
    }
}

/// Least and greatest share that the controller may set.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ShareBounds {
    pub least: CxlShare,
    pub most: CxlShare,
}

impl ShareBounds {
    pub const ALL: ShareBounds = ShareBounds { least: CxlShare::DDR_ONLY, most: CxlShare::CXL_ONLY };

    pub fn new(least: CxlShare, most: CxlShare) -> Result<ShareBounds> {
        if least < most { Ok(ShareBounds { least, most }) } else { Err(Error::Bounds { least: least.0, most: most.0 }) }
    }

    pub fn hold(self, share: CxlShare) -> CxlShare {
        share.moved(0.0, self)
    }
}
