//! Numbers that instructions and stores get in program order, since the beginning.

/// Number of an instruction.
pub type Sequence = u64;

/// Number of a store.
pub type StoreNumber = u64;
