//! Errors in the description of a memory.

/// Errors of a memory's description. Each has a stable code, its cause, and the valid values.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DramError {
    #[error("DRAM001: `{key}` is {value}, but must be {valid}")]
    OutOfRange { key: &'static str, value: String, valid: &'static str },
    #[error("DRAM003: {dram} has no same-bank refresh: choose `all_bank`; only DDR5 parts have REFsb")]
    NoSameBankRefresh { dram: String },
    #[error("DRAM004: `address_map.order` is [{order}], but names each of group, bank, rank, column, row once")]
    AddressMapOrder { order: String },
}

impl DramError {
    /// An error for a `value` of `key` that is not `valid`.
    pub(crate) fn out_of_range(key: &'static str, value: impl std::fmt::Display, valid: &'static str) -> Self {
        DramError::OutOfRange { key, value: value.to_string(), valid }
    }
}
