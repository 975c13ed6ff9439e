//! The host's end of the fabric: an access enters, takes the entries of its root port, and is back at the home agent.

use cxlab_kernel::Time;

use super::{Due, Fabric, Flight, Station, WayId, key};
use crate::mem::{Access, AccessKind, Driver, Extent, Media, Owner, Stage, Tag, Wake};

impl<M: Media> Fabric<M> {
    /// The home agent hands over an access; what is said of its tag goes to `driver`.
    #[inline]
    pub fn enter<D: Driver<Due>>(&mut self, now: Time, way: WayId, access: Access, extent: Extent, driver: &mut D) {
        let Access { dpa, kind, tag } = access;
        let flight = Flight::new(dpa, kind, extent, Owner::Request(tag), way, now);
        let tag = Tag(self.flights.insert(flight).index());
        match self.ways[usize::from(way.0)].first {
            Station::Media(media) => self.store(now, media, tag, driver),
            Station::RootPort(port) => {
                self.root_ports[usize::from(port)].join(tag, kind);
                if self.admit(now, port, driver) != Some(tag) {
                    self.root_ports[usize::from(port)].stats.full.increment();
                }
            }
            first => unreachable!("a way begins at a root port or a memory, not at {first:?}"),
        }
    }

    /// Admit as many to the root port as have entries: the last of them.
    pub(super) fn admit<D: Driver<Due>>(&mut self, now: Time, at: u16, driver: &mut D) -> Option<Tag> {
        let port = &mut self.root_ports[usize::from(at)];
        let mut last = None;
        while let Some(tag) = port.admit(now) {
            let flight = &mut self.flights[key(tag)];
            port.stats.wait.record(now - flight.since);
            flight.admitted = now;
            flight.stamp(Stage::RootPortQueue, now, driver);
            driver.wake(now + port.latency, Due::At(Station::RootPort(at), Wake::Out(tag)));
            last = Some(tag);
        }
        self.wake_root_port(now, at, driver);
        last
    }

    /// A response is back at the home agent at `done`.
    pub(super) fn arrive_home<D: Driver<Due>>(&mut self, now: Time, done: Time, at: u16, tag: Tag, driver: &mut D) {
        let flight = self.flights.remove(key(tag));
        flight.stamp(Stage::HostIn, done, driver);
        let Owner::Request(request) = flight.owner else { unreachable!("a device's own accesses stay there") };
        driver.done(done, request);
        let port = &mut self.root_ports[usize::from(at)];
        port.response_done(done, flight.kind, flight.load);
        if flight.kind == AccessKind::Read {
            port.stats.response_fifo.record(done - flight.admitted);
        }
        self.wake_root_port(now, at, driver);
    }

    pub(super) fn wake_root_port<D: Driver<Due>>(&mut self, now: Time, at: u16, driver: &mut D) {
        if let Some(when) = self.root_ports[usize::from(at)].next_wake(now) {
            driver.wake(when, Due::At(Station::RootPort(at), Wake::Admit));
        }
    }
}
