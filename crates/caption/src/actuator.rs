//! Makes the kernel place new pages by a share.
//!
//! ```text
//!   CxlShare --+-- weighted interleave: the weights in sysfs, for the whole system   (actuator/interleave.rs)
//!              +-- control file: one application under the preloaded shim            (actuator/control_file.rs)
//!   existing pages follow only where re-placement is asked for                       (actuator/replacement.rs)
//! ```

pub mod control;
mod control_file;
mod interleave;
mod replacement;

pub use control_file::ControlFile;
pub use interleave::Interleave;
pub use replacement::{Effort, Range, Replacement, ReplacementSpec, anonymous_ranges, plan_moves};

use crate::error::Result;
use crate::share::CxlShare;

/// The placement that is in force.
#[derive(Clone, Debug, PartialEq)]
pub struct Applied {
    pub share: CxlShare,
    /// As a person writes it: "10:3", "DDR only".
    pub placement: String,
    /// Writes that were made, or would be.
    pub writes: Vec<String>,
}

#[derive(Debug)]
pub enum Actuator {
    Interleave(Interleave),
    ControlFile(ControlFile),
}

impl Actuator {
    pub fn apply(&mut self, share: CxlShare) -> Result<Applied> {
        match self {
            Actuator::Interleave(weights) => weights.apply(share),
            Actuator::ControlFile(control) => control.apply(share),
        }
    }
}
