//! A study: applications on a machine with an operating system, counted over intervals.
//!
//! ```text
//!   StudySpec (JSON) -> Session: Machine + System --interval--> Interval (JSON): work, latencies, traffic, migrations
//!                                   ^------- place_anew: what a placement controller does between two of them
//! ```
//! Capacities are small, so caches can be divided to keep them so beside the pages; seconds of policies are
//! milliseconds. Bandwidths, latencies and costs of kernel work are the machine's own.

mod interval;
mod spec;

use cxlab_kernel::{Bytes, Stream, Time};

use crate::MachineSpec;
use crate::apps::Region;
use crate::config::HostSpec;
use crate::error::ModelError;
use crate::fact::Sourced;
use crate::machine::Machine;
use crate::os::policy::{NoTiering, NumaBalancing, NumaBalancingSpec, Tiering, Tpp, TppSpec};
use crate::os::{Capacity, LINES_PER_PAGE, Mempolicy, OsError, SSD, System, VirtualLine};

pub use interval::{Counters, Interval, NodeInterval, ProcessInterval};
pub use spec::{Order, ProcessSpec, StudySpec, TieringKind};

/// A study under way.
pub struct Session {
    spec: StudySpec,
    machine: Machine,
    system: System,
    now: Time,
}

fn inconsistent(cause: impl ToString) -> ModelError {
    ModelError::Inconsistent { file: "study".into(), cause: cause.to_string() }
}

impl Session {
    /// Place all pages and start all programs, at time 0.
    ///
    /// # Errors
    /// `ModelError::Inconsistent` names what of the study cannot be, and what is valid.
    pub fn new(spec: &StudySpec) -> Result<Session, ModelError> {
        let mut machine = MachineSpec::load_with(&spec.machine, &spec.set)?;
        spec.check(&machine).map_err(inconsistent)?;
        divide_caches(&mut machine, spec.caches_divided_by);
        // Pages are 4 KiB of anywhere: a stream in physical memory ends with each.
        machine.host.prefetch.enabled = Sourced::new(false, "a study");
        let frames = machine.nodes.iter().map(|node| spec.capacity.get(&node.name).copied().unwrap_or(0)).collect();
        let tiering = match spec.tiering {
            TieringKind::None => Tiering::None(NoTiering::default()),
            TieringKind::NumaBalancing => Tiering::NumaBalancing(NumaBalancing::new(NumaBalancingSpec::LINUX)),
            TieringKind::Tpp => Tiering::Tpp(Tpp::new(TppSpec::PUBLISHED)),
        };
        let kswapd = spec.swap || spec.tiering != TieringKind::None;
        let mut system = System::new(Capacity(frames), tiering, spec.swap.then_some(SSD), spec.seed);
        let mut cores = Vec::new();
        for (number, process) in spec.processes.iter().enumerate() {
            start(&mut system, spec, number, &machine).map_err(inconsistent)?;
            let core = core_for(&machine.host, process);
            cores.extend(std::iter::repeat_n(core, usize::from(process.threads)));
        }
        if kswapd {
            system.start_kswapd();
            cores.push(machine.host.clone());
        }
        let machine = Machine::with_cores(machine, &cores, &system.ranges())?;
        Ok(Session { spec: spec.clone(), machine, system, now: Time::ZERO })
    }

    /// Let time pass, and tell nothing of it.
    pub fn advance(&mut self, span: Time) -> Result<(), ModelError> {
        self.now += span;
        self.machine.run_until(&mut self.system, self.now)
    }

    /// Let time pass, and tell what happened in it.
    pub fn interval(&mut self, span: Time) -> Result<Interval, ModelError> {
        let begun = self.now;
        self.machine.clear_stats(begun);
        self.system.clear_stats();
        let before = Counters::of(&self.machine, &self.system);
        self.advance(span)?;
        self.machine.stop_counting(self.now);
        let counters = Counters::of(&self.machine, &self.system).since(&before);
        Ok(Interval::of(&self.spec, &self.machine, &self.system, &counters))
    }

    /// A process's program ends and starts anew, its pages placed by this mempolicy.
    pub fn place_anew(&mut self, process: usize, mempolicy: &Mempolicy) -> Result<(), ModelError> {
        let placement = mempolicy.resolve(&self.spec.node_names(self.machine.spec())).map_err(inconsistent)?;
        self.system.release(process, placement);
        populate(&mut self.system, process, &self.spec).map_err(inconsistent)
    }

    /// Run warm-up and measurement as the specification has them.
    pub fn run(&mut self) -> Result<Interval, ModelError> {
        if self.spec.warm > Time::ZERO {
            self.advance(self.spec.warm)?;
        }
        self.interval(self.spec.measure)
    }

    #[must_use]
    pub fn system(&self) -> &System {
        &self.system
    }

    #[must_use]
    pub fn machine(&self) -> &Machine {
        &self.machine
    }

    #[must_use]
    pub fn now(&self) -> Time {
        self.now
    }
}

fn start(system: &mut System, spec: &StudySpec, number: usize, machine: &MachineSpec) -> Result<(), String> {
    let process = &spec.processes[number];
    let region = |thread: u64, first: VirtualLine| Region {
        first,
        lines: u64::from(process.pages) * LINES_PER_PAGE,
        thread,
        threads: u64::from(process.threads),
    };
    let random = |thread| Stream::new(spec.seed, &format!("process {number}, thread {thread}"));
    // Refused here, so that every thread below can be made.
    process.app.thread(region(0, VirtualLine(0)), random(0))?;
    let placement = process.mempolicy.resolve(&spec.node_names(machine)).map_err(|error| error.to_string())?;
    let id = system.start(process.pages, placement, usize::from(process.threads), |thread, first| {
        process.app.thread(region(thread as u64, first), random(thread)).expect("the first thread could be made")
    });
    populate(system, id, spec).map_err(|error| error.to_string())
}

fn populate(system: &mut System, process: usize, spec: &StudySpec) -> Result<(), OsError> {
    let ProcessSpec { pages, order, .. } = &spec.processes[process];
    let mut pages: Vec<u32> = (0..*pages).collect();
    match order {
        Order::Untouched => return Ok(()),
        Order::Sequential => {}
        Order::Random => {
            let mut random = Stream::new(spec.seed, "order of first touches");
            for last in (1..pages.len()).rev() {
                pages.swap(last, random.below(last as u64 + 1) as usize);
            }
        }
    }
    system.populate(process, pages.into_iter())
}

/// A core whose program streams keeps the lines under way that its prefetchers would.
fn core_for(host: &HostSpec, process: &ProcessSpec) -> HostSpec {
    let mut host = host.clone();
    if process.app.streams() {
        host.core.fill_buffers = Sourced::new(*host.prefetch.superqueue, "the superqueue");
    }
    host
}

fn divide_caches(machine: &mut MachineSpec, by: u32) {
    let divided =
        |bytes: &Sourced<Bytes>| Sourced::new(Bytes::new(bytes.get() / u64::from(by)), "divided for a small study");
    machine.host.l2.capacity = divided(&machine.host.l2.capacity);
    machine.host.llc.slice_capacity = divided(&machine.host.llc.slice_capacity);
}
