//! Files of facts: TOML documents, the parts that they name, and their values, each with its place and its source.
//!
//! ```text
//!   file --tree.rs--> tree --parts.rs--> with its parts --nodes.rs--> and nodes --settings.rs--> with --set --read.rs--> types, within bounds
//! ```
//!
//! A name stands for a shipped file; a path ending in `.toml` for a file of the user's, beside the one that names it.
//! An error names file, line, key and value, and says what is valid.

pub mod bounds;
mod fitted;
mod kind;
mod layer;
pub mod library;
pub mod nodes;
pub mod parts;
mod path;
mod place;
pub mod read;
pub mod settings;
mod tree;

pub use fitted::Fitted;
pub use kind::Kind;
pub use library::{machine_names, shipped_file};
pub use parts::Whole;
pub use place::{Author, Place};
pub use tree::{Mistake, Tree, Value};
