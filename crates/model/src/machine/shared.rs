//! The parts of a machine that cores share. A core asks them for lines (home agents) and mappings (page tables).

use cxlab_kernel::{EventQueue, Time};

use super::event::Event;
use crate::addr::Hpa;
use crate::cache::Victim;
use crate::core::Uncore;
use crate::drive::{self, Drive};
use crate::error::ModelError;
use crate::fabric::Fabric;
use crate::home::Home;
use crate::mem::AccessKind;
use crate::request::{CoreId, Evicted, RequestKey, Want};
use crate::translation::{Mapping, PageId, PageTables};

/// Everything that cores share.
#[derive(Clone)]
pub(crate) struct Shared {
    pub(super) queue: EventQueue<Event>,
    pub(super) home: Home,
    pub(super) fabric: Fabric,
    pub(super) tables: PageTables,
    /// under the guest's disk
    pub(super) drive: Option<Drive>,
    /// lines that something has happened to and that are not yet compared, in a run that is checked
    pub(super) touched: Option<Vec<Hpa>>,
}

impl Shared {
    /// Notes a line that an event has changed. A run without checks notes nothing.
    #[inline]
    pub(super) fn touch(&mut self, line: Hpa) {
        if let Some(lines) = &mut self.touched {
            note(lines, line);
        }
    }
}

/// Out of line: a run that is not checked notes nothing.
#[cold]
#[inline(never)]
pub(super) fn note(lines: &mut Vec<Hpa>, line: Hpa) {
    lines.push(line);
}

impl Uncore for Shared {
    fn next_event(&self) -> Option<Time> {
        self.queue.next_at()
    }

    fn resume(&mut self, core: CoreId, at: Time) {
        self.queue.schedule(at, Event::Resume(core));
    }

    fn request(&mut self, want: Want, leaves: Option<Time>) -> Result<RequestKey, ModelError> {
        self.home.request(want, leaves, &mut self.queue)
    }

    #[inline]
    fn expect(&self, victim: Hpa) {
        self.home.expect(victim);
    }

    fn mapping(&self, page: PageId) -> Option<Mapping> {
        self.tables.mapping(page)
    }

    fn congested(&self, line: Hpa, at: Time) -> bool {
        self.home.congested(line, at)
    }

    fn ask_drive(&mut self, number: u32, at: Time) {
        let at = at.max(self.queue.now());
        self.queue.schedule(at, Event::Drive(drive::Due::Begin(number)));
    }

    fn dma(&mut self, page: Hpa, kind: AccessKind, at: Time) {
        let at = at.max(self.queue.now());
        self.queue.schedule(at, Event::Dma(page, kind));
    }

    fn drive_done(&self) -> (u64, Time) {
        self.drive.as_ref().map_or((0, Time::ZERO), Drive::done)
    }

    fn depart(&mut self, key: RequestKey, at: Time) {
        self.home.depart(key, at, &mut self.queue);
    }

    fn victim(&mut self, core: CoreId, victim: Victim, at: Time) {
        self.touch(victim.line);
        self.home.left(victim.line, core);
        self.home.fill_llc(victim, core, at, &mut self.queue);
    }

    fn evict(&mut self, core: CoreId, victim: Victim, at: Time) -> Evicted {
        self.touch(victim.line);
        self.home.left(victim.line, core);
        self.home.make_room(victim, core, at)
    }

    fn pull(&mut self, core: CoreId, evicted: Evicted, at: Time) -> Option<Time> {
        self.home.pull(core, evicted, at, &mut self.queue)
    }

    fn cleaned(&mut self, core: CoreId, line: Hpa, at: Time) {
        self.home.fill_llc(Victim { line, changed: true }, core, at, &mut self.queue);
    }
}
