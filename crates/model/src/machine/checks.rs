//! Checks: a run that asks for them gives the actions of a machine's parts to checkers that share no code with these
//! parts.
//!
//! ```text
//!   before each event: lines that something has happened to --> Coherence     clocks of queue and cores --> Clock
//!   before every 1,024th, and at the end: logs of channels, flash and links --> JEDEC, cells, Links
//!   with each access: what a TLB serves --> Translations (core/translate.rs)
//!   at the end, when all that was under way is done: nothing is left over
//! ```
//!
//! `crates/model/src/check` and the checkers of the media say what each checker sees, and what it cannot see.

use cxlab_kernel::Time;

use super::event::Event;
use super::shared::Shared;
use super::{Machine, time_went_on};
use crate::addr::Hpa;
use crate::check::{Broken, Checked, Clock, Coherence, Copy, Known, LinkEvent, Links, Wires};
use crate::core::Core;
use crate::error::ModelError;
use crate::home::{self, Presence};
use crate::media::dram::{self, checker};
use crate::media::{Logged, Memory, flash};
use crate::request::{CoreId, NodeId};
use crate::translation::PageId;

/// Events between two looks at the logs. The logs grow by a few entries an event.
const LOGS_EVERY: u64 = 1 << 10;
/// Events of lines between two walks over all private caches. A walk compares about as many lines.
const WALK_EVERY: u64 = 1 << 16;
/// Most lines that wait to be compared while only warming happens.
const MOST_WAITING: usize = 1 << 10;

/// The checkers of a machine.
#[derive(Clone)]
pub(super) struct Checks {
    media: Vec<Medium>,
    links: Links,
    /// for each link, towards the device and towards the host: times at which messages were ready
    wires: Vec<[Clock; 2]>,
    coherence: Coherence,
    walked_at: u64,
    queue: Clock,
    cores: Vec<Clock>,
    events: u64,
    /// the first rule that was broken
    broken: Option<Broken>,
}

/// A memory's checker.
#[derive(Clone)]
enum Medium {
    /// it keeps no log
    Unlogged,
    Dram {
        name: String,
        channels: Vec<(checker::Checker, Clock)>,
        clock: dram::Clock,
    },
    Flash {
        name: String,
        checker: flash::checker::Checker,
        operations: u64,
        dies: Vec<Clock>,
    },
}

impl Medium {
    fn begin(name: String, memory: &mut Memory) -> Medium {
        match memory.logged() {
            None => Medium::Unlogged,
            Some(Logged::Commands(memory)) => {
                memory.keep_log();
                let (checkers, clock) = memory.checkers();
                let channels = checkers.into_iter().map(|checker| (checker, Clock::default())).collect();
                Medium::Dram { name, channels, clock }
            }
            Some(Logged::Operations(flash)) => {
                flash.begin_log();
                let dies = vec![Clock::default(); flash.geometry().dies as usize];
                Medium::Flash { name, checker: flash.checker(), operations: 0, dies }
            }
        }
    }

    /// Takes the entries of the memory's log.
    fn take(&mut self, memory: &mut Memory) -> Result<(), Broken> {
        match (self, memory.logged()) {
            (Medium::Dram { name, channels, clock }, Some(Logged::Commands(memory))) => {
                for (number, (checker, time)) in channels.iter_mut().enumerate() {
                    for command in memory.take_log(number) {
                        time.see(clock.edge(command.at), || format!("{name}, sub-channel {number}"))?;
                        checker.take(&command);
                    }
                    if let Some(violation) = checker.first() {
                        return Err(of_jedec(violation, name, number, *clock));
                    }
                }
            }
            (Medium::Flash { name, checker, operations, dies }, Some(Logged::Operations(flash))) => {
                for operation in flash.take_log() {
                    let place = || format!("{name}, die {}", operation.die);
                    dies[operation.die as usize].see(operation.at, place)?;
                    let broken =
                        |what: String| Broken::new("ONFI 5.1, 3.1: order of a block", place(), operation.at, what);
                    checker.take(&operation).map_err(broken)?;
                    *operations += 1;
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Ends the log and adds the counts to `checked`.
    fn finish(self, checked: &mut Checked) -> Result<(), Broken> {
        match self {
            Medium::Unlogged => {}
            Medium::Dram { name, channels, clock } => {
                for (number, (checker, time)) in channels.into_iter().enumerate() {
                    checked.dram_commands += checker.taken();
                    checked.times += time.seen();
                    if let Some(violation) = checker.finish().first() {
                        return Err(of_jedec(violation, &name, number, clock));
                    }
                }
            }
            Medium::Flash { operations, dies, .. } => {
                checked.flash_operations += operations;
                checked.times += dies.iter().map(Clock::seen).sum::<u64>();
            }
        }
        Ok(())
    }
}

fn of_jedec(violation: &checker::Violation, name: &str, channel: usize, clock: dram::Clock) -> Broken {
    let place = format!("{name}, sub-channel {channel}");
    Broken::new(format!("JEDEC {}", violation.rule), place, clock.edge(violation.command.at), violation.to_string())
}

impl Checks {
    fn new(shared: &mut Shared, names: &[(NodeId, String)], cores: usize) -> Checks {
        let Shared { home, fabric, .. } = shared;
        let mut media: Vec<String> = (0..fabric.all_media().len()).map(|number| format!("memory {number}")).collect();
        let mut links: Vec<String> = fabric.wires().iter().map(|_| String::new()).collect();
        for (node, name) in names {
            for (number, way) in home.ways(*node).iter().enumerate() {
                media[fabric.media_of(*way)] = format!("node {name}, memory {number}");
                for link in fabric.links_of(*way) {
                    links[usize::from(*link)] = format!("node {name}, link {link}");
                }
            }
        }
        let wires = vec![[Clock::default(); 2]; links.len()];
        let mut links = Links::new(links.into_iter().zip(fabric.wires()).collect());
        links.count_from(&fabric.slots());
        fabric.keep_link_log();
        let media =
            media.into_iter().zip(fabric.all_media()).map(|(name, memory)| Medium::begin(name, memory)).collect();
        let (coherence, queue, cores) = (Coherence::default(), Clock::default(), vec![Clock::default(); cores]);
        Checks { media, links, wires, coherence, walked_at: 0, queue, cores, events: 0, broken: None }
    }

    /// Looks at the machine before an event happens.
    fn look(&mut self, now: Time, shared: &mut Shared, cores: &[Core]) -> Result<(), Broken> {
        self.events += 1;
        self.clocks(now, cores)?;
        self.lines(now, shared, cores)?;
        if self.coherence.looks() - self.walked_at >= WALK_EVERY {
            self.walked_at = self.coherence.looks();
            self.walk(now, shared, cores, None)?;
        }
        if self.events.is_multiple_of(LOGS_EVERY) { self.logs(now, shared) } else { Ok(()) }
    }

    fn clocks(&mut self, now: Time, cores: &[Core]) -> Result<(), Broken> {
        self.queue.see(now, || "event queue".into())?;
        for (number, (clock, core)) in self.cores.iter_mut().zip(cores).enumerate() {
            clock.see(core.now(), || format!("core {number}"))?;
            if let Some(broken) = core.checked_translations().and_then(|checked| checked.broken()) {
                return Err(broken.clone());
            }
        }
        Ok(())
    }

    /// Compares the lines that have had an event.
    fn lines(&mut self, now: Time, shared: &mut Shared, cores: &[Core]) -> Result<(), Broken> {
        let mut lines = shared.touched.take().unwrap_or_default();
        let mut copies = Vec::new();
        for line in lines.drain(..) {
            copies.clear();
            copies.extend((0..).zip(cores).filter_map(|(number, core)| {
                let [l1, l2] = core.copies(line);
                (l1.is_some() || l2.is_some()).then_some(Copy { core: CoreId(number), l1, l2 })
            }));
            self.coherence.transition(now, line, &copies, known(&shared.home, line))?;
        }
        shared.touched = Some(lines);
        Ok(())
    }

    /// Compares every line of every private cache.
    fn walk(&mut self, now: Time, shared: &Shared, cores: &[Core], at_rest: Option<usize>) -> Result<(), Broken> {
        let copies = (0..).zip(cores).flat_map(|(number, core)| {
            let core_id = CoreId(number);
            let [l1, l2] = core.cached_lines();
            let above = l1.into_iter().map(move |(line, state)| (line, Some(state), None));
            let below = l2.into_iter().map(move |(line, state)| (line, None, Some(state)));
            above.chain(below).map(move |(line, l1, l2)| (line, Copy { core: core_id, l1, l2 }))
        });
        self.coherence.walk(now, copies, |line| known(&shared.home, line), at_rest)
    }

    /// Takes the entries of the logs of media and links.
    fn logs(&mut self, now: Time, shared: &mut Shared) -> Result<(), Broken> {
        let fabric = &mut shared.fabric;
        for (medium, memory) in self.media.iter_mut().zip(fabric.all_media()) {
            medium.take(memory)?;
        }
        for event in fabric.take_link_log() {
            if let LinkEvent::Sent { lane, ready, .. } = event {
                let clock = &mut self.wires[usize::from(lane.link)][lane.toward as usize];
                clock.see(ready, || format!("link {}", lane.link))?;
            }
            self.links.take(event)?;
        }
        self.links.settle(now)?;
        self.links.slots(now, &fabric.slots())
    }

    /// Checks the machine when nothing is under way any more.
    fn at_rest(&mut self, now: Time, shared: &mut Shared, cores: &[Core]) -> Result<(), Broken> {
        self.clocks(now, cores)?;
        self.lines(now, shared, cores)?;
        self.logs(now, shared)?;
        // Only credits come back later than the last event.
        self.links.settle(Time::MAX)?;
        self.links.at_rest(now)?;
        let left = shared.home.requests().count();
        if left > 0 {
            let what = format!("{left} have none when nothing is under way");
            return Err(Broken::new("each request has an answer", "home agents", now, what));
        }
        self.walk(now, shared, cores, shared.home.known_lines())
    }

    fn finish(self, cores: &[Core]) -> Result<Checked, Broken> {
        let (cxl_messages, cxl_credits, cxl_flits) = self.links.counts();
        let clocks = self.cores.iter().chain(self.wires.iter().flatten()).chain([&self.queue]);
        let translations = cores.iter().filter_map(Core::checked_translations).map(|checked| checked.served_so_far());
        let mut checked = Checked {
            dram_commands: 0,
            flash_operations: 0,
            coherence_transitions: self.coherence.transitions(),
            cached_lines: self.coherence.lines(),
            cxl_messages,
            cxl_credits,
            cxl_flits,
            translations: translations.sum(),
            times: clocks.map(Clock::seen).sum(),
        };
        self.media.into_iter().try_for_each(|medium| medium.finish(&mut checked))?;
        Ok(checked)
    }
}

fn known(home: &home::Home, line: Hpa) -> Option<Known> {
    Some(match home.presence(line)? {
        Presence::Nobody => Known::Nobody,
        Presence::Shared(cores) => Known::Shared(cores.fold(0, |bits, core| bits | 1 << core.0)),
        Presence::Owned(owner) => Known::Owned(owner),
    })
}

fn error(broken: Broken) -> ModelError {
    let Broken { rule, place, at, what } = broken;
    ModelError::BrokenRule { rule, place, at, what }
}

impl Machine {
    /// Begins to check the parts. Nothing may have happened before.
    pub fn keep_checks(&mut self) {
        let names = (0..).map(NodeId).zip(self.spec.nodes.iter().map(|node| node.name.clone())).collect::<Vec<_>>();
        self.shared.touched = Some(Vec::new());
        self.checks = Some(Box::new(Checks::new(&mut self.shared, &names, self.cores.len())));
        self.cores.iter_mut().for_each(Core::check_translations);
        self.watched = true;
    }

    /// Looks at the machine before the next event.
    pub(super) fn check(&mut self, now: Time, event: Event) -> Result<(), ModelError> {
        let Some(checks) = &mut self.checks else { return Ok(()) };
        if let Some(broken) = checks.broken.take() {
            return Err(error(broken));
        }
        checks.look(now, &mut self.shared, &self.cores).map_err(error)?;
        match event {
            Event::Home(home::Event::Home(key) | home::Event::Entered(key) | home::Event::Fill(key)) => {
                let line = self.shared.home.requests_mut()[key].line;
                self.shared.touch(line);
            }
            Event::Retrain(way, lanes, rate) => {
                checks.logs(now, &mut self.shared).map_err(error)?;
                let link = self.shared.fabric.links_of(way)[0];
                let built = self.shared.fabric.wires()[usize::from(link)];
                checks.links.trained(link, &Wires { lanes: lanes.count(), gt_s: rate.gt_s(), ..built });
            }
            _ => {}
        }
        Ok(())
    }

    /// Compares lines whose copies warming has changed, if many wait.
    pub(super) fn check_warmed(&mut self) {
        let Some(checks) = &mut self.checks else { return };
        if self.shared.touched.as_ref().is_some_and(|lines| lines.len() >= MOST_WAITING) {
            let now = self.shared.queue.now();
            let broken = checks.lines(now, &mut self.shared, &self.cores).err();
            checks.broken = checks.broken.take().or(broken);
        }
    }

    /// Takes the logs before the counts of the wires begin anew.
    pub(super) fn check_before_clear(&mut self, now: Time) {
        if let Some(checks) = &mut self.checks {
            let broken = checks.logs(now.min(self.shared.queue.now()), &mut self.shared).err();
            checks.broken = checks.broken.take().or(broken);
        }
    }

    /// Notes that the counts of the wires have begun anew.
    pub(super) fn check_after_clear(&mut self) {
        if let Some(checks) = &mut self.checks {
            checks.links.count_from(&self.shared.fabric.slots());
        }
    }

    /// Notes that the tables have replaced these pages.
    pub(super) fn check_replaced(&mut self, pages: &[PageId]) {
        if self.checks.is_some() {
            self.cores.iter_mut().for_each(|core| core.pages_replaced(pages));
        }
    }

    /// Lets everything under way end, and checks that nothing is left over. Returns the counts of the checks, if the
    /// run was checked. Afterwards the machine's results are no longer those of the run.
    ///
    /// # Errors
    /// `RUN008` names the first rule that was broken.
    pub fn finish_checks(&mut self) -> Result<Option<Checked>, ModelError> {
        if self.checks.is_none() {
            return Ok(None);
        }
        while !self.shared.queue.is_empty() {
            self.next_event()?;
        }
        time_went_on()?;
        let Some(mut checks) = self.checks.take() else { return Ok(None) };
        if let Some(broken) = checks.broken.take() {
            return Err(error(broken));
        }
        checks.at_rest(self.shared.queue.now(), &mut self.shared, &self.cores).map_err(error)?;
        checks.finish(&self.cores).map(Some).map_err(error)
    }
}

#[cfg(test)]
mod tests;
