//! Joins the home agents to the fabric behind them, and to the cores that they snoop.
//!
//! ```text
//!   home agent --enter--> fabric      the fabric stamps the request, and its end is the event Answered
//!   home agent --snoop, order--> core
//!   drive --enter--> fabric           the end of a line is an event of the drive
//!   DMA --enter--> fabric             nobody waits for the end of a line
//! ```

use cxlab_kernel::{EventQueue, Key, Slab, Time};

use super::event::Event;
use super::shared::{Shared, note};
use crate::addr::{Hpa, LINE_BYTES, LINES_PER_PAGE};
use crate::cache::Snoop;
use crate::core::Core;
use crate::drive;
use crate::fabric::{Due, Fabric, WayId};
use crate::home::{self, Home};
use crate::mem::{Access, AccessKind, Driver, Extent, Stage, Tag};
use crate::request::{CoreId, Request};

/// The surroundings of the home agents.
pub(super) struct Around<'a> {
    queue: &'a mut EventQueue<Event>,
    fabric: &'a mut Fabric,
    cores: &'a mut [Core],
    /// where lines that are snooped are noted, in a run that is checked
    touched: &'a mut Option<Vec<Hpa>>,
    /// a core that waited for the ownership of a line to be ordered, which it is
    pub(super) goes_on: Option<CoreId>,
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
        if let Some(lines) = self.touched {
            note(lines, line);
        }
        self.cores[usize::from(core.0)].snoop(line, left)
    }

    fn orders(&mut self, core: CoreId, line: Hpa) {
        if self.cores[usize::from(core.0)].ordered(line) {
            self.goes_on = Some(core);
        }
    }
}

/// The driver of the fabric. Its events are the machine's. Its stages and its ends are those of requests.
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
        if tag.0 & OF_DRIVE == 0 {
            self.requests[Key::from_index(tag.0)].stamp(stage, at);
        }
    }

    #[inline]
    fn done(&mut self, at: Time, tag: Tag) {
        if tag.0 == OF_NOBODY {
            return;
        }
        let event = match tag.0 & OF_DRIVE {
            0 => Event::Home(home::Event::Answered(Key::from_index(tag.0))),
            _ => Event::Drive(drive::Due::Line(Tag(tag.0 & !OF_DRIVE))),
        };
        self.queue.schedule(at, event);
    }
}

/// Tells a line of the drive from a request of the home agents in a tag.
const OF_DRIVE: u32 = 1 << 31;
/// A line whose end nobody waits for.
const OF_NOBODY: u32 = u32::MAX;

/// The surroundings of the drive: its events are the machine's, its lines enter the fabric.
struct AtDrive<'a> {
    home: &'a mut Home,
    fabric: &'a mut Fabric,
    queue: &'a mut EventQueue<Event>,
}

impl drive::Around for AtDrive<'_> {
    fn wake(&mut self, at: Time, due: drive::Due) {
        self.queue.schedule(at, Event::Drive(due));
    }

    fn access(&mut self, now: Time, line: Hpa, kind: AccessKind, tag: Tag) {
        let (way, dpa) = self.home.way_of(line);
        let access = Access { dpa, kind, tag: Tag(tag.0 | OF_DRIVE) };
        let mut desk = Desk { queue: self.queue, requests: self.home.requests_mut() };
        self.fabric.enter(now, way, access, Extent::Line, &mut desk);
    }
}

impl Shared {
    /// The home agents, and what is around them.
    pub(super) fn at_home<'a>(&'a mut self, cores: &'a mut [Core]) -> (&'a mut Home, Around<'a>) {
        let Shared { queue, home, fabric, touched, .. } = self;
        (home, Around { queue, fabric, cores, touched, goes_on: None })
    }

    /// The drive goes on. The lines that memory has anew.
    pub(super) fn step_drive(&mut self, now: Time, due: drive::Due) -> Vec<Hpa> {
        let Shared { queue, home, fabric, drive, .. } = self;
        let drive = drive.as_mut().expect("only a drive asks to be woken");
        drive.step(now, due, &mut AtDrive { home, fabric, queue })
    }

    /// A device moves a page. The lines that memory has anew.
    pub(super) fn move_page(&mut self, now: Time, page: Hpa, kind: AccessKind) -> impl Iterator<Item = Hpa> + use<> {
        let lines = move || (0..LINES_PER_PAGE).map(move |number| Hpa::new(page.get() + number * LINE_BYTES));
        let Shared { queue, home, fabric, .. } = self;
        let mut around = AtDrive { home, fabric, queue };
        for line in lines() {
            drive::Around::access(&mut around, now, line, kind, Tag(OF_NOBODY));
        }
        lines().filter(move |_| kind == AccessKind::Write)
    }

    pub(super) fn step_fabric(&mut self, now: Time, due: Due) {
        let Shared { queue, home, fabric, .. } = self;
        fabric.wake(now, due, &mut Desk { queue, requests: home.requests_mut() });
    }
}
