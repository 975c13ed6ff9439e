//! The parts of a machine that cores share. A core asks them for lines (home agents) and mappings (page tables).

use cxlab_kernel::{EventQueue, Time};

use super::event::Event;
use super::host_files::HostFiles;
use super::runnable::Runnable;
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

/// The event at which a core goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Resumption {
    due: Time,
    /// The core does nothing before. It is earlier than the event if the core was behind the others.
    from: Time,
}

/// Everything that cores share.
#[derive(Clone)]
pub(crate) struct Shared {
    pub(super) queue: EventQueue<Event>,
    pub(super) home: Home,
    pub(super) fabric: Fabric,
    pub(super) tables: PageTables,
    /// under the guest's disk
    pub(super) drive: Option<Drive>,
    pub(super) host_files: HostFiles,
    /// when each core goes on that waits for a time
    pub(super) resumes: Vec<Option<Resumption>>,
    /// cores that go on before the next event
    pub(super) runnable: Runnable,
    /// lines that something has happened to and that are not yet compared, in a run that is checked
    pub(super) touched: Option<Vec<Hpa>>,
}

impl Shared {
    /// Whether this event is the core's: of several times to go on at, the one that was said last counts. One that halts,
    /// lacks its next step and is then woken has two. Both would ask for the next event, which is the other, for ever.
    /// Returns the time from which it goes on.
    pub(super) fn resumes(&mut self, core: CoreId, now: Time) -> Option<Time> {
        self.resumes[usize::from(core.0)].take_if(|resumption| resumption.due == now).map(|resumption| resumption.from)
    }

    /// Asks a core again for its next step, at `at`. No other goes on past this time: what it waits for may come first.
    pub(super) fn ask(&mut self, core: CoreId, at: Time) {
        self.resumes[usize::from(core.0)] = Some(Resumption { due: at, from: at });
        self.queue.schedule(at, Event::Ask(core));
    }

    /// Whether the first of the runnable cores has to wait before it acts at `at`. Others that go on before then become
    /// runnable behind it.
    #[cold]
    #[inline(never)]
    fn gives_way(&mut self, first: CoreId, at: Time) -> bool {
        while let Some(due) = self.queue.next_at().filter(|due| *due < at) {
            let Some(Event::Resume(core)) = self.queue.next() else { return true };
            let from = self.resumes[usize::from(core.0)].filter(|resumption| resumption.due == due);
            if core == first || from.is_some_and(|resumption| !self.runnable.lets_pass(resumption.from, at)) {
                return true;
            }
            self.queue.pop();
            if let Some(from) = self.resumes(core, due) {
                self.runnable.push(usize::from(core.0), from);
            }
        }
        self.runnable.is_too_far(at)
    }

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
        let due = self.queue.next_at();
        match self.runnable.others_go_on() {
            Some(at) => Some(due.map_or(at, |due| due.min(at))),
            None => due,
        }
    }

    fn last_event(&self) -> Time {
        self.queue.now()
    }

    fn next_work(&self) -> Option<Time> {
        let works_alone = |event: &Event| match event {
            Event::Drive(_) | Event::File(_) => true,
            Event::Fabric(due) => self.fabric.is_of_flash(*due),
            _ => false,
        };
        let is_quiet = self.runnable.others_go_on().is_none() && self.home.requests().next().is_none();
        if is_quiet && self.queue.iter().all(works_alone) { None } else { self.next_event() }
    }

    fn is_ahead(&self, at: Time) -> bool {
        self.runnable.others_go_on().is_some_and(|others| others < at)
    }

    #[inline]
    fn has_to_wait(&mut self, core: CoreId, at: Time) -> bool {
        let is_due = self.queue.next_at().is_some_and(|due| due < at);
        (is_due || self.runnable.is_too_far(at)) && self.gives_way(core, at)
    }

    fn resume(&mut self, core: CoreId, at: Time) {
        // A core that is behind the others goes on as soon as they have come to their events.
        let due = at.max(self.queue.now());
        self.resumes[usize::from(core.0)] = Some(Resumption { due, from: at });
        self.queue.schedule(due, Event::Resume(core));
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

    fn ask_file(&mut self, number: u32, at: Time) {
        self.host_files.ask(number);
        let at = at.max(self.queue.now());
        self.queue.schedule(at, Event::File(number));
    }

    fn requests_done(&self) -> (u64, Time) {
        let (by_drive, last) = self.drive.as_ref().map_or((0, Time::ZERO), Drive::done);
        let (by_host, last_by_host) = self.host_files.done.count();
        (by_drive + by_host, last.max(last_by_host))
    }

    fn depart(&mut self, key: RequestKey, at: Time) {
        self.home.depart(key, at, &mut self.queue);
    }

    fn victim(&mut self, core: CoreId, victim: Victim, at: Time) {
        self.touch(victim.line);
        self.home.left(victim.line, core);
        self.home.fill_llc(victim, core, at.max(self.queue.now()), &mut self.queue);
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
        self.home.fill_llc(Victim { line, changed: true }, core, at.max(self.queue.now()), &mut self.queue);
    }
}

#[cfg(test)]
mod tests {
    use cxlab_kernel::Time;

    use crate::config::MachineSpec;
    use crate::core::Uncore;
    use crate::home::AddressRange;
    use crate::machine::Machine;
    use crate::machine::event::Event;
    use crate::request::CoreId;

    const GIB: u64 = 1 << 30;

    #[test]
    fn a_core_goes_on_at_the_time_that_was_said_last() {
        let ranges = [0, 1].map(|node: u16| AddressRange { start: u64::from(node) * GIB, length: GIB, node });
        let mut machine = Machine::new(MachineSpec::load("8468v-asic").unwrap(), 1, &ranges).unwrap();
        let shared = &mut machine.shared;
        // Its beginning.
        shared.queue.pop();
        let times = [30, 10, 20].map(Time::from_ns);
        times.iter().for_each(|at| shared.resume(CoreId(0), *at));
        let mut found = Vec::new();
        while let Some((now, Event::Resume(core))) = shared.queue.pop() {
            found.push((now, shared.resumes(core, now).is_some()));
        }
        assert_eq!(found, [(times[1], false), (times[2], true), (times[0], false)]);
        // Two events of one time make it ready once.
        let again = Time::from_ns(40);
        (0..2).for_each(|_| shared.resume(CoreId(0), again));
        assert_eq!([(); 2].map(|()| shared.resumes(CoreId(0), again)), [Some(again), None]);
    }
}
