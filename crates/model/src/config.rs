//! Assembles a machine from its file and from all files that it names.
//!
//! ```text
//!   data/machines/8468v-asic.toml --document--> tree with its parts --machine_file.rs--> MachineSpec
//! ```
//!
//! `document` reads the files and completes them; here their values become the types of the rooms below, and what holds
//! between them is checked. data/README.md describes the format.

mod host;
mod machine;
mod machine_file;
mod schema;

pub use crate::document::{machine_names, shipped_file};
pub use host::{HostSpec, IdentitySpec, Vendor};
pub use machine::{MachineSpec, NodeSpec, Path, ShareSpec};
pub use machine_file::{Entry, device};
pub use schema::machine_schema;
