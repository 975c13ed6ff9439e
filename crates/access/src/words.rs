//! The words of a record, as they stand in the ring and in a trace.

/// Sixteen bytes as they stand in the ring and in a trace file.
pub type Words = [u64; 2];

/// Bytes of a record.
pub const RECORD_BYTES: usize = size_of::<Words>();
