//! Errors in the description of flash.

/// Errors of a drive's description. Each has a stable code, its cause, and the valid values.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FlashError {
    #[error("FLASH001: `{key}` is {value}; valid: {valid}")]
    OutOfRange { key: &'static str, value: String, valid: &'static str },
    #[error(
        "FLASH002: `over_provisioning` = {share} leaves {spare} of {blocks} blocks of a die without data; valid: {least} \
         or more, so raise over_provisioning or lower channels x dies"
    )]
    TooFewBlocks { share: String, spare: u64, blocks: u64, least: u64 },
}

impl FlashError {
    /// An error for a `value` of `key` that is not `valid`.
    pub(super) fn out_of_range(key: &'static str, value: impl std::fmt::Display, valid: &'static str) -> Self {
        FlashError::OutOfRange { key, value: value.to_string(), valid }
    }
}
