//! The joints of the fabric: a message leaves one component, crosses the link, and comes to the next.
//!
//! ```text
//!   sender --ask_credit--> credit --transmit--> wire --comes--> receiver: an event of its own
//!     ^                      ^        '--sent--> the sender's entry is free
//!     '-- give_credit -------'-- the receiver's buffer has room
//! ```
//!
//! A joint serves both directions. The components at its ends hear of a message by their place in the graph.

use cxlab_kernel::Time;

use super::link::Direction;
use super::{Due, Fabric, Flight, Station, key};
use crate::mem::{AccessKind, Driver, Media, Stage, Tag, Wake};

impl<M: Media> Fabric<M> {
    /// A message is through the host's protocol.
    pub(super) fn pack<D: Driver<Due>>(&mut self, now: Time, tag: Tag, driver: &mut D) {
        self.flights[key(tag)].stamp(Stage::HostOut, now, driver);
        self.ask_credit(now, Direction::Out, tag, driver);
    }

    /// A message is through a hop between two links.
    pub(super) fn switched<D: Driver<Due>>(&mut self, now: Time, direction: Direction, tag: Tag, driver: &mut D) {
        let flight = &self.flights[key(tag)];
        let before = flight.links - 1;
        let stage = match direction {
            Direction::Out => Stage::switch_out(before),
            Direction::Back => Stage::switch_back(before),
        };
        flight.stamp(stage, now, driver);
        self.ask_credit(now, direction, tag, driver);
    }

    /// A message at a port wants to go over the next link.
    fn ask_credit<D: Driver<Due>>(&mut self, now: Time, direction: Direction, tag: Tag, driver: &mut D) {
        let flight = &mut self.flights[key(tag)];
        flight.since = now;
        let kind = flight.kind;
        let link = self.ways[usize::from(flight.way.0)].link(flight.links, direction);
        if self.links[usize::from(link)].lane(direction).credits.of(kind).enter(now, tag) {
            return self.transmit(now, now, link, direction, tag, driver);
        }
        match self.links[usize::from(link)].sender(direction) {
            Station::RootPort(port) => self.root_ports[usize::from(port)].waits_for_credit(kind),
            // A device asks for its credits ahead.
            hop => self.hop(hop).stats.credit_waits.increment(),
        }
        self.wake_credit(now, link, direction, kind, driver);
    }

    /// Credits of a link may be back.
    pub(super) fn credit<D: Driver<Due>>(
        &mut self,
        now: Time,
        link: u16,
        direction: Direction,
        kind: AccessKind,
        driver: &mut D,
    ) {
        while let Some(tag) = self.links[usize::from(link)].lane(direction).credits.of(kind).admit(now) {
            let waited = now - self.flights[key(tag)].since;
            match self.links[usize::from(link)].sender(direction) {
                Station::RootPort(port) => self.root_ports[usize::from(port)].stats.credit_wait.record(waited),
                hop => self.hop(hop).stats.credit_wait.record(waited),
            }
            self.transmit(now, now, link, direction, tag, driver);
        }
        self.wake_credit(now, link, direction, kind, driver);
    }

    /// The message has its credit and is `ready` for the wire: its sender hears when it has left, its receiver when it comes.
    pub(super) fn transmit<D: Driver<Due>>(
        &mut self,
        now: Time,
        ready: Time,
        link: u16,
        direction: Direction,
        tag: Tag,
        driver: &mut D,
    ) {
        let flight = &mut self.flights[key(tag)];
        let kind = flight.kind;
        let (sent, arrived) = self.links[usize::from(link)].send(ready, direction, kind);
        let stage = match direction {
            Direction::Out => {
                flight.links += 1;
                Stage::link_m2s(flight.links - 1)
            }
            Direction::Back => {
                flight.links -= 1;
                Stage::link_s2m(flight.links)
            }
        };
        if self.log.is_some() {
            self.note_sent(link, direction, kind, tag, (ready, sent));
        }
        self.sent(now, sent, link, direction, tag, driver);
        let flight = &mut self.flights[key(tag)];
        flight.reached = arrived;
        flight.stamp(stage, arrived, driver);
        self.comes(now, arrived, link, direction, tag, driver);
    }

    /// The message leaves its sender at `sent`.
    fn sent<D: Driver<Due>>(
        &mut self,
        now: Time,
        sent: Time,
        link: u16,
        direction: Direction,
        tag: Tag,
        driver: &mut D,
    ) {
        let Flight { kind, admitted, reached, issued, way, links, .. } = self.flights[key(tag)];
        match self.links[usize::from(link)].sender(direction) {
            Station::RootPort(at) => {
                let port = &mut self.root_ports[usize::from(at)];
                port.request_sent(sent, kind);
                port.stats.request_fifo.record(sent - admitted);
                self.wake_root_port(now, at, driver);
            }
            Station::Device(at) => {
                self.devices[usize::from(at)].device.sent(sent, kind, reached, issued);
                self.wake_queue(now, at, kind, driver);
            }
            hop => {
                let stats = self.hop(hop).stats;
                match direction {
                    Direction::Out => stats.requests.increment(),
                    Direction::Back => stats.responses.increment(),
                }
                stats.residence.record(sent - reached);
                // The entry that it had is of the link on the switch's other side.
                let way = &self.ways[usize::from(way.0)];
                let entered = match direction {
                    Direction::Out => way.links[usize::from(links) - 2],
                    Direction::Back => way.links[usize::from(links) + 1],
                };
                self.give_credit(now, sent, entered, direction, kind, driver);
            }
        }
    }

    /// The message comes to its receiver at `arrived`.
    fn comes<D: Driver<Due>>(
        &mut self,
        now: Time,
        arrived: Time,
        link: u16,
        direction: Direction,
        tag: Tag,
        driver: &mut D,
    ) {
        let kind = self.flights[key(tag)].kind;
        let joint = &mut self.links[usize::from(link)];
        match joint.receiver(direction) {
            Station::Device(at) => {
                let latency = joint.after_arrival(self.devices[usize::from(at)].device.latency, direction, kind);
                driver.wake(arrived + latency, Due::At(Station::Device(at), Wake::Out(tag)));
            }
            Station::RootPort(at) => {
                let latency = joint.after_arrival(self.root_ports[usize::from(at)].latency, direction, kind);
                self.return_credit(arrived, link, direction, kind);
                self.arrive_home(now, arrived + latency, at, tag, driver);
            }
            hop => {
                let through = arrived + self.hop(hop).port_to_port;
                let wake = match direction {
                    Direction::Out => Wake::Out(tag),
                    Direction::Back => Wake::Back(tag),
                };
                driver.wake(through, Due::At(hop, wake));
            }
        }
    }

    /// A receive buffer has room from `free` on.
    pub(super) fn give_credit<D: Driver<Due>>(
        &mut self,
        now: Time,
        free: Time,
        link: u16,
        direction: Direction,
        kind: AccessKind,
        driver: &mut D,
    ) {
        self.return_credit(free, link, direction, kind);
        match self.links[usize::from(link)].sender(direction) {
            Station::Device(device) => self.responses(now, device, kind, driver),
            _ => self.wake_credit(now, link, direction, kind, driver),
        }
    }

    /// A credit is on its way back from `free` on.
    #[inline]
    fn return_credit(&mut self, free: Time, link: u16, direction: Direction, kind: AccessKind) {
        let joint = &mut self.links[usize::from(link)];
        let back = free + joint.credit;
        joint.lane(direction).credits.of(kind).give_back(back);
        if self.log.is_some() {
            self.note_returned(link, direction, kind, back);
        }
    }

    pub(super) fn wake_credit<D: Driver<Due>>(
        &mut self,
        now: Time,
        link: u16,
        direction: Direction,
        kind: AccessKind,
        driver: &mut D,
    ) {
        if let Some(at) = self.links[usize::from(link)].lane(direction).credits.of(kind).next_wake(now) {
            driver.wake(at, Due::Credit(link, direction, kind));
        }
    }
}
