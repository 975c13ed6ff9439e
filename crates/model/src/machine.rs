//! The machine: its fields are the block diagram.
//!
//! ```text
//!   cores --requests--> home: LLC, which node? --+--> node dram: channels
//!     ^                 table of requests        +--> node cxl: root port, link, device --> channels behind it
//!     |                                          +--> socket link --> remote home --> a node of the other socket
//!     +------------------- fills ----------------+
//! ```
//!
//! The event loop: an event belongs to a core, to the home agents, or to the fabric. A read of DRAM costs four events
//! (home, memory, answer, fill) and those of its channel. A CXL read costs four more, the other socket three.
//! A core goes on at an event, and stops before the next. So no core runs past what another does.
//! Not modelled: cores of the other socket.

mod build;
mod checks;
mod core_loads;
mod event;
mod host_files;
mod memory_side;
mod pages;
mod pauses;
mod retraining;
mod runnable;
mod shared;
mod timeline;
mod warming;

use cxlab_kernel::statistic::Entry;
use cxlab_kernel::{EventQueue, Time, order};
use rustc_hash::FxHashMap;

use self::host_files::HostFiles;
use self::pauses::Pauses;
use self::runnable::Runnable;
use crate::config::{HostSpec, MachineSpec};
use crate::core::{Core, Pause, Uncore};
use crate::drive::{Command, Drive};
use crate::error::ModelError;
use crate::fabric::ExpanderStats;
use crate::feed::Feeds;
use crate::home::{self, AddressRange, NodeStats, Region, SocketLinkStats, StageTimes};
use crate::media::Memory;
use crate::media::dram::ChannelStats;
use crate::request::{CoreId, NodeId, Op, Request, RequestKey};
use crate::translation::{PageId, PageTables};

pub use core_loads::CoreLoads;
pub use retraining::Retraining;
pub use timeline::Timeline;

pub(crate) use event::Event;
pub(crate) use shared::Shared;

/// Statistics of one of a node's ways since counting began.
pub struct PortStats {
    /// root port, links, device
    pub expander: Option<ExpanderStats>,
    pub channels: Vec<ChannelStats>,
    /// the drive behind the device's cache, if there is one
    pub flash: Option<Vec<Entry>>,
}

/// A machine at a moment of its time.
#[derive(Clone)]
pub struct Machine {
    spec: MachineSpec,
    cores: Vec<Core>,
    pauses: Pauses,
    /// statistics are of the time since
    since: Time,
    /// and until then; `None` while counting goes on
    until: Option<Time>,
    /// what is shown of a window of time, if somebody asked
    timeline: Option<Box<Timeline>>,
    /// what is checked, if somebody asked
    checks: Option<Box<checks::Checks>>,
    /// there is a timeline, or there are checks
    watched: bool,
    /// the loads of each core that reached a memory: how many, and where their time went
    loads: Vec<CoreLoads>,
    /// a page that a warming access named, and that is not there
    missing_page: Option<PageId>,
    shared: Shared,
}

/// Why [`Machine::go`] came back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// a core has answered a question of its feed
    Answered,
    /// this core lacks its next step, and nothing can happen before it
    Starved(CoreId),
    /// all cores wait for an interrupt, or have ended
    Asleep,
    /// all programs have ended
    Ended,
}

/// Action of the machine if a core lacks its next step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lacking {
    /// come back at once and ask for it
    Stop,
    /// go on as far as that core has come, because whoever would tell waits for an answer
    Before,
}

impl Machine {
    /// A machine at rest with `cores` cores, whose nodes are at these host physical addresses.
    pub fn new(spec: MachineSpec, cores: u16, ranges: &[AddressRange]) -> Result<Machine, ModelError> {
        let each = vec![spec.host.clone(); usize::from(cores)];
        Machine::with_cores(spec, &each, ranges)
    }

    /// As [`Machine::new`], with the CXL regions that Linux committed beside the ranges of its firmware.
    pub fn with_regions(
        spec: MachineSpec,
        cores: u16,
        ranges: &[AddressRange],
        regions: &[Region],
    ) -> Result<Machine, ModelError> {
        let each = vec![spec.host.clone(); usize::from(cores)];
        Machine::build(spec, &each, ranges, regions)
    }

    /// As [`Machine::new`], with cores that may differ, each as this host has it.
    pub fn with_cores(spec: MachineSpec, cores: &[HostSpec], ranges: &[AddressRange]) -> Result<Machine, ModelError> {
        Machine::build(spec, cores, ranges, &[])
    }

    fn build(
        spec: MachineSpec,
        cores: &[HostSpec],
        ranges: &[AddressRange],
        regions: &[Region],
    ) -> Result<Machine, ModelError> {
        order::forget();
        let inconsistent = |cause| ModelError::Inconsistent { file: spec.name.clone(), cause };
        let core = |(id, host): (u16, &HostSpec)| Core::new(CoreId(id), host.core_parts()).map_err(inconsistent);
        let cores = (0..).zip(cores).map(core).collect::<Result<Vec<_>, _>>()?;
        let (home, fabric) = build::memory_system(&spec, cores.len() as u16, ranges, regions).map_err(inconsistent)?;
        let pauses = Pauses::new(cores.len());
        let loads = vec![CoreLoads::default(); cores.len()];
        let tables = PageTables::Told(FxHashMap::default());
        let drive = spec.drive.as_ref().map(Drive::new).transpose().map_err(|error| inconsistent(error.to_string()))?;
        let (queue, resumes) = (EventQueue::new(), vec![None; cores.len()]);
        let runnable = Runnable::new(home.shortest_way());
        let mut shared = Shared {
            queue,
            home,
            fabric,
            tables,
            drive,
            host_files: HostFiles::default(),
            resumes,
            runnable,
            touched: None,
        };
        // Each begins with an event, so none runs past the first request of another.
        (0..cores.len() as u16).for_each(|core| shared.resume(CoreId(core), Time::ZERO));
        let (since, until, timeline, checks, watched, missing_page) = (Time::ZERO, None, None, None, false, None);
        Ok(Machine { cores, pauses, since, until, timeline, checks, watched, loads, missing_page, shared, spec })
    }

    /// A copy of a machine that another thread has made goes on in this thread, whose order of time begins here.
    pub fn goes_on_here(&self) {
        order::forget();
    }

    /// The guest has asked its disk: the drive will know this number.
    ///
    /// # Errors
    /// `RUN003` where a line has no memory; a stream asks a machine without a drive for nothing.
    pub fn tell_drive(&mut self, number: u32, command: Command) -> Result<(), ModelError> {
        let Shared { home, drive, .. } = &mut self.shared;
        let none = || ModelError::Stream { cause: "it asks a disk, and this machine has no drive".into() };
        for line in command.lines() {
            home.check(line)?;
        }
        let is_new = drive.as_mut().ok_or_else(none)?.tell(number, command);
        if is_new {
            return Ok(());
        }
        Err(ModelError::Stream { cause: format!("it asks the disk twice under number {number}") })
    }

    /// Numbers of the requests to devices that were done since this was last asked.
    pub fn take_requests_done(&mut self) -> Vec<u32> {
        let mut news = self.shared.drive.as_mut().map_or_else(Vec::new, Drive::take_news);
        news.extend(self.shared.host_files.done.take_news());
        news
    }

    /// Warming has passed: what devices had under way was answered there.
    pub fn warming_has_passed(&mut self) {
        self.shared.host_files.answered_meanwhile();
        if let Some(drive) = &mut self.shared.drive {
            drive.answered_meanwhile();
        }
    }

    /// The drive under the guest's disk, if there is one.
    #[must_use]
    pub fn drive(&self) -> Option<&Drive> {
        self.shared.drive.as_ref()
    }

    /// Run each core on its feed until all have ended; `look` sees the machine at sync points.
    pub fn run<F: Feeds + ?Sized>(
        &mut self,
        feeds: &mut F,
        mut look: impl FnMut(&Machine) -> Result<(), ModelError>,
    ) -> Result<(), ModelError> {
        loop {
            match self.go(feeds, Lacking::Stop)? {
                Stop::Answered => look(self)?,
                Stop::Starved(_) | Stop::Asleep => return Err(self.deadlock()),
                Stop::Ended => return Ok(()),
            }
        }
    }

    /// Run each core on its feed until there is something to do outside of the machine.
    pub fn go<F: Feeds + ?Sized>(&mut self, feeds: &mut F, lacking: Lacking) -> Result<Stop, ModelError> {
        assert_eq!(feeds.count(), self.cores.len(), "a feed for each core");
        loop {
            // A pause changes only when a core runs: most events make none ready.
            if self.shared.runnable.is_empty() && self.pauses.is_any_to_be_resumed() {
                self.next_event()?;
                continue;
            }
            if let Some(stop) = self.run_ready(feeds, lacking)? {
                return Ok(stop);
            }
            if self.pauses.have_all_ended() {
                return time_went_on().map(|()| Stop::Ended);
            }
            if !self.pauses.is_any_to_be_resumed() {
                // The guest says which core is woken first.
                for core in self.pauses.halted() {
                    self.shared.runnable.push(core, self.cores[core].next_slot());
                }
                return Ok(Stop::Asleep);
            }
            self.next_event()?;
        }
    }

    /// Run each core on its feed until the events up to `until` have happened; feeds that end before then stay so.
    pub fn run_until<F: Feeds + ?Sized>(&mut self, feeds: &mut F, until: Time) -> Result<(), ModelError> {
        self.run_all_ready(feeds)?;
        while self.shared.queue.next_at().is_some_and(|at| at <= until) {
            self.next_event()?;
            self.run_all_ready(feeds)?;
        }
        if self.shared.queue.is_empty() && self.pauses.blocked().is_some() {
            return Err(self.deadlock());
        }
        time_went_on()
    }

    /// Let everything come to its end that is under way.
    pub fn drain<F: Feeds + ?Sized>(&mut self, feeds: &mut F) -> Result<(), ModelError> {
        while !self.shared.queue.is_empty() {
            self.next_event()?;
            self.run_all_ready(feeds)?;
        }
        time_went_on()
    }

    /// When the last event was.
    #[must_use]
    pub fn last_event(&self) -> Time {
        self.shared.queue.now()
    }

    /// Runs the cores up to the next event, the first answer, or a core that lacks its next step. No other core may
    /// run past that one.
    fn run_ready<F: Feeds + ?Sized>(&mut self, feeds: &mut F, lacking: Lacking) -> Result<Option<Stop>, ModelError> {
        while let Some(core) = self.shared.runnable.begin() {
            match self.cores[core].run(&mut feeds.of(core), &mut self.shared)? {
                Pause::Answered => return Ok(Some(Stop::Answered)),
                Pause::Wakes(woken) => self.wake(core, usize::from(woken.0)),
                Pause::Starved => {
                    let at = self.cores[core].next_slot();
                    if lacking == Lacking::Stop || at <= self.shared.queue.now() {
                        return Ok(Some(Stop::Starved(CoreId(core as u16))));
                    }
                    self.pauses.set(core, Pause::Behind);
                    self.shared.ask(CoreId(core as u16), at);
                    self.shared.runnable.end();
                }
                pause => {
                    self.pauses.set(core, pause);
                    self.shared.runnable.end();
                }
            }
        }
        Ok(None)
    }

    /// Most events make no core ready.
    #[inline]
    fn run_all_ready<F: Feeds + ?Sized>(&mut self, feeds: &mut F) -> Result<(), ModelError> {
        if self.shared.runnable.is_empty() {
            return Ok(());
        }
        while let Some(stop) = self.run_ready(feeds, Lacking::Stop)? {
            if matches!(stop, Stop::Starved(_)) {
                return Err(self.deadlock());
            }
        }
        Ok(())
    }

    /// `by` has woken a core, at its own time. That is an event, so `by` does not run past what the other does next.
    fn wake(&mut self, by: usize, woken: usize) {
        let at = self.cores[by].now();
        let now = self.shared.queue.now();
        if self.cores[woken].end_halt(at, now) {
            self.shared.runnable.remove(woken);
            self.resume(woken, self.cores[woken].next_slot().max(now));
        }
    }

    /// Lets a core go on at `at`, behind the events until then.
    fn resume(&mut self, core: usize, at: Time) {
        self.pauses.set(core, Pause::Behind);
        self.shared.resume(CoreId(core as u16), at);
    }

    /// The question that `core` has taken and not answered is withdrawn.
    pub fn withdraw(&mut self, core: usize) {
        self.cores[core].withdraw();
    }

    #[inline]
    fn next_event(&mut self) -> Result<(), ModelError> {
        let Some((now, event)) = self.shared.queue.pop() else { return Err(self.deadlock()) };
        if self.watched {
            self.watch(now, event)?;
        }
        match event {
            Event::Resume(core) | Event::Ask(core) => {
                if let Some(from) = self.shared.resumes(core, now) {
                    self.shared.runnable.push(usize::from(core.0), from);
                }
            }
            Event::Home(home::Event::Fill(key)) => {
                let core = self.fill(now, key)?;
                self.unblock(core, now);
            }
            Event::Home(home::Event::Pulled(core)) => self.cores[usize::from(core.0)].pulled(now, &mut self.shared),
            Event::Home(event) => {
                let (home, mut around) = self.shared.at_home(&mut self.cores);
                home.step(now, event, &mut around);
                if let Some(core) = around.goes_on {
                    self.unblock(usize::from(core.0), now);
                }
            }
            Event::Fabric(due) => self.shared.step_fabric(now, due),
            Event::Drive(due) => {
                for line in self.shared.step_drive(now, due) {
                    self.forget(line);
                }
            }
            Event::File(number) => self.shared.host_files.finish(now, number),
            Event::Dma(page, kind) => {
                for line in self.shared.move_page(now, page, kind) {
                    self.forget(line);
                }
            }
            Event::Retrain(way, lanes, rate) => {
                self.shared.fabric.retrain(now, way, lanes, rate).expect("checked when it was scheduled");
            }
        }
        Ok(())
    }

    /// A core that waits for a request looks whether it goes on.
    #[inline]
    fn unblock(&mut self, core: usize, now: Time) {
        if matches!(self.pauses.of(core), Pause::Blocked(_)) {
            self.shared.runnable.push(core, now);
        }
    }

    /// The machine before an event happens, for those who asked to see it.
    #[cold]
    fn watch(&mut self, now: Time, event: Event) -> Result<(), ModelError> {
        if let Some(timeline) = &mut self.timeline {
            timeline.look(now, &self.cores, &self.shared);
        }
        self.check(now, event)
    }

    /// Let statistics of cores, nodes, ports and links begin here.
    pub fn clear_stats(&mut self, now: Time) {
        self.check_before_clear(now);
        self.since = now;
        self.loads.fill(CoreLoads::default());
        self.cores.iter_mut().for_each(Core::clear_stats);
        self.shared.home.clear_stats();
        self.shared.fabric.clear_stats();
        self.shared.fabric.all_media().iter_mut().for_each(Memory::clear_stats);
        if let Some(drive) = &mut self.shared.drive {
            drive.clear_stats();
        }
        self.check_after_clear();
    }

    fn fill(&mut self, now: Time, key: RequestKey) -> Result<usize, ModelError> {
        let (request, latency) = self.shared.home.finish(now, key, &mut self.shared.queue);
        let core = usize::from(request.core().0);
        if let Some(timeline) = &mut self.timeline {
            timeline.request(&request, now);
        }
        if request.op == Op::Load {
            let loads = &mut self.loads[core];
            if request.to_memory { loads.count(&request) } else { loads.count_llc(&request, latency) }
        }
        self.cores[core].fill(&request, latency, now, &mut self.shared)?;
        Ok(core)
    }

    fn deadlock(&self) -> ModelError {
        let waits = self.pauses.blocked();
        let oldest = self.shared.home.requests().min_by_key(|request| request.born());
        ModelError::Deadlock {
            who: waits.map_or("a core".into(), |(core, pause)| format!("core {core} ({pause:?})")),
            what: oldest.map_or("nothing that is under way".into(), |request| format!("{request:?}")),
            since: oldest.map_or(self.shared.queue.now(), Request::born),
        }
    }

    #[must_use]
    pub fn spec(&self) -> &MachineSpec {
        &self.spec
    }

    #[must_use]
    pub fn cores(&self) -> &[Core] {
        &self.cores
    }

    /// The machine's time: that of its foremost core.
    #[must_use]
    pub fn now(&self) -> Time {
        self.cores.iter().map(Core::now).max().unwrap_or(Time::ZERO)
    }

    /// Statistics of each node's memory, and where its loads spent their time, in the order of the nodes.
    pub fn nodes(&self) -> impl Iterator<Item = (&NodeStats, &StageTimes)> {
        self.shared.home.nodes()
    }

    /// Loads of each core that reached a memory.
    #[must_use]
    pub fn loads(&self) -> &[CoreLoads] {
        &self.loads
    }

    /// The time of statistics ends at `until`: what shares of time are shares of.
    pub fn stop_counting(&mut self, until: Time) {
        self.until = Some(until);
    }

    /// The time that statistics are of.
    #[must_use]
    pub fn counted(&self) -> Time {
        self.until.unwrap_or_else(|| self.now()) - self.since
    }

    /// The ports of a node in the order of its devices.
    pub fn ports(&self, node: NodeId) -> impl Iterator<Item = PortStats> {
        let (elapsed, Shared { home, fabric, .. }) = (self.counted(), &self.shared);
        home.ways(node).iter().map(move |way| PortStats {
            expander: fabric.stats(*way, elapsed),
            channels: fabric.media(*way).stats(elapsed),
            flash: fabric.flash(*way).and_then(|flash| flash.flash_report(elapsed)),
        })
    }

    /// Requests that waited for an entry of the home agents' tables, for each node, since the beginning.
    pub fn table_full_events(&self) -> impl Iterator<Item = u64> {
        self.shared.home.tables().map(|of_node| of_node.full_events)
    }

    /// The link to the other socket, if there is one.
    #[must_use]
    pub fn socket_link(&self) -> Option<&SocketLinkStats> {
        self.shared.home.socket_link()
    }

    /// Lines that the LLC had, and had not.
    #[must_use]
    pub fn llc_hits_and_misses(&self) -> (u64, u64) {
        self.shared.home.hits_and_misses()
    }
}

/// A simulation in which time went back has no result.
fn time_went_on() -> Result<(), ModelError> {
    ModelError::of_broken_order().map_or(Ok(()), Err)
}
