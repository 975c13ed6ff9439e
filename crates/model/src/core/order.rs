//! Numbers that instructions and stores get in program order, since the beginning.

/// An instruction.
pub type Sequence = u64;

/// A store.
pub type StoreNumber = u64;
