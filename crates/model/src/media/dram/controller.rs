//! The controller of one sub-channel. It takes requests into queues, sends commands, and sleeps until the next command
//! can go.
//!
//! ```text
//!   arrive -> address map -> read queue  --\                        /-> command bus -> device
//!                            write queue --- scheduler: next plan --<
//!   refresh due --------------------------/                        \-> done(read: last beat + return latency)
//! ```
//!
//! The controller keeps one [`Plan`], the next command and its cycle, and asks to be woken then. An arrival that
//! changes a bank's next command makes a new plan. With nothing to do, the controller does not ask to be woken. It then
//! sends the refreshes that fell due, at their own cycles, when the next access comes. A read of a line that waits in
//! the write queue is answered from there, and a write of such a line joins it. Posted writes up to the low mark stay
//! in the queue when no more traffic comes.

use cxlab_kernel::{Bytes, Time, statistics};

use super::DramError;
use super::address_map::AddressMap;
use super::clock::{Clock, Cycles};
use super::command::{Command, Issued};
use super::controller_spec::ControllerSpec;
use super::device::Device;
use super::page_policy::Pages;
use super::queue::{Queue, RowOutcome, Waiting};
use super::refresh::{Refresh, SubChannel};
use super::scheduler::{self, Mode, Plan, Step, Turns};
use super::shape::BankIndex;
use super::standard::Dram;
use crate::addr::LINE_BYTES;
use crate::mem::{Access, AccessKind, Driver, Wake};

statistics! {
    /// Statistics of a controller.
    pub struct ControllerStats {
        reads: Counter [Commands] "read commands",
        writes: Counter [Commands] "write commands",
        activates: Counter [Commands] "activate commands",
        precharges: Counter [Commands] "precharge commands, with auto-precharges",
        refreshes: Counter [Commands] "refresh commands, all-bank or same-bank",
        row_hits: Counter [Requests] "column commands whose row was open",
        row_misses: Counter [Requests] "column commands whose bank was closed",
        row_conflicts: Counter [Requests] "column commands whose bank had another row open",
        forwarded_reads: Counter [Requests] "reads answered from the write queue",
        merged_writes: Counter [Requests] "writes that joined one in the write queue",
        turn_arounds: Counter [Events] "times that the data bus turned from reads to writes",
        read_queue_full: Counter [Events] "reads that found the read queue full",
        write_queue_full: Counter [Events] "writes that found the write queue full",
        read_queue_latency: Span [Nanoseconds] "mean time of a read from its arrival to its column command",
        write_queue_latency: Span [Nanoseconds] "mean time of a write from its arrival to its column command",
        read_latency: Latency [Nanoseconds] "a read's time from its arrival to its last beat at the requester",
    }
}

/// A sub-channel's controller.
#[derive(Clone, Debug)]
pub struct Controller {
    clock: Clock,
    map: AddressMap,
    turns: Turns,
    age_limit: Cycles,
    return_latency: Time,
    wake: Wake,
    device: Device,
    reads: Queue,
    writes: Queue,
    mode: Mode,
    /// column commands since the mode began
    served: usize,
    refresh: Refresh,
    pages: Pages,
    /// number of requests so far, which gives each its order
    order: u64,
    plan: Plan,
    /// the soonest wake that the controller has asked for and not yet had
    asked: Option<Time>,
    log: Option<Vec<Issued>>,
    stats: ControllerStats,
}

impl Controller {
    pub(super) fn new(
        spec: &ControllerSpec,
        dram: &Dram,
        ranks: u32,
        sub_channel: SubChannel,
    ) -> Result<Controller, DramError> {
        spec.check()?;
        let device = Device::new(dram, ranks);
        let shape = device.shape();
        let clock = dram.clock();
        let refresh = Refresh::new(*spec.refresh, *spec.postponed_refreshes, dram, shape, sub_channel)?;
        Ok(Controller {
            clock,
            map: AddressMap::new(&spec.address_map, dram, ranks)?,
            turns: Turns {
                high: *spec.write_high_mark as usize,
                low: *spec.write_low_mark as usize,
                commands: *spec.commands_per_turn as usize,
            },
            age_limit: clock.whole_cycles(*spec.age_limit),
            return_latency: *spec.return_latency,
            wake: Wake::Channel(sub_channel.number),
            reads: Queue::new(*spec.read_queue as usize, shape.banks()),
            writes: Queue::new(*spec.write_queue as usize, shape.banks()),
            mode: Mode::Reads,
            served: 0,
            plan: Plan { at: refresh.first_due(), step: Step::Due },
            refresh,
            pages: Pages::new(*spec.page_policy, shape.banks()),
            device,
            order: 0,
            asked: None,
            log: None,
            stats: ControllerStats::default(),
        })
    }

    pub(super) fn arrive<D: Driver>(&mut self, now: Time, line: u64, access: Access, driver: &mut D) {
        let cycle = self.clock.cycle_from(now);
        // Only an idle controller lags behind, and it can owe only refreshes.
        while self.plan.at < cycle {
            self.skip_refreshes(cycle);
            self.step(driver);
        }
        let location = self.map.locate(line);
        let bank = self.device.shape().index(location.to);
        if self.writes.contains(bank, location.row, location.column) {
            return self.answer_from_write_queue(now, access, driver);
        }
        self.order += 1;
        let request = Waiting {
            order: self.order,
            arrived: now,
            overdue: cycle + self.age_limit,
            bank,
            row: location.row,
            column: location.column,
            tag: access.tag,
            outcome: RowOutcome::Hit,
        };
        let queue = match access.kind {
            AccessKind::Read => &mut self.reads,
            AccessKind::Write => &mut self.writes,
        };
        if queue.is_full() {
            queue.hold(request);
            match access.kind {
                AccessKind::Read => self.stats.read_queue_full.increment(),
                AccessKind::Write => self.stats.write_queue_full.increment(),
            }
            return;
        }
        let changed = self.admit(access.kind, request, now, driver);
        if changed && self.may_go_before_plan(access.kind, bank) || self.next_mode() != self.mode {
            self.make_plan(cycle);
        }
        self.sleep(driver);
    }

    /// Counts the refreshes of a long idle time at once. Only their last rounds are stepped through.
    #[inline]
    fn skip_refreshes(&mut self, until: Cycles) {
        let is_quiet = self.plan.step == Step::Due && self.device.open_banks() == 0 && self.idle();
        // A log has each command.
        if is_quiet && self.log.is_none() {
            let skipped = self.refresh.skip(until);
            if skipped > 0 {
                self.stats.refreshes.add(skipped);
                self.make_plan(self.plan.at);
            }
        }
    }

    /// Whether the next command of `bank` could take the plan's place, after a request of `kind` joined the bank.
    fn may_go_before_plan(&self, kind: AccessKind, bank: BankIndex) -> bool {
        if kind != self.mode.kind() || self.refresh.blocked() >> bank.0 & 1 == 1 {
            return false;
        }
        let queue = match kind {
            AccessKind::Read => &self.reads,
            AccessKind::Write => &self.writes,
        };
        // A row command and a column command may each go before one that it would delay. So close to the plan, make a
        // new plan.
        let at = scheduler::next_of(&self.device, queue, kind, bank);
        at < self.plan.at + self.device.width(Command::Read)
    }

    fn next_mode(&self) -> Mode {
        self.mode.next(self.reads.len(), self.writes.len(), self.served, self.turns)
    }

    pub(super) fn wake<D: Driver>(&mut self, now: Time, driver: &mut D) {
        if self.asked != Some(now) {
            return; // asked for before a better plan was made
        }
        self.asked = None;
        while self.clock.edge(self.plan.at) <= now {
            self.step(driver);
        }
        self.sleep(driver);
    }

    pub(super) fn stats(&self) -> &ControllerStats {
        &self.stats
    }

    pub(super) fn clear_stats(&mut self) {
        self.stats = ControllerStats::default();
    }

    /// Share of `elapsed` with data on the bus.
    pub(super) fn bus_utilisation(&self, elapsed: Time) -> f64 {
        let bursts = self.stats.reads.get() + self.stats.writes.get();
        let busy = self.clock.edge(Cycles(bursts * self.device.timing().burst.0));
        busy.as_seconds() / elapsed.as_seconds()
    }

    pub(super) fn keep_log(&mut self) {
        self.log = Some(Vec::new());
    }

    pub(super) fn log(&self) -> &[Issued] {
        self.log.as_deref().unwrap_or_default()
    }

    pub(super) fn take_log(&mut self) -> Vec<Issued> {
        self.log.as_mut().map(std::mem::take).unwrap_or_default()
    }

    pub(super) fn capacity(&self) -> Bytes {
        Bytes::new(self.map.lines() * LINE_BYTES)
    }

    /// Whether no waiting request is to be served, so that the controller need not be woken.
    fn idle(&self) -> bool {
        self.reads.len() == 0 && self.mode == Mode::Reads
    }

    fn sleep<D: Driver>(&mut self, driver: &mut D) {
        if self.idle() {
            return;
        }
        let at = self.clock.edge(self.plan.at);
        if self.asked.is_none_or(|asked| at < asked) {
            self.asked = Some(at);
            driver.wake(at, self.wake);
        }
    }

    fn answer_from_write_queue<D: Driver>(&mut self, now: Time, access: Access, driver: &mut D) {
        match access.kind {
            AccessKind::Read => {
                self.stats.forwarded_reads.increment();
                self.stats.read_latency.record(self.return_latency);
                driver.done(now + self.return_latency, access.tag);
            }
            AccessKind::Write => {
                self.stats.merged_writes.increment();
                driver.done(now, access.tag);
            }
        }
    }

    /// Takes a request into its queue, which has room. Returns whether the bank's next command changed.
    fn admit<D: Driver>(&mut self, kind: AccessKind, request: Waiting, now: Time, driver: &mut D) -> bool {
        let open_row = self.device.open_row(request.bank);
        match kind {
            AccessKind::Read => self.reads.admit(request, open_row),
            AccessKind::Write => {
                driver.done(now, request.tag);
                self.writes.admit(request, open_row)
            }
        }
    }

    fn make_plan(&mut self, from: Cycles) {
        let mode = self.next_mode();
        if self.mode == Mode::Reads && mode != Mode::Reads {
            self.stats.turn_arounds.increment();
        }
        if mode != self.mode {
            (self.mode, self.served) = (mode, 0);
        }
        let kind = mode.kind();
        let writes = if kind == AccessKind::Write { self.writes.occupied() } else { 0 };
        self.refresh.make_up(self.reads.occupied() | writes);
        let queue = match kind {
            AccessKind::Read => &mut self.reads,
            AccessKind::Write => &mut self.writes,
        };
        self.plan = scheduler::plan(&self.device, queue, kind, &self.refresh, from);
    }

    /// Carries out the plan and makes the next one.
    fn step<D: Driver>(&mut self, driver: &mut D) {
        let Plan { at, step } = self.plan;
        match step {
            Step::Due => self.refresh.fall_due(at),
            Step::Column { kind, bank } => self.column(at, kind, bank, driver),
            Step::Row { kind, command, bank } => self.row(at, kind, command, bank),
            Step::Refresh { command, bank } => self.refresh_step(at, command, bank),
        }
        self.make_plan(at);
    }

    fn column<D: Driver>(&mut self, at: Cycles, kind: AccessKind, bank: BankIndex, driver: &mut D) {
        let queue = match kind {
            AccessKind::Read => &mut self.reads,
            AccessKind::Write => &mut self.writes,
        };
        self.served += 1;
        let request = queue.take_hit(bank);
        let row = request.row;
        let queues = [&self.reads, &self.writes];
        let hits_wait = queues.iter().any(|queue| queue.hits() >> bank.0 & 1 == 1);
        let other_row_waits = queues.iter().any(|queue| queue.wants_other_row(bank, row));
        let closes = self.pages.closes(bank, hits_wait, other_row_waits);
        self.issue(Command::column(kind, closes), bank, Some(row), at);
        if closes {
            self.stats.precharges.increment();
            self.pages.closed(bank, row);
            self.row_changed(bank);
        }
        self.count(at, kind, &request);
        let now = self.clock.edge(at);
        if kind == AccessKind::Read {
            let timing = self.device.timing();
            let done = self.clock.edge(at + timing.cl + timing.burst) + self.return_latency;
            self.stats.read_latency.record(done - request.arrived);
            driver.done(done, request.tag);
        }
        let queue = match kind {
            AccessKind::Read => &mut self.reads,
            AccessKind::Write => &mut self.writes,
        };
        if let Some(mut held) = queue.next_held() {
            held.overdue = at + self.age_limit; // its age counts from here
            self.admit(kind, held, now, driver);
        }
    }

    fn count(&mut self, at: Cycles, kind: AccessKind, request: &Waiting) {
        let waited = self.clock.edge(at) - request.arrived;
        match kind {
            AccessKind::Read => {
                self.stats.reads.increment();
                self.stats.read_queue_latency.record(waited);
            }
            AccessKind::Write => {
                self.stats.writes.increment();
                self.stats.write_queue_latency.record(waited);
            }
        }
        match request.outcome {
            RowOutcome::Hit => self.stats.row_hits.increment(),
            RowOutcome::Miss => self.stats.row_misses.increment(),
            RowOutcome::Conflict => self.stats.row_conflicts.increment(),
        }
    }

    fn row(&mut self, at: Cycles, kind: AccessKind, command: Command, bank: BankIndex) {
        let queue = match kind {
            AccessKind::Read => &mut self.reads,
            AccessKind::Write => &mut self.writes,
        };
        if command == Command::Activate {
            queue.note(bank, RowOutcome::Miss);
            let row = queue.oldest(bank).row;
            self.pages.activated(bank, row);
            self.stats.activates.increment();
            self.issue(command, bank, Some(row), at);
        } else {
            queue.note(bank, RowOutcome::Conflict);
            self.pages.conflicted(bank);
            self.stats.precharges.increment();
            self.issue(command, bank, None, at);
        }
        self.row_changed(bank);
    }

    fn refresh_step(&mut self, at: Cycles, command: Command, bank: BankIndex) {
        self.issue(command, bank, None, at);
        let rank = self.device.shape().address(bank).rank;
        match command {
            Command::RefreshAll | Command::RefreshSame => {
                self.stats.refreshes.increment();
                self.refresh.sent(rank);
            }
            _ => {
                self.stats.precharges.increment();
                let closed = self.refresh.mask(rank);
                self.reads.lose_hits(closed);
                self.writes.lose_hits(closed);
            }
        }
    }

    fn row_changed(&mut self, bank: BankIndex) {
        let row = self.device.open_row(bank);
        self.reads.find_hit(bank, row);
        self.writes.find_hit(bank, row);
    }

    fn issue(&mut self, command: Command, bank: BankIndex, row: Option<u32>, at: Cycles) {
        self.device.issue(command, bank, row.unwrap_or_default(), at);
        if let Some(log) = &mut self.log {
            log.push(Issued { at, command, to: self.device.shape().address(bank), row });
        }
    }
}
