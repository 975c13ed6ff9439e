//! The kinds of files, each with a folder of `data/`.

/// Kind of file: the part that it describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Machine,
    Host,
    Core,
    SocketLink,
    Device,
    Controller,
    Dimm,
    Dram,
    Flash,
    Drive,
}

impl Kind {
    pub const ALL: [Kind; 10] = [
        Kind::Machine,
        Kind::Host,
        Kind::Core,
        Kind::SocketLink,
        Kind::Device,
        Kind::Controller,
        Kind::Dimm,
        Kind::Dram,
        Kind::Flash,
        Kind::Drive,
    ];

    /// As messages name it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Kind::Machine => "machine",
            Kind::Host => "host",
            Kind::Core => "core",
            Kind::SocketLink => "socket link",
            Kind::Device => "device",
            Kind::Controller => "memory controller",
            Kind::Dimm => "DIMM",
            Kind::Dram => "DRAM part",
            Kind::Flash => "flash part",
            Kind::Drive => "drive",
        }
    }

    /// Its folder in `data/`.
    #[must_use]
    pub fn folder(self) -> &'static str {
        match self {
            Kind::Machine => "machines",
            Kind::Host => "hosts",
            Kind::Core => "cores",
            Kind::SocketLink => "socket_links",
            Kind::Device => "devices",
            Kind::Controller => "controllers",
            Kind::Dimm => "dimms",
            Kind::Dram => "dram",
            Kind::Flash => "flash",
            Kind::Drive => "drives",
        }
    }

    /// Whether results name it; what has no name in results drops `name` and `description` where it is put in.
    pub(super) fn has_name(self) -> bool {
        matches!(self, Kind::Machine | Kind::Host | Kind::Device | Kind::Drive)
    }
}
