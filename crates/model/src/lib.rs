//! The simulated machine: folders are its parts, in the order in which a request meets them.
//!
//! ```text
//!   frontend -> core -> cache -> machine (home: which node?) -> dram
//!                                                            -> cxl -> dram behind the device
//! ```
//!
//! `config` turns TOML facts into specs; `request` is what travels; `summary` is what a run tells.

pub mod addr;
pub mod apps;
pub mod bench;
pub mod cache;
pub mod coherence;
pub mod config;
pub mod core;
pub mod cxl;
pub mod dram;
pub mod error;
pub mod frontend;
pub mod machine;
pub mod os;
pub mod request;
pub mod study;
pub mod summary;

pub use config::MachineSpec;
pub use error::ModelError;
pub use machine::Machine;
