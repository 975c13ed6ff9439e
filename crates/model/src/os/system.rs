//! The system as the feeds of a machine's cores: programs, each on a core, above one operating system.
//!
//! ```text
//!   interrupts -> kernel work -> the program's next act -> page table -> Step -> core
//! ```
//! Shared state changes only at a core's turn (`Step::Turn`), when all that is due earlier on other cores has happened.
//! Not modelled: scheduling (a thread has its core to itself), kernel instructions' own memory.

use std::collections::VecDeque;

use cxlab_access::{Keep, Phase};
use cxlab_kernel::Time;

use super::frames::Frames;
use super::lru::Lru;
use super::page_table::PageTable;
use super::policy::Tiering;
use super::swap::Ssd;
use super::{
    COSTS, Capacity, Effect, LINES_PER_PAGE, Os, OsError, OsStats, Placement, Process, SsdSpec, VirtualLine, Work,
};
use crate::addr::Hpa;
use crate::apps::{Act, App};
use crate::error::ModelError;
use crate::feed::{Execution, Feed, Feeds, Instruction, LineAccess, Prototypes, Step};
use crate::home::AddressRange;
use crate::request::NodeId;

/// Acts of a program between two ticks: Linux looks for due work at 1000 Hz, which is 1 us here.
const TICK: u32 = 64;

/// A core's program, and its kernel work.
pub(super) struct Thread {
    /// none: kswapd
    pub app: Option<App>,
    work: VecDeque<Work>,
    /// the effect that a turn was asked for
    awaited: Option<Effect>,
    /// an act that its page's fault holds up
    held: Option<Act>,
    /// time that the program has computed, since it began
    computed: Time,
    /// acts since the last tick
    acts: u32,
    executing: Option<Instruction>,
    access: Option<LineAccess>,
    /// since when the core is in the kernel
    entered: Option<Time>,
}

/// Programs and their operating system.
pub struct System {
    os: Os,
    threads: Vec<Thread>,
    prototypes: Prototypes,
    capacity: Capacity,
}

impl System {
    /// Nodes with so many frames, no process yet; the cores' own node is the first, the last with frames is the slow tier.
    #[must_use]
    pub fn new(capacity: Capacity, tiering: Tiering, swap: Option<SsdSpec>, seed: u64) -> System {
        let with_pages: Vec<NodeId> =
            (0..capacity.0.len()).filter(|node| capacity.0[*node] > 0).map(|node| NodeId(node as u16)).collect();
        let slow = with_pages.last().copied().filter(|_| with_pages.len() > 1);
        let os = Os {
            costs: COSTS,
            table: PageTable::new(),
            frames: Frames::new(&capacity, seed),
            lru: Lru::new(capacity.0.len()),
            tiering,
            swap: swap.map(Ssd::new),
            dma: Vec::new(),
            processes: Vec::new(),
            runs: Vec::new(),
            interrupts: Vec::new(),
            tiers: (with_pages.first().copied().unwrap_or(NodeId(0)), slow),
            stats: OsStats::default(),
            kernel_time: Vec::new(),
        };
        System { os, threads: Vec::new(), prototypes: Prototypes::default(), capacity }
    }

    /// Start a process: a stretch of pages, and threads on the next cores. `app` gets each thread's number and the
    /// first line of the pages.
    pub fn start(
        &mut self,
        pages: u32,
        placement: Placement,
        threads: usize,
        mut app: impl FnMut(usize, VirtualLine) -> App,
    ) -> usize {
        let id = self.os.processes.len();
        let first = self.os.table.add(id, pages);
        let begin = self.threads.len();
        for thread in 0..threads {
            self.add_core(Some(id), Some(app(thread, first.line())));
        }
        self.os.processes.push(Process {
            first,
            count: pages,
            cores: begin..begin + threads,
            placement,
            cursor: 0,
            next_scan: Time::ZERO,
        });
        id
    }

    /// Have kswapd run, on a core of its own: the last.
    pub fn start_kswapd(&mut self) {
        self.add_core(None, None);
        self.threads.last_mut().expect("it was just added").work.push_back(Work::Then(Effect::Reclaim));
    }

    fn add_core(&mut self, process: Option<usize>, app: Option<App>) {
        self.threads.push(Thread {
            app,
            work: VecDeque::new(),
            awaited: None,
            held: None,
            computed: Time::ZERO,
            acts: 0,
            executing: None,
            access: None,
            entered: None,
        });
        self.os.runs.push(process);
        self.os.interrupts.push(Time::ZERO);
        self.os.kernel_time.push(Time::ZERO);
    }

    /// Touch all pages of a process before time begins, in this order of its pages.
    pub fn populate(&mut self, process: usize, order: impl Iterator<Item = u32>) -> Result<(), OsError> {
        let first = self.os.processes[process].first;
        for page in order {
            self.os.place(super::PageNumber(first.0 + page))?;
        }
        self.os.dma.clear();
        Ok(())
    }

    /// The process ends and starts anew: its pages are free, and untouched.
    pub fn release(&mut self, process: usize, placement: Placement) {
        self.os.release(process);
        self.os.processes[process].placement = placement;
    }

    #[must_use]
    pub fn os(&self) -> &Os {
        &self.os
    }

    /// The program of a core.
    #[must_use]
    pub fn app(&self, core: usize) -> Option<&App> {
        self.threads[core].app.as_ref()
    }

    /// Time that a core's program has computed, since it began.
    #[must_use]
    pub fn computed(&self, core: usize) -> Time {
        self.threads[core].computed
    }

    #[must_use]
    pub fn ranges(&self) -> Vec<AddressRange> {
        self.capacity.ranges()
    }

    /// Count from here.
    pub fn clear_stats(&mut self) {
        self.os.clear_stats();
        self.threads.iter_mut().filter_map(|thread| thread.app.as_mut()).for_each(App::clear_stats);
    }
}

impl Feeds for System {
    type Of<'a> = Running<'a>;

    #[inline]
    fn of(&mut self, core: usize) -> Running<'_> {
        Running { os: &mut self.os, thread: &mut self.threads[core], prototypes: &self.prototypes, core }
    }

    fn count(&self) -> usize {
        self.threads.len()
    }
}

/// A core's thread with the operating system below it.
pub struct Running<'a> {
    os: &'a mut Os,
    thread: &'a mut Thread,
    prototypes: &'a Prototypes,
    core: usize,
}

impl Running<'_> {
    #[inline]
    fn touch(&mut self, line: Hpa, kind: Touch) -> Step {
        let (instruction, store) = match kind {
            Touch::Load => (self.prototypes.load(), false),
            Touch::Chase => (self.prototypes.chase(), false),
            Touch::Aside => (self.prototypes.aside(), false),
            Touch::Store => (self.prototypes.store(), true),
            Touch::NonTemporal => (self.prototypes.non_temporal(), true),
        };
        self.thread.access = Some(LineAccess { address: line, store, place: 0, device: false, page: None });
        self.thread.executing = Some(instruction);
        Step::Execute
    }

    /// The next step of kernel work, if there is any.
    fn kernel_step(&mut self) -> Option<Step> {
        let work = self.thread.work.front_mut()?;
        Some(match work {
            Work::Spend(span) => {
                let span = *span;
                self.thread.work.pop_front();
                Step::Delay { span }
            }
            Work::Sleep { until } => {
                let until = *until;
                self.thread.work.pop_front();
                Step::Idle { until }
            }
            Work::Dma { frame, kind } => {
                let step = Step::Dma { page: frame.line(0), kind: *kind };
                self.thread.work.pop_front();
                step
            }
            Work::Fence => {
                self.thread.work.pop_front();
                Step::Fence
            }
            Work::Then(effect) => {
                self.thread.awaited = Some(*effect);
                self.thread.work.pop_front();
                Step::Turn { sequence: 0 }
            }
            // Even numbers load, odd ones store.
            Work::Copy { from, to, line } => {
                let number = *line / 2;
                let (place, kind) = if line.is_multiple_of(2) {
                    (from.line(number), Touch::Load)
                } else {
                    (to.line(number), Touch::NonTemporal)
                };
                *line += 1;
                if *line == 2 * LINES_PER_PAGE {
                    self.thread.work.pop_front();
                }
                self.touch(place, kind)
            }
            Work::Clear { frame, line } => {
                let place = frame.line(*line);
                *line += 1;
                if *line == LINES_PER_PAGE {
                    self.thread.work.pop_front();
                }
                self.touch(place, Touch::NonTemporal)
            }
        })
    }

    /// The program's next step; none if a fault holds it up.
    fn program_step(&mut self) -> Option<Step> {
        let Some(app) = &mut self.thread.app else { return Some(Step::End) };
        let act = match self.thread.held.take() {
            Some(act) => act,
            None => app.act(),
        };
        let (line, kind) = match act {
            Act::Load(line) => (line, Touch::Load),
            Act::Chase(line) => (line, Touch::Chase),
            Act::Aside(line) => (line, Touch::Aside),
            Act::Store(line) => (line, Touch::Store),
            Act::Compute(span) => {
                self.thread.computed += span;
                return Some(Step::Delay { span });
            }
            Act::AskTime => return Some(Step::Settle { sequence: 0 }),
            Act::Sleep { until } => return Some(Step::Idle { until }),
        };
        match self.os.translate(line) {
            Ok(place) => Some(self.touch(place, kind)),
            Err(page) => {
                self.thread.held = Some(act);
                self.thread.work.push_back(Work::Then(Effect::Fault(page)));
                None
            }
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Touch {
    Load,
    Chase,
    Aside,
    Store,
    NonTemporal,
}

impl Feed for Running<'_> {
    #[inline]
    fn next(&mut self) -> Result<Step, ModelError> {
        let debt = std::mem::replace(&mut self.os.interrupts[self.core], Time::ZERO);
        if debt > Time::ZERO {
            self.os.kernel_time[self.core] += debt;
            return Ok(Step::Delay { span: debt });
        }
        loop {
            if let Some(step) = self.kernel_step() {
                return Ok(step);
            }
            if self.thread.entered.is_some() {
                // How long the kernel had the core is told by a clock read on the way out.
                return Ok(Step::Settle { sequence: 0 });
            }
            self.thread.acts += 1;
            if self.thread.acts >= TICK {
                self.thread.acts = 0;
                return Ok(Step::Sync { sequence: 0 });
            }
            if let Some(step) = self.program_step() {
                return Ok(step);
            }
        }
    }

    #[inline]
    fn execution(&self) -> Execution<'_> {
        Execution::of(self.thread.executing.as_ref().expect("the last step is to execute it"))
    }

    #[inline]
    fn accesses(&self) -> &[LineAccess] {
        self.thread.access.as_slice()
    }

    /// The tick: is there a scan to do?
    fn answer_sync(&mut self, _sequence: u64, ps: u64) -> Result<(), ModelError> {
        if self.os.scan_due(self.core).is_some_and(|due| Time::from_ps(ps) >= due) {
            self.thread.work.push_back(Work::Then(Effect::Scan));
        }
        Ok(())
    }

    fn reached(&mut self, phase: Phase, _position: u64, _keep: Keep) {
        unreachable!("nothing is sampled here, so {phase:?} does not begin")
    }

    fn answer_clock(&mut self, _sequence: u64, ps: u64) -> Result<(), ModelError> {
        let now = Time::from_ps(ps);
        if let Some(effect) = self.thread.awaited.take() {
            if self.thread.app.is_some() {
                self.thread.entered.get_or_insert(now);
            }
            let broken = |error: OsError| ModelError::Inconsistent { file: "os".into(), cause: error.to_string() };
            return self.os.happen(effect, now, self.core, &mut self.thread.work).map_err(broken);
        }
        if let Some(entered) = self.thread.entered.take() {
            self.os.kernel_time[self.core] += now.since(entered);
        } else if let Some(app) = &mut self.thread.app {
            app.told(now);
        }
        Ok(())
    }
}
