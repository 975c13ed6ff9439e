//! Errors of the operating system.

use super::PageNumber;

/// Why pages cannot be placed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OsError {
    #[error("no node that page {} may be on has a free frame, and nothing can be swapped out; give the nodes more pages, or swap", page.0)]
    OutOfMemory { page: PageNumber },
    #[error("there is no node `{name}` with pages; valid: {valid}")]
    UnknownNode { name: String, valid: String },
    #[error("{policy} names no node, or one twice; valid: each node once")]
    Nodes { policy: &'static str },
    #[error("node {node} has weight {weight}; valid: 1 to 255")]
    Weight { node: String, weight: u32 },
}
