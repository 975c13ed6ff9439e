//! Configuration: facts with units, each with its source, read from TOML.
//!
//! ```text
//!   data/machines/8468v-asic.toml --host--> data/hosts/xeon-8468v.toml
//!                                 --node--> data/devices/dmsim-asic.toml
//! ```
//!
//! A name stands for a shipped file; a path ending in `.toml` for a file of the user's, beside the one that
//! names it. Unknown keys and names are errors with file, line and what is valid.

mod cycles;
mod host;
mod library;
mod machine;
mod socket_link;
mod sourced;

pub use cycles::Cycles;
pub use host::{CoreSpec, HomeSpec, HostSpec, LatencySpec, MeshSpec, MicroOperationsSpec, PortSpec, PortsSpec};
pub use library::{machine_names, shipped_file};
pub use machine::{DeviceInterleave, MachineSpec, NodeSpec, Path, Socket};
pub use socket_link::{Directory, RemoteSnoopFilterSpec, SocketLinkSpec};
pub use sourced::Sourced;
