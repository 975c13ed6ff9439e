//! Errors in the guest before and after the program. Each has a stable code that the host shows.

use nix::errno::Errno;
use thiserror::Error;

pub type Result<T> = std::result::Result<T, Error>;

#[derive(Debug, Error)]
pub enum Error {
    #[error("kernel module {module}: {source}")]
    Module { module: String, source: std::io::Error },
    #[error("mounting {what} on {target}: {errno}")]
    Mount { what: String, target: String, errno: Errno },
    #[error("the virtio-serial port {name} did not appear; check the QEMU command line")]
    PortMissing { name: &'static str },
    #[error("{what}: {source}")]
    Io { what: String, source: std::io::Error },
    #[error("ACPI SRAT: {what}")]
    Srat { what: String },
    #[error("the host sent a line that is no request: {source}: {line}")]
    Request { line: String, source: serde_json::Error },
    #[error("the host sent something else where '{wanted}' was to come")]
    Unexpected { wanted: &'static str },
    #[error("the host closed the control port")]
    HostGone,
    #[error("the placement names node {node}; a node mask holds 0..=63")]
    NodeNumber { node: u32 },
    #[error("the program did not come to a halt at its checkpoint within 10 s of the guest's time; take another text")]
    NotFrozen,
    #[error("CXL: {what}; the kernel's reasons are on the console")]
    Cxl { what: String },
}

impl Error {
    /// Stable: shown to users, matched by tests.
    pub fn code(&self) -> &'static str {
        match self {
            Error::Module { .. } => "GST001",
            Error::Mount { .. } => "GST002",
            Error::PortMissing { .. } => "GST003",
            Error::Io { .. } => "GST004",
            Error::Srat { .. } => "GST006",
            Error::Request { .. } => "GST007",
            Error::HostGone => "GST008",
            Error::Unexpected { .. } => "GST005",
            Error::NodeNumber { .. } => "GST009",
            Error::Cxl { .. } => "GST010",
            Error::NotFrozen => "GST011",
        }
    }
}

/// Names what was being done when an I/O call failed.
pub trait Doing<T> {
    /// `what` is lazily built: a path, mostly.
    fn doing(self, what: impl FnOnce() -> String) -> Result<T>;
}

impl<T> Doing<T> for std::io::Result<T> {
    fn doing(self, what: impl FnOnce() -> String) -> Result<T> {
        self.map_err(|source| Error::Io { what: what(), source })
    }
}

impl<T> Doing<T> for nix::Result<T> {
    fn doing(self, what: impl FnOnce() -> String) -> Result<T> {
        self.map_err(|errno| Error::Io { what: what(), source: errno.into() })
    }
}
