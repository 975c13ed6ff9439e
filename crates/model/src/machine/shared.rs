//! What cores share, joined: the event queue, the home agents and the fabric, each of which asks of the others here.

use cxlab_kernel::{EventQueue, Key, Slab, Time};

use crate::addr::Hpa;
use crate::cache::{Reference, Snoop, Victim};
use crate::core::{Core, Uncore};
use crate::cxl::{Lanes, LinkRate};
use crate::error::ModelError;
use crate::fabric::{Due, Fabric, WayId};
use crate::home::{self, Home};
use crate::mem::{Access, Driver, Extent, Stage, Tag};
use crate::request::{CoreId, Op, Request, RequestKey};
use crate::translation::{Mapping, PageId, PageTables};

/// What happens next in a machine.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Event {
    /// a core goes on
    Resume(CoreId),
    Home(home::Event),
    Fabric(Due),
    /// the link at the root port of a way is trained anew
    Retrain(WayId, Lanes, LinkRate),
}

/// Everything that cores share.
pub(crate) struct Shared {
    pub(super) queue: EventQueue<Event>,
    pub(super) home: Home,
    pub(super) fabric: Fabric,
    pub(super) tables: PageTables,
}

impl home::Queue for EventQueue<Event> {
    #[inline]
    fn schedule(&mut self, at: Time, event: home::Event) {
        EventQueue::schedule(self, at, Event::Home(event));
    }
}

/// What is around the home agents.
pub(super) struct Around<'a> {
    queue: &'a mut EventQueue<Event>,
    fabric: &'a mut Fabric,
    cores: &'a mut [Core],
}

impl home::Queue for Around<'_> {
    #[inline]
    fn schedule(&mut self, at: Time, event: home::Event) {
        EventQueue::schedule(self.queue, at, Event::Home(event));
    }
}

impl home::Around for Around<'_> {
    fn enter(&mut self, now: Time, way: WayId, access: Access, extent: Extent, requests: &mut Slab<Request>) {
        self.fabric.enter(now, way, access, extent, &mut Desk { queue: self.queue, requests });
    }

    fn snoop(&mut self, core: CoreId, line: Hpa, left: Snoop) -> Option<bool> {
        self.cores[usize::from(core.0)].snoop(line, left)
    }
}

/// Who drives the fabric: its events are the machine's, its stages and its ends those of requests.
struct Desk<'a> {
    queue: &'a mut EventQueue<Event>,
    requests: &'a mut Slab<Request>,
}

impl Driver<Due> for Desk<'_> {
    #[inline]
    fn wake(&mut self, at: Time, wake: Due) {
        self.queue.schedule(at, Event::Fabric(wake));
    }

    #[inline]
    fn stamp(&mut self, tag: Tag, stage: Stage, at: Time) {
        self.requests[Key::from_index(tag.0)].stamp(stage, at);
    }

    #[inline]
    fn done(&mut self, at: Time, tag: Tag) {
        self.queue.schedule(at, Event::Home(home::Event::Answered(Key::from_index(tag.0))));
    }
}

impl Shared {
    /// The home agents, and what is around them.
    pub(super) fn at_home<'a>(&'a mut self, cores: &'a mut [Core]) -> (&'a mut Home, Around<'a>) {
        let Shared { queue, home, fabric, .. } = self;
        (home, Around { queue, fabric, cores })
    }

    pub(super) fn step_fabric(&mut self, now: Time, due: Due) {
        let Shared { queue, home, fabric, .. } = self;
        fabric.wake(now, due, &mut Desk { queue, requests: home.requests_mut() });
    }
}

impl Uncore for Shared {
    fn next_event(&self) -> Option<Time> {
        self.queue.next_at()
    }

    fn resume(&mut self, core: CoreId, at: Time) {
        self.queue.schedule(at, Event::Resume(core));
    }

    fn request(&mut self, by: Reference, line: Hpa, op: Op, born: Time, at: Time) -> Result<RequestKey, ModelError> {
        self.home.request(by, line, op, born, at)
    }

    fn mapping(&self, page: PageId) -> Option<Mapping> {
        self.tables.mapping(page)
    }

    fn congested(&self, line: Hpa, at: Time) -> bool {
        self.home.congested(line, at)
    }

    fn depart(&mut self, key: RequestKey, at: Time) {
        self.home.depart(key, at, &mut self.queue);
    }

    fn victim(&mut self, core: CoreId, victim: Victim, at: Time) {
        self.home.left(victim.line, core);
        self.home.fill_llc(victim, core, at, &mut self.queue);
    }

    fn pull(&mut self, core: CoreId, line: Hpa, at: Time) -> Option<Time> {
        self.home.pull(core, line, at)
    }

    fn cleaned(&mut self, core: CoreId, line: Hpa, at: Time) {
        self.home.fill_llc(Victim { line, changed: true }, core, at, &mut self.queue);
    }
}
