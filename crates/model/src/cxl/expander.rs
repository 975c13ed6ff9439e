//! The path of an access through root port, link and device; each function is one arrival on the way.
//!
//! ```text
//!   arrive -> (root port entries) -> [Pack] -> (credit, M2S wire) -> [Device] -> (queue) -> media
//!                                                          done <- (S2M wire) <- media_done <-+
//! ```
//!
//! A read that meets nobody costs two events here (in brackets), what the media needs, and the machine's own for
//! arrival and completion.

use cxlab_kernel::{Stream, Time};

use super::device::{ByKind, Device};
use super::entries::Gate;
use super::root_port::RootPort;
use super::wire::Wire;
use super::{
    Access, AccessKind, Class, CxlError, DevLoad, DeviceReport, Driver, ExpanderSpec, ExpanderStats, FlitClock, Lanes,
    LinkRate, LinkSpec, Occupancy, RootPortReport, Stage, Tag, Wake, WireReport,
};
use crate::addr::Dpa;

/// How long a link rests while it is trained anew. Assumption: PCIe 5.0, 4.2.6.4 only bounds the substates of
/// Recovery, by tens of milliseconds.
const RECOVERY: Time = Time::from_ns(50_000);

/// One root port, its link and the type-3 device at its end.
#[derive(Debug)]
pub struct Expander {
    latency: Latencies,
    root_port: RootPort,
    /// M2S Req and RwD credits, which the device gives
    credits: ByKind<Gate>,
    m2s: Wire,
    device: Device,
    s2m: Wire,
    /// what is in flight, by tag
    rows: Vec<Option<Row>>,
}

/// The constant parts of the path, one way.
#[derive(Debug)]
struct Latencies {
    host: Time,
    device: Time,
    flight: Time,
    /// from room in a receive buffer to the credit's arrival at the sender: one flit back
    credit: Time,
    link: LinkSpec,
}

/// An access in flight.
#[derive(Clone, Copy, Debug)]
struct Row {
    dpa: Dpa,
    kind: AccessKind,
    /// given by the home agent; after that the start of the wait that it is in [ps]
    since: Time,
    /// when it had its root port entries [ps]
    admitted: Time,
    /// when its last flit was in the device [ps]
    reached: Time,
    /// when it had its queue entry [ps]
    issued: Time,
    /// what its response reports
    load: DevLoad,
}

impl Expander {
    /// A path at rest; `errors` decides which flits fail.
    ///
    /// # Errors
    /// What [`ExpanderSpec::check`] finds.
    pub fn new(spec: &ExpanderSpec, mut errors: Stream) -> Result<Expander, CxlError> {
        spec.check()?;
        let (link, clock) = (&spec.link, spec.link.flit_clock());
        let mut direction = |name| Wire::new(link, Stream::new(errors.next_u64(), name));
        Ok(Expander {
            latency: Latencies {
                host: spec.root_port.latency(),
                device: *spec.device.protocol_latency,
                flight: *link.flight,
                credit: clock.flits(1) + *link.flight,
                link: link.clone(),
            },
            root_port: RootPort::new(&spec.root_port, spec.throttle.as_ref()),
            credits: ByKind::new(Gate::new(*spec.device.req_credits), Gate::new(*spec.device.rwd_credits)),
            m2s: direction("m2s"),
            device: Device::new(&spec.device, &spec.root_port),
            s2m: direction("s2m"),
            rows: Vec::new(),
        })
    }

    /// The home agent hands over an access.
    pub fn arrive<D: Driver>(&mut self, now: Time, access: Access, driver: &mut D) {
        let Access { dpa, kind, tag } = access;
        let index = tag.0 as usize;
        if index >= self.rows.len() {
            self.rows.resize(index + 1, None);
        }
        let row = Row { dpa, kind, since: now, admitted: now, reached: now, issued: now, load: DevLoad::Light };
        assert!(self.rows[index].replace(row).is_none(), "{tag:?} is in flight");
        self.root_port.join(tag, kind);
        if self.admit(now, driver) != Some(tag) {
            self.root_port.stats.full.increment();
        }
    }

    /// An event of this path is due.
    pub fn wake<D: Driver>(&mut self, now: Time, wake: Wake, driver: &mut D) {
        match wake {
            Wake::RootPort => {
                self.admit(now, driver);
            }
            Wake::Pack(tag) => self.pack(now, tag, driver),
            Wake::Credit(kind) => self.credit(now, kind, driver),
            Wake::Device(tag) => self.receive(now, tag, driver),
            Wake::Queue(kind) => self.queue(now, kind, driver),
            Wake::Respond(tag) => {
                let kind = self.row(tag).kind;
                self.respond(now, tag, driver);
                self.responses(now, kind, driver);
            }
        }
    }

    /// The link as its file describes it.
    #[must_use]
    pub fn link(&self) -> &LinkSpec {
        &self.latency.link
    }

    /// The link is trained anew, with fewer lanes or at a lower rate; both directions rest meanwhile.
    ///
    /// # Errors
    /// `CXL021` where that is more than the link has.
    pub fn retrain(&mut self, now: Time, lanes: Lanes, rate: LinkRate) -> Result<(), CxlError> {
        let link = &self.latency.link;
        link.check_retraining(lanes, rate)?;
        let clock = FlitClock::new(lanes, rate, *link.encoding);
        self.latency.credit = clock.flits(1) + self.latency.flight;
        self.m2s.retrain(now + RECOVERY, clock);
        self.s2m.retrain(now + RECOVERY, clock);
        Ok(())
    }

    /// The media has read or written the line.
    pub fn media_done<D: Driver>(&mut self, now: Time, tag: Tag, driver: &mut D) {
        driver.stamp(tag, Stage::Media, now);
        let kind = self.row(tag).kind;
        let load = self.device.report_load(now, kind);
        let row = self.row(tag);
        (row.load, row.since) = (load, now);
        self.device.responses.of(kind).join(tag);
        self.responses(now, kind, driver);
    }

    /// Counts so far; `elapsed` is the time they are a share of.
    #[must_use]
    pub fn stats(&self, elapsed: Time) -> ExpanderStats {
        let wire = |wire: &Wire| WireReport::new(wire.stats(), wire.busy(), elapsed);
        ExpanderStats {
            root_port: RootPortReport::new(self.root_port.stats.clone(), elapsed),
            m2s: wire(&self.m2s),
            device: DeviceReport::new(self.device.stats.clone(), elapsed),
            s2m: wire(&self.s2m),
        }
    }

    /// Let counts begin here.
    pub fn clear_stats(&mut self) {
        self.root_port.stats = Default::default();
        self.device.stats = Default::default();
        self.m2s.clear_stats();
        self.s2m.clear_stats();
    }

    /// Every buffer as it is at `now`; for a watchdog, and for the laws of conservation.
    #[must_use]
    pub fn occupancy(&self, now: Time) -> Occupancy {
        use AccessKind::{Read, Write};
        let (request_fifo, response_fifo) = self.root_port.occupied(now);
        Occupancy {
            request_fifo,
            response_fifo,
            req_credits: self.credits.at(Read).occupied(now),
            rwd_credits: self.credits.at(Write).occupied(now),
            read_queue: self.device.queues.at(Read).occupied(now),
            write_queue: self.device.queues.at(Write).occupied(now),
            drs_credits: self.device.responses.at(Read).occupied(now),
            ndr_credits: self.device.responses.at(Write).occupied(now),
        }
    }

    /// Admit as many as have entries: the last of them.
    fn admit<D: Driver>(&mut self, now: Time, driver: &mut D) -> Option<Tag> {
        let mut last = None;
        while let Some(tag) = self.root_port.admit(now) {
            let row = self.rows[tag.0 as usize].as_mut().expect("the tag is in flight");
            self.root_port.stats.wait.record(now - row.since);
            row.admitted = now;
            driver.stamp(tag, Stage::RootPortQueue, now);
            driver.wake(now + self.latency.host, Wake::Pack(tag));
            last = Some(tag);
        }
        self.wake_root_port(now, driver);
        last
    }

    fn pack<D: Driver>(&mut self, now: Time, tag: Tag, driver: &mut D) {
        driver.stamp(tag, Stage::HostOut, now);
        let row = self.row(tag);
        row.since = now;
        let kind = row.kind;
        if self.credits.of(kind).enter(now, tag) {
            self.send(now, tag, driver);
            return;
        }
        match kind {
            AccessKind::Read => self.root_port.stats.req_credit_waits.increment(),
            AccessKind::Write => self.root_port.stats.rwd_credit_waits.increment(),
        }
        self.wake_credit(now, kind, driver);
    }

    fn credit<D: Driver>(&mut self, now: Time, kind: AccessKind, driver: &mut D) {
        while let Some(tag) = self.credits.of(kind).admit(now) {
            let since = self.row(tag).since;
            self.root_port.stats.credit_wait.record(now - since);
            self.send(now, tag, driver);
        }
        self.wake_credit(now, kind, driver);
    }

    /// The message has its credit: on the wire, and to the device.
    fn send<D: Driver>(&mut self, now: Time, tag: Tag, driver: &mut D) {
        let Row { kind, admitted, .. } = *self.row(tag);
        let class = Class::request(kind);
        let sent = self.m2s.send(now, class);
        self.root_port.request_sent(sent);
        self.root_port.stats.request_fifo.record(sent - admitted);
        self.wake_root_port(now, driver);
        let reached = sent + self.latency.flight;
        self.row(tag).reached = reached;
        driver.stamp(tag, Stage::LinkM2s, reached);
        driver.wake(reached + self.latency.link.after_arrival(self.latency.device, class), Wake::Device(tag));
    }

    fn receive<D: Driver>(&mut self, now: Time, tag: Tag, driver: &mut D) {
        driver.stamp(tag, Stage::DeviceIn, now);
        let row = self.row(tag);
        row.since = now;
        let kind = row.kind;
        let entered = self.device.queues.of(kind).enter(now, tag);
        self.device.received(kind, !entered);
        if entered {
            self.issue(now, tag, driver);
        } else {
            self.wake_queue(now, kind, driver);
        }
    }

    fn queue<D: Driver>(&mut self, now: Time, kind: AccessKind, driver: &mut D) {
        while let Some(tag) = self.device.queues.of(kind).admit(now) {
            self.issue(now, tag, driver);
        }
        self.wake_queue(now, kind, driver);
    }

    /// The request has its queue entry: its credit goes back, the media takes it.
    fn issue<D: Driver>(&mut self, now: Time, tag: Tag, driver: &mut D) {
        driver.stamp(tag, Stage::DeviceQueue, now);
        let row = self.row(tag);
        row.issued = now;
        let Row { dpa, kind, since, .. } = *row;
        self.device.stats.queue_wait.record(now - since);
        let back = now + self.latency.credit;
        self.credits.of(kind).give_back(back);
        self.wake_credit(now, kind, driver);
        driver.media(now, dpa, kind, tag);
    }

    /// Send the responses that have a credit when they are through the protocol; those whose credit is known to
    /// come back later are sent when it does. Every response comes to the wire one protocol latency after the
    /// event that sends it, and so in order.
    fn responses<D: Driver>(&mut self, now: Time, kind: AccessKind, driver: &mut D) {
        let ready = now + self.latency.device;
        while let Some((tag, credit)) = self.device.responses.of(kind).admit_ahead(ready) {
            if credit > ready {
                driver.wake(credit - self.latency.device, Wake::Respond(tag));
            } else {
                self.respond(now, tag, driver);
            }
        }
    }

    /// The response has its credit: through the protocol, on the wire, and home.
    fn respond<D: Driver>(&mut self, now: Time, tag: Tag, driver: &mut D) {
        let row = self.rows[tag.0 as usize].take().expect("the tag is in flight");
        let (kind, class) = (row.kind, Class::response(row.kind));
        if now > row.since {
            self.device.waited_for_credit(kind);
        }
        let sent = self.s2m.send(now + self.latency.device, class);
        self.device.sent(sent, kind, row.reached, row.issued);
        self.wake_queue(now, kind, driver);

        let arrived = sent + self.latency.flight;
        self.device.responses.of(kind).give_back(arrived + self.latency.credit);
        driver.stamp(tag, Stage::LinkS2m, arrived);

        let done = arrived + self.latency.link.after_arrival(self.latency.host, class);
        driver.stamp(tag, Stage::HostIn, done);
        driver.done(done, tag);
        self.root_port.response_done(done, kind, row.load);
        if kind == AccessKind::Read {
            self.root_port.stats.response_fifo.record(done - row.admitted);
        }
        self.wake_root_port(now, driver);
    }

    fn wake_root_port<D: Driver>(&mut self, now: Time, driver: &mut D) {
        if let Some(at) = self.root_port.next_wake(now) {
            driver.wake(at, Wake::RootPort);
        }
    }

    fn wake_credit<D: Driver>(&mut self, now: Time, kind: AccessKind, driver: &mut D) {
        if let Some(at) = self.credits.of(kind).next_wake(now) {
            driver.wake(at, Wake::Credit(kind));
        }
    }

    fn wake_queue<D: Driver>(&mut self, now: Time, kind: AccessKind, driver: &mut D) {
        if let Some(at) = self.device.queues.of(kind).next_wake(now) {
            driver.wake(at, Wake::Queue(kind));
        }
    }

    fn row(&mut self, tag: Tag) -> &mut Row {
        self.rows[tag.0 as usize].as_mut().expect("the tag is in flight")
    }
}
