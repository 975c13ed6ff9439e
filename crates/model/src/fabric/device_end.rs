//! The device's end of the fabric: a request is queued, the media reads or writes its line, the response is sent.
//!
//! ```text
//!   receive -> queue -> issue -> store: [media] -> stored -> responses -> respond -> link
//! ```
//!
//! Local channels have no device: an access comes to their media at once, and the media tells the driver.

use cxlab_kernel::{Slab, Time};

use super::link::Direction;
use super::{Due, Fabric, Flight, Joined, Station, key};
use crate::mem::{Access, AccessKind, Driver, Extent, Media, Owner, Stage, Tag, Wake};

impl<M: Media> Fabric<M> {
    /// A request is through the device's protocol.
    pub(super) fn receive<D: Driver<Due>>(&mut self, now: Time, at: u16, tag: Tag, driver: &mut D) {
        let flight = &mut self.flights[key(tag)];
        flight.stamp(Stage::DeviceIn, now, driver);
        flight.since = now;
        let kind = flight.kind;
        let device = &mut self.devices[usize::from(at)].device;
        let entered = device.queues.of(kind).enter(now, tag);
        device.received(kind, !entered);
        if entered {
            self.issue(now, at, tag, driver);
        } else {
            self.wake_queue(now, at, kind, driver);
        }
    }

    /// Entries of a device's queue may be free.
    pub(super) fn queue<D: Driver<Due>>(&mut self, now: Time, at: u16, kind: AccessKind, driver: &mut D) {
        while let Some(tag) = self.devices[usize::from(at)].device.queues.of(kind).admit(now) {
            self.issue(now, at, tag, driver);
        }
        self.wake_queue(now, at, kind, driver);
    }

    /// The request has its queue entry: its credit goes back, the media takes it.
    fn issue<D: Driver<Due>>(&mut self, now: Time, at: u16, tag: Tag, driver: &mut D) {
        let flight = &mut self.flights[key(tag)];
        flight.stamp(Stage::DeviceQueue, now, driver);
        flight.issued = now;
        let Flight { kind, since, .. } = *flight;
        let Joined { device, link, .. } = &mut self.devices[usize::from(at)];
        device.stats.queue_wait.record(now - since);
        let link = *link;
        self.give_credit(now, now, link, Direction::Out, kind, driver);
        self.hand_on(now, at, tag, driver);
    }

    /// An access reaches its media. Of a partial write the line is read first, for whoever stores it.
    pub(super) fn store<D: Driver<Due>>(&mut self, now: Time, media: u16, tag: Tag, driver: &mut D) {
        let flight = &self.flights[key(tag)];
        let (dpa, mut kind, mut tag) = (flight.dpa, flight.kind, tag);
        if flight.extent == Extent::Part {
            kind = AccessKind::Read;
            let own = Flight::new(dpa, kind, Extent::Line, Owner::Device(tag), flight.way, now);
            tag = Tag(self.flights.insert(own).index());
        }
        let (memory, mut outlet) = self.outlet(media, driver);
        memory.arrive(now, Access { dpa, kind, tag }, &mut outlet);
    }

    /// The media has read or written the line.
    pub(super) fn stored<D: Driver<Due>>(&mut self, now: Time, media: u16, tag: Tag, driver: &mut D) {
        let Flight { owner, kind, .. } = self.flights[key(tag)];
        match owner {
            Owner::Request(_) => self.answer(now, media, tag, driver),
            Owner::Device(whole) => {
                self.flights.remove(key(tag));
                self.flights[key(whole)].extent = Extent::Line;
                self.store(now, media, whole, driver);
            }
            Owner::Cache(fill) => {
                self.flights.remove(key(tag));
                self.cache_served(now, media, kind, fill, driver);
            }
            Owner::Log(merge) => {
                self.flights.remove(key(tag));
                self.log_served(now, media, kind, merge, driver);
            }
        }
    }

    /// A request's line was read or written: its response is due.
    pub(super) fn answer<D: Driver<Due>>(&mut self, now: Time, media: u16, tag: Tag, driver: &mut D) {
        let flight = &mut self.flights[key(tag)];
        flight.stamp(Stage::Media, now, driver);
        let at = self.behind[usize::from(media)].expect("local channels tell their driver themselves");
        let Joined { device, link, .. } = &mut self.devices[usize::from(at)];
        let kind = flight.kind;
        (flight.load, flight.since) = (device.report_load(now, kind), now);
        self.links[usize::from(*link)].lane(Direction::Back).credits.of(kind).join(tag);
        self.responses(now, at, kind, driver);
    }

    /// Sends the responses that have a credit when they are through the protocol. If a credit is known to come back
    /// later, its response is sent then. Every response comes to the wire one protocol latency after the event that
    /// sends it, and so in order.
    pub(super) fn responses<D: Driver<Due>>(&mut self, now: Time, at: u16, kind: AccessKind, driver: &mut D) {
        let Joined { device, link, .. } = &self.devices[usize::from(at)];
        let (latency, link) = (device.latency, usize::from(*link));
        let ready = now + latency;
        while let Some((tag, credit)) = self.links[link].lane(Direction::Back).credits.of(kind).admit_ahead(ready) {
            if credit > ready {
                driver.wake(credit - latency, Due::At(Station::Device(at), Wake::Back(tag)));
            } else {
                self.respond(now, at, tag, driver);
            }
        }
    }

    /// The response has its credit: through the protocol, on the wire, and home.
    pub(super) fn respond<D: Driver<Due>>(&mut self, now: Time, at: u16, tag: Tag, driver: &mut D) {
        let flight = &self.flights[key(tag)];
        let Joined { device, link, .. } = &mut self.devices[usize::from(at)];
        if now > flight.since {
            device.waited_for_credit(flight.kind);
        }
        let (ready, link) = (now + device.latency, *link);
        self.transmit(now, ready, link, Direction::Back, tag, driver);
    }

    pub(super) fn wake_queue<D: Driver<Due>>(&mut self, now: Time, at: u16, kind: AccessKind, driver: &mut D) {
        if let Some(when) = self.devices[usize::from(at)].device.queues.of(kind).next_wake(now) {
            driver.wake(when, Due::At(Station::Device(at), Wake::Entry(kind)));
        }
    }

    /// A media, and what it speaks to.
    pub(super) fn outlet<'a, D: Driver<Due>>(
        &'a mut self,
        media: u16,
        driver: &'a mut D,
    ) -> (&'a mut M, Outlet<'a, D>) {
        let Fabric { media: all, behind, flights, .. } = self;
        let at = usize::from(media);
        (&mut all[at], Outlet { media, behind_device: behind[at].is_some(), flights, driver })
    }
}

/// The driver that a media sees.
pub(super) struct Outlet<'a, D> {
    media: u16,
    behind_device: bool,
    flights: &'a mut Slab<Flight>,
    driver: &'a mut D,
}

impl<D: Driver<Due>> Driver for Outlet<'_, D> {
    fn wake(&mut self, at: Time, wake: Wake) {
        self.driver.wake(at, Due::At(Station::Media(self.media), wake));
    }

    fn done(&mut self, at: Time, tag: Tag) {
        let flight = &self.flights[key(tag)];
        match flight.owner {
            Owner::Request(request) if !self.behind_device => {
                self.driver.stamp(request, Stage::Media, at);
                self.flights.remove(key(tag));
                self.driver.done(at, request);
            }
            _ => self.driver.wake(at, Due::At(Station::Media(self.media), Wake::Back(tag))),
        }
    }
}
