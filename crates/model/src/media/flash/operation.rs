//! An operation of a die, as a log has it.

use cxlab_kernel::Time;

use super::geometry::BlockId;

/// What was begun, where and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operation {
    pub at: Time,
    pub die: u32,
    pub kind: Kind,
}

/// The operations that a die knows.
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
