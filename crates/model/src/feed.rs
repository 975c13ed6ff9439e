//! Feeds give a core its instructions, the lines that they touch, and the steps that they come in.
//!
//! ```text
//!   guest, trace (session/) ----\
//!                                Feed -> Step, Execution, LineAccess -> core
//!   synthetic kernel (bench/) --/
//! ```
//!
//! A block of code is decoded once, into what the core has to know of each instruction. Not modelled: instruction fetch.

mod block;
mod class;
mod instruction;
mod registers;
mod step;
mod synthetic;
mod touch;
mod work;

pub use block::Block;
pub use class::Class;
pub use instruction::{Branch, Instruction, Outcome};
pub use registers::{Operands, RegisterSet};
pub use step::{Execution, Step};
pub use synthetic::{Action, Kernel, Prototypes, Synthetic};
pub use touch::Touch;
pub use work::Work;

use cxlab_access::{Keep, Phase};

use crate::addr::Hpa;
use crate::error::ModelError;
use crate::translation::Page;

/// A line that an instruction touches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineAccess {
    /// the first byte that is touched
    pub address: Hpa,
    pub store: bool,
    /// stands for the address of the instruction
    pub place: u64,
    /// a device's registers, not memory
    pub device: bool,
    /// what it is reached through; `None` where addresses are physical, and of devices
    pub page: Option<Page>,
}

impl LineAccess {
    #[must_use]
    pub fn line(self) -> Hpa {
        self.address.line()
    }

    /// Number of the 8-byte word that store-to-load forwarding compares.
    #[must_use]
    pub fn word(self) -> u64 {
        self.address.get() / 8
    }
}

/// Executes the instructions of a feed, one by one.
pub trait Executes {
    /// Why an instruction is not executed.
    type Stop;

    /// Execute one that touches no memory and does not branch.
    fn plain(&mut self, execution: Execution<'_>) -> Result<Option<Self::Stop>, ModelError>;

    /// Execute one that touches these lines, or branches.
    fn touching(&mut self, execution: Execution<'_>, accesses: &[LineAccess])
    -> Result<Option<Self::Stop>, ModelError>;
}

/// Where a core's steps come from.
pub trait Feed {
    /// The next step; waits for it where it is still being produced.
    fn next(&mut self) -> Result<Step, ModelError>;

    /// Hands instructions to `executes` one by one, as long as the feed knows at once what comes. Ends with the first that is not
    /// executed, and returns why. That one is then the feed's step, as after `next`.
    fn ahead<E: Executes>(&mut self, _executes: &mut E) -> Result<Option<E::Stop>, ModelError> {
        Ok(None)
    }

    /// The execution of the last step, if it has one.
    fn execution(&self) -> Execution<'_>;

    /// The lines that it touches.
    fn accesses(&self) -> &[LineAccess];

    /// The virtual address of the instruction; 0 where instructions have none.
    fn instruction_address(&self) -> u64 {
        0
    }

    /// The answer to a `Sync`: the time at that point `[ps]`.
    fn answer_sync(&mut self, sequence: u64, ps: u64) -> Result<(), ModelError>;

    /// The answer to a `ClockRead` or a `Settle` `[ps]`.
    fn answer_clock(&mut self, sequence: u64, ps: u64) -> Result<(), ModelError>;

    /// The answer to a `Sample`: the core has come to where this phase begins.
    fn reached(&mut self, phase: Phase, position: u64, keep: Keep);
}

/// The feeds of a machine's cores. They may share what is behind them, as threads share an operating system.
pub trait Feeds {
    type Of<'a>: Feed
    where
        Self: 'a;

    /// The feed of this core.
    fn of(&mut self, core: usize) -> Self::Of<'_>;

    fn count(&self) -> usize;
}

impl<F: Feed> Feed for &mut F {
    #[inline]
    fn next(&mut self) -> Result<Step, ModelError> {
        (**self).next()
    }

    #[inline(always)]
    fn ahead<E: Executes>(&mut self, executes: &mut E) -> Result<Option<E::Stop>, ModelError> {
        (**self).ahead(executes)
    }

    #[inline]
    fn execution(&self) -> Execution<'_> {
        (**self).execution()
    }

    #[inline]
    fn accesses(&self) -> &[LineAccess] {
        (**self).accesses()
    }

    fn instruction_address(&self) -> u64 {
        (**self).instruction_address()
    }

    fn answer_sync(&mut self, sequence: u64, ps: u64) -> Result<(), ModelError> {
        (**self).answer_sync(sequence, ps)
    }

    fn answer_clock(&mut self, sequence: u64, ps: u64) -> Result<(), ModelError> {
        (**self).answer_clock(sequence, ps)
    }

    fn reached(&mut self, phase: Phase, position: u64, keep: Keep) {
        (**self).reached(phase, position, keep);
    }
}

macro_rules! feeds_apart {
    ($($list:ty, [$($generics:tt)*];)+) => {$(
        impl<F: Feed, $($generics)*> Feeds for $list {
            type Of<'a> = &'a mut F where Self: 'a;

            #[inline]
            fn of(&mut self, core: usize) -> &mut F {
                &mut self[core]
            }

            fn count(&self) -> usize {
                self.len()
            }
        }
    )+};
}

feeds_apart! {
    [F], [];
    Vec<F>, [];
    [F; N], [const N: usize];
}
