//! An operation of a die, as a log records it.

use cxlab_kernel::Time;

use super::geometry::BlockId;

/// An operation, with its place and the time at which it began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operation {
    pub at: Time,
    pub die: u32,
    pub kind: Kind,
}

/// Kinds of operations of a die.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Read {
        block: BlockId,
        stripe: u32,
        plane: u32,
    },
    /// a page of each plane
    Program {
        block: BlockId,
        stripe: u32,
    },
    Erase {
        block: BlockId,
    },
}
