//! The fabric: components between a home agent and the lines, and the graph that joins them.
//!
//! ```text
//!   home --enter--> root port ==link== [switch ==link==]* device -- media        a way, over CXL
//!   home --enter--> media                                                        a way, to local channels
//!                                           device -- cache [DRAM] -- flash      an end of a way: a device with flash
//!
//!   Out:   [request FIFO] -host-> (credit, M2S wire) => [switch] => -protocol-> [read | write queue] -> media
//!   Back:  done <-host- [response FIFO reserved] <= [switch] <= (credit, S2M wire) <-protocol- media
//! ```
//!
//! A component has a Spec, a State and Stats of its own. It does not know its neighbours. The graph owns the joints: it takes
//! an access from one component to the next, and tells each component how the access ended. Several ways can lead through
//! one component: nodes that share a device, or root ports whose links meet in a switch. Each access has an owner. The owner
//! is a request of the driver, or a device that needs a line for itself, as it does to merge a partial write.
//!
//! An arrow that only keeps order reserves time ahead. If ways join, the arrival is an event: at the packer of a wire, the
//! device's queues, a switch and the media. An undisturbed read costs four events over CXL, and none over a local channel.
//!
//! Not modelled: a root port or switch that carries traffic of several hosts.

mod build;
mod checked;
mod decoder;
mod device;
pub mod device_cache;
mod device_end;
mod host_end;
mod joints;
mod link;
mod report;
mod root_port;
mod spec;
mod stats;
mod switch;

use cxlab_kernel::statistic::Group;
use cxlab_kernel::{Key, Slab, Time};

use crate::addr::Dpa;
use crate::check::LinkEvent;
use crate::cxl::DevLoad;
use crate::media::Memory;
use crate::mem::{AccessKind, Driver, Extent, Media, Owner, Stage, Tag, Wake};

pub use decoder::{DeviceInterleave, HdmDecoderSpec, HdmDecoders, TargetId};
pub use device::DeviceSpec;
pub use device_cache::{DeviceCacheSpec, DeviceCacheStats, WriteLogSpec, WriteLogStats};
pub use link::Direction;
pub use root_port::RootPortSpec;
pub use spec::{ExpanderSpec, RatedSpec};
pub use stats::{DeviceReport, DeviceStats, ExpanderStats, HopStats, Occupancy, RootPortReport, RootPortStats};
pub use switch::{SwitchSpec, SwitchStats};

use device::Device;
use device_cache::Cached;
use link::Link;
use root_port::RootPort;
use switch::{Hop, Switch};

/// A component, by its place among those of its kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Station {
    RootPort(u16),
    Switch(u16),
    Device(u16),
    DeviceCache(u16),
    Media(u16),
}

/// A way from a home agent to a memory, by its place in the fabric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WayId(pub u16);

/// An event of the fabric; its driver keeps it and hands it back at its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Due {
    /// a component asked to be woken
    At(Station, Wake),
    /// a credit of this link, in this direction and for this kind, may be back
    Credit(u16, Direction, AccessKind),
}

/// The links of a way, from the host on, and what it begins and ends with.
#[derive(Clone, Debug)]
struct Way {
    first: Station,
    links: Vec<u16>,
    media: u16,
}

/// An access under way.
#[derive(Clone, Copy, Debug)]
struct Flight {
    dpa: Dpa,
    kind: AccessKind,
    extent: Extent,
    owner: Owner,
    way: WayId,
    /// links that it has passed outwards and not yet back
    links: u8,
    /// the start of the wait that it is in `[ps]`
    since: Time,
    /// when it had its root port entries `[ps]`
    admitted: Time,
    /// when its last flit was in the component that has it `[ps]`
    reached: Time,
    /// when it had its entry of the device's queue `[ps]`
    issued: Time,
    /// what its response reports
    load: DevLoad,
}

/// A device, and what it is joined to.
#[derive(Clone, Debug)]
struct Joined {
    device: Device,
    link: u16,
    media: u16,
    /// before the media, which are its DRAM then
    cache: Option<u16>,
}

/// Components, joints, ways, and what is on them.
#[derive(Clone, Debug)]
pub struct Fabric<M = Memory> {
    root_ports: Vec<RootPort>,
    switches: Vec<Switch>,
    devices: Vec<Joined>,
    caches: Vec<Cached>,
    media: Vec<M>,
    /// for each media, the device before it
    behind: Vec<Option<u16>>,
    links: Vec<Link>,
    ways: Vec<Way>,
    flights: Slab<Flight>,
    /// what happened on the links, if they are checked
    log: Option<Vec<LinkEvent>>,
}

impl<M> Default for Fabric<M> {
    fn default() -> Self {
        Fabric {
            root_ports: Vec::new(),
            switches: Vec::new(),
            devices: Vec::new(),
            caches: Vec::new(),
            media: Vec::new(),
            behind: Vec::new(),
            links: Vec::new(),
            ways: Vec::new(),
            flights: Slab::new(),
            log: None,
        }
    }
}

fn key(tag: Tag) -> Key<Flight> {
    Key::from_index(tag.0)
}

/// The way of an access; each function is an arrival on it.
impl<M: Media> Fabric<M> {
    /// An event of the fabric is due.
    #[inline]
    pub fn wake<D: Driver<Due>>(&mut self, now: Time, due: Due, driver: &mut D) {
        match due {
            Due::Credit(link, direction, kind) => self.credit(now, link, direction, kind, driver),
            Due::At(Station::RootPort(_), Wake::Out(tag)) => self.pack(now, tag, driver),
            Due::At(Station::RootPort(port), _) => {
                self.admit(now, port, driver);
            }
            Due::At(Station::Switch(_), Wake::Out(tag)) => self.switched(now, Direction::Out, tag, driver),
            Due::At(Station::Switch(_), Wake::Back(tag)) => self.switched(now, Direction::Back, tag, driver),
            Due::At(Station::Device(device), Wake::Out(tag)) => self.receive(now, device, tag, driver),
            Due::At(Station::Device(device), Wake::Entry(kind)) => self.queue(now, device, kind, driver),
            Due::At(Station::Device(device), Wake::Back(tag)) => {
                let kind = self.flights[key(tag)].kind;
                self.respond(now, device, tag, driver);
                self.responses(now, device, kind, driver);
            }
            Due::At(Station::DeviceCache(cache), Wake::Out(tag)) => self.looked_up(now, cache, tag, driver),
            Due::At(Station::DeviceCache(cache), Wake::Back(tag)) => self.indexed(now, cache, tag, driver),
            Due::At(Station::Media(media), Wake::Out(tag)) => self.store(now, media, tag, driver),
            Due::At(Station::Media(media), Wake::Back(tag)) => self.stored(now, media, tag, driver),
            Due::At(Station::Media(media), wake) => {
                let (memory, mut outlet) = self.outlet(media, driver);
                memory.wake(now, wake, &mut outlet);
            }
            due => unreachable!("no component asks for {due:?}"),
        }
    }
}

/// Statistics of the components.
impl<M> Fabric<M> {
    /// Let counts of all but the media begin here.
    pub fn clear_stats(&mut self) {
        self.root_ports.iter_mut().for_each(|port| port.stats = RootPortStats::default());
        self.switches.iter_mut().for_each(|switch| switch.stats = SwitchStats::default());
        self.devices.iter_mut().for_each(|joined| joined.device.stats = DeviceStats::default());
        self.caches.iter_mut().for_each(|cached| cached.cache.clear_stats());
        self.links.iter_mut().for_each(Link::clear_stats);
    }

    /// A component between two links: a switch, never a device or a memory.
    fn hop(&mut self, station: Station) -> Hop<'_> {
        match station {
            Station::Switch(at) => self.switches[usize::from(at)].hop(),
            other => unreachable!("{other:?} is not between two links"),
        }
    }

    /// Statistics of a link and of the hop above it.
    fn hop_stats(&self, link: &Link, elapsed: Time) -> HopStats {
        let hop = match link.upper {
            Station::Switch(at) => self.switches[usize::from(at)].stats.entries(),
            upper => unreachable!("{upper:?} is not between two links"),
        };
        let (m2s, s2m) = link.reports(elapsed);
        HopStats { hop, m2s, s2m }
    }
}

impl Way {
    /// The next link of a message that has passed so many.
    fn link(&self, passed: u8, direction: Direction) -> u16 {
        match direction {
            Direction::Out => self.links[usize::from(passed)],
            Direction::Back => self.links[usize::from(passed) - 1],
        }
    }
}

impl Flight {
    fn new(dpa: Dpa, kind: AccessKind, extent: Extent, owner: Owner, way: WayId, now: Time) -> Flight {
        let (since, admitted, reached, issued) = (now, now, now, now);
        Flight { dpa, kind, extent, owner, way, links: 0, since, admitted, reached, issued, load: DevLoad::Light }
    }

    fn stamp<D: Driver<Due>>(&self, stage: Stage, at: Time, driver: &mut D) {
        if let Owner::Request(tag) = self.owner {
            driver.stamp(tag, stage, at);
        }
    }
}
