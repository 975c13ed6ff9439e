//! Front ends: what feeds a core, the same steps from a live guest, from a trace or from a synthetic kernel.
//!
//! ```text
//!   ring (live) --\
//!                  records -> reader: block table, expected accesses -> Step -> core
//!   trace file ---/                                                    <- answers (sync, clock)
//!   synthetic kernel (bench) ------------------------------> Step -> core
//! ```
//!
//! Not modelled: instruction fetch; blocks are decoded once, when they are defined.

mod block;
mod instruction;
mod live;
mod reader;
mod replay;
mod synthetic;

pub use block::Block;
pub use instruction::{Branch, Class, Instruction, Outcome, RegisterSet};
pub use live::Live;
pub use reader::{Reader, RecordSource, Step};
pub use replay::{Answers, Replay};
pub use synthetic::{Action, Kernel, Prototypes, Synthetic};

use crate::addr::Hpa;
use crate::error::ModelError;

/// A line that an instruction touches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineAccess {
    pub line: Hpa,
    /// the first 8 bytes of it that are touched: what store-to-load forwarding compares [8 B, since 0]
    pub word: u64,
    pub store: bool,
    /// stands for the address of the instruction
    pub place: u64,
    /// a device's registers, not memory
    pub device: bool,
    /// a store past the caches (movnt)
    pub non_temporal: bool,
}

/// Where a core's steps come from.
pub trait Feed {
    /// The next step; waits for it where it is still being produced.
    fn next(&mut self) -> Result<Step, ModelError>;

    /// The lines that the instruction of the last step touches.
    fn accesses(&self) -> &[LineAccess];

    /// The answer to a `Sync`: the time at that point [ps].
    fn answer_sync(&mut self, sequence: u64, ps: u64) -> Result<(), ModelError>;

    /// The answer to a `ClockRead` or a `Settle` [ps].
    fn answer_clock(&mut self, sequence: u64, ps: u64) -> Result<(), ModelError>;
}
