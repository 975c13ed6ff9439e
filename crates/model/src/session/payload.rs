//! The payload of a record: the bytes of the words behind it.

use std::fmt::Display;

use cxlab_access::record::{RECORD_BYTES, Words};

use crate::error::ModelError;

/// Takes the words of a payload from `next`: so many bytes.
///
/// # Errors
/// The stream ends within it; the error says of what.
pub(super) fn payload(
    records: usize,
    of: &dyn Display,
    mut next: impl FnMut() -> Result<Option<Words>, ModelError>,
) -> Result<Vec<u8>, ModelError> {
    let mut bytes = Vec::with_capacity(records * RECORD_BYTES);
    for _ in 0..records {
        let words = next()?.ok_or_else(|| ModelError::Stream { cause: format!("it ends within {of}") })?;
        bytes.extend(words.into_iter().flat_map(u64::to_le_bytes));
    }
    Ok(bytes)
}
