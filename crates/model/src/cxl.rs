//! CXL memory between the home agent and the media: the HDM decoder, a root port, a link, a type-3 device.
//!
//! ```text
//!  home agent      root port            M2S wire                type-3 device             media
//!  ----------> [request FIFO] -host-> [slots | flits] ==> -protocol-> [read | write queue] ----> (not here)
//!               [response FIFO]                                                                     |
//!  <-- done --- -host- <============= [slots | flits] <------------ protocol <------ media_done ----+
//!                                       S2M wire
//! ```
//!
//! [`Expander`] is one such path, driven through [`Driver`] by the machine that owns the events and the media.
//! A read is M2S Req and S2M DRS, a write M2S RwD and S2M NDR. Each arrow that only keeps order reserves time
//! ahead; the two places where ways join (the packer of the M2S wire, the device's queues) are events.
//!
//! Not modelled: 256 B flits (CXL 3.x), CXL.cache and CXL.io traffic on the link, back-invalidation, poison,
//! multi-logical devices, the slots that credit returns and link-layer control take when no message flows.
//!
//! Source: CXL specification 2.0, chapters 3 (transactions) and 4 (link layer); names are its names.

mod decoder;
mod dev_load;
mod device;
mod entries;
mod error;
mod expander;
mod flit;
mod message;
mod root_port;
mod spec;
mod stats;
mod wire;

use cxlab_kernel::Time;

use crate::addr::Dpa;

pub use decoder::{HdmDecoderSpec, HdmDecoders, TargetId};
pub use dev_load::{DevLoad, DevLoadSpec, ThrottleSpec};
pub use device::DeviceSpec;
pub use error::CxlError;
pub use expander::Expander;
pub use flit::{Encoding, FlitClock, Lanes, LinkRate, PackingSpec};
pub use message::{Class, M2sReq, M2sRwd, S2mDrs, S2mNdr};
pub use root_port::RootPortSpec;
pub use spec::{ExpanderSpec, LinkSpec, RatedSpec, WireTime};
pub use stats::{
    DeviceReport, DeviceStats, ExpanderStats, Occupancy, Occupied, RootPortReport, RootPortStats, WireReport, WireStats,
};

/// What the home agent wants done with a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessKind {
    /// M2S Req out, S2M DRS back
    Read,
    /// M2S RwD out, S2M NDR back
    Write,
}

/// The caller's name for a transaction in flight. Tags are small and used again: the path keeps a table with a
/// row for each up to the largest it has seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tag(pub u32);

/// One line to or from CXL memory, as the home agent hands it over; an HDM decoder has made the address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    pub dpa: Dpa,
    pub kind: AccessKind,
    pub tag: Tag,
}

/// The stages of an access, in order; their times add up to its latency.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// waiting for an entry of the request FIFO and of the response FIFO
    RootPortQueue,
    /// bridge and CXL protocol of the host, outwards
    HostOut,
    /// M2S: credit wait, packing into slots, flits on the wire, flight
    LinkM2s,
    /// protocol of the device, inwards
    DeviceIn,
    /// waiting for an entry of the device's read or write queue
    DeviceQueue,
    /// behind the device: between `Driver::media` and `Expander::media_done`
    Media,
    /// protocol of the device, outwards, then S2M: credit wait, packing, flits on the wire, flight
    LinkS2m,
    /// CXL protocol and bridge of the host, back
    HostIn,
}

impl Stage {
    pub const ALL: [Stage; 8] = [
        Stage::RootPortQueue,
        Stage::HostOut,
        Stage::LinkM2s,
        Stage::DeviceIn,
        Stage::DeviceQueue,
        Stage::Media,
        Stage::LinkS2m,
        Stage::HostIn,
    ];
}

/// An event of this path; the machine keeps it in its queue and hands it back at its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wake {
    /// an entry of a root port FIFO may be back
    RootPort,
    /// a message is through the host's protocol and wants to be packed
    Pack(Tag),
    /// an M2S credit of this class may be back
    Credit(AccessKind),
    /// a message is through the device's protocol and wants a queue entry
    Device(Tag),
    /// an entry of this queue of the device may be free
    Queue(AccessKind),
    /// a response that waited has its S2M credit when it is through the device's protocol
    Respond(Tag),
}

/// What the path needs of the machine it is part of.
pub trait Driver {
    /// Call [`Expander::wake`] with `wake` at `at`.
    fn wake(&mut self, at: Time, wake: Wake);

    /// Hand a line to the media behind the device; [`Expander::media_done`] is its answer.
    fn media(&mut self, at: Time, dpa: Dpa, kind: AccessKind, tag: Tag);

    /// `stage` of `tag` ends at `at`, which may be later than now.
    fn stamp(&mut self, tag: Tag, stage: Stage, at: Time);

    /// The response is back at the home agent at `at`, which may be later than now.
    fn done(&mut self, at: Time, tag: Tag);
}
