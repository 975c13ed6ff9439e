//! Warming: between the windows of a sampled run, or ahead of a region, the model is told lines and branches alone.
//!
//! ```text
//!   detail | settle, Sample(Warming) | Block, Access, Block, ... no questions | Sample(Detailed) | detail
//!   time:  the model's               | + instructions x recent pace           | the model's, and what passed meanwhile
//! ```
//!
//! The model's time stands still; the guest's goes on from where it was, at the pace of the last stretch of detail, so it
//! is continuous and never runs back. Idle spans and devices' service are added as in detail.

use cxlab_access::{BlockId, LineFilter, Marker, Phase, Progress, Record};

use super::{BlockData, Stream};
use crate::arguments::{Arguments, WarmUp};
use crate::mode::Mode;
use crate::{clock, mode, qemu, turns};

/// Instructions between two looks at the timers.
const QUANTUM: u64 = 10_000;

/// How fast instructions went, those that repeat by their lines: so many, in so long [ps].
#[derive(Clone, Copy)]
struct Pace {
    instructions: u64,
    ps: u64,
}

impl Pace {
    /// Of a guest that no detail has told anything of: an instruction a nanosecond, as at boot.
    const FIRST: Pace = Pace { instructions: 1, ps: 1000 };

    fn time_ps(self, instructions: u64) -> u64 {
        (u128::from(instructions) * u128::from(self.ps) / u128::from(self.instructions)) as u64
    }
}

/// What is kept of warming, and of the detail that sets its pace.
pub struct Warming {
    /// where a sampled run is in its schedule
    progress: Option<Progress>,
    up: WarmUp,
    /// warming until the region begins
    before_region: bool,
    filter: LineFilter,
    pace: Pace,
    /// of this phase of warming: instructions, and as many as there were when the timers were last looked at
    instructions: u64,
    looked: u64,
    /// idle, and all time without instructions [ps]
    idle_ps: u64,
    stood_ps: u64,
    /// of this stretch of detail: instructions, time without any, and the model's time when it began [ps]
    detailed: u64,
    detail_stood_ps: u64,
    detail_began_ps: u64,
}

impl Warming {
    pub fn new(arguments: &Arguments) -> Warming {
        Warming {
            progress: arguments.sample.map(Progress::new),
            up: arguments.warm_up,
            before_region: false,
            filter: LineFilter::default(),
            pace: Pace::FIRST,
            instructions: 0,
            looked: 0,
            idle_ps: 0,
            stood_ps: 0,
            detailed: 0,
            detail_stood_ps: 0,
            detail_began_ps: 0,
        }
    }

    /// A block of so many instructions is entered in detail.
    #[inline]
    pub fn in_detail(&mut self, instructions: u64) {
        self.detailed += instructions;
    }

    /// In detail, time passes without instructions.
    pub fn stands(&mut self, ps: u64) {
        self.detail_stood_ps += ps;
    }

    /// What has passed since the phase began [ps].
    fn time_ps(&self) -> u64 {
        self.pace.time_ps(self.instructions) + self.stood_ps
    }

    fn learn_pace(&mut self, model_ps: u64) {
        let ps = (model_ps - self.detail_began_ps).saturating_sub(self.detail_stood_ps);
        if self.detailed > 0 && ps > 0 {
            self.pace = Pace { instructions: self.detailed, ps };
        }
    }
}

impl Stream {
    /// Whether the model is to follow the program functionally until a region of detail begins.
    pub fn warms_up(&self) -> bool {
        self.warming.up == WarmUp::Program
    }

    /// Whether it does so now.
    pub fn is_before_region(&self) -> bool {
        self.warming.before_region
    }

    /// A region begins, or the way to it: in the phase that the schedule says.
    pub(super) fn begin_phase(&mut self, vcpu: usize, marker: Marker) {
        if marker == Marker::ProgramStart && self.warms_up() {
            self.warming.before_region = true;
            self.enter_warming(vcpu);
            return;
        }
        match self.warming.progress.as_ref().map(Progress::phase) {
            None => {}
            Some(Phase::Warming) => self.enter_warming(vcpu),
            Some(phase) => self.sample(vcpu, phase, 0),
        }
    }

    /// The region begins that was warmed up for.
    pub fn end_warm_up(&mut self, vcpu: usize, marker: Marker) {
        self.warming.before_region = false;
        self.leave_warming(vcpu);
        self.push(vcpu, Record::Mark { marker });
        self.begin_phase(vcpu, marker);
        self.producer.publish();
    }

    /// A block is entered: in the phase that the schedule says.
    #[inline]
    pub(super) fn step(&mut self, vcpu: usize, entered: BlockData) {
        let instructions = entered.instructions();
        self.entered = entered.id();
        if let Some(progress) = &mut self.warming.progress
            && !self.warming.before_region
        {
            let before = progress.phase();
            if let Some(phase) = progress.enter(instructions) {
                self.announce(vcpu, entered.id());
                self.follow(vcpu, before, phase);
            }
        }
        if mode::in_detail() {
            self.block(vcpu, entered);
        } else {
            self.warm_block(vcpu, entered.id(), instructions);
        }
    }

    #[cold]
    fn follow(&mut self, vcpu: usize, before: Phase, phase: Phase) {
        match (before, phase) {
            (Phase::Warming, _) => self.leave_warming(vcpu),
            (Phase::Measured, Phase::Warming) => self.sample(vcpu, Phase::Detailed, 0),
            _ => {}
        }
        match (before, phase) {
            (_, Phase::Warming) => self.enter_warming(vcpu),
            // Leaving has told it.
            (Phase::Warming, Phase::Detailed) => {}
            _ => self.sample(vcpu, phase, 0),
        }
    }

    fn sample(&mut self, vcpu: usize, phase: Phase, idle_ps: u64) {
        let position = self.warming.progress.as_ref().map_or(0, Progress::position);
        self.push(vcpu, Record::Sample { phase, position, idle_ps });
    }

    fn enter_warming(&mut self, vcpu: usize) {
        self.halt_others(vcpu);
        self.settle(vcpu);
        self.sample(vcpu, Phase::Warming, 0);
        let model_ps = self.model_ps;
        let warming = &mut self.warming;
        warming.learn_pace(model_ps);
        warming.filter.forget();
        (warming.instructions, warming.looked, warming.idle_ps, warming.stood_ps) = (0, 0, 0, 0);
        mode::set(Mode::Warming);
    }

    /// The model's time goes on where it was, the guest's where warming has brought it.
    pub(super) fn leave_warming(&mut self, vcpu: usize) {
        self.show_warmed();
        self.offset_ps += self.warming.time_ps();
        self.sample(vcpu, Phase::Detailed, self.warming.idle_ps);
        let warming = &mut self.warming;
        (warming.detailed, warming.detail_stood_ps, warming.detail_began_ps) = (0, 0, self.model_ps);
        mode::set(Mode::Detail);
        // Page tables may have changed unseen.
        self.pages.begin();
        self.take_over(vcpu);
    }

    /// Show what time it is where nothing is timed.
    pub(super) fn show_warmed(&self) {
        clock::publish(self.offset_ps + self.model_ps + self.warming.time_ps());
    }

    fn warm_block(&mut self, vcpu: usize, block: BlockId, instructions: u64) {
        self.push(vcpu, Record::Block { block, from: 0 });
        self.warming.instructions += instructions;
        if self.warming.instructions - self.warming.looked >= QUANTUM {
            self.warming.looked = self.warming.instructions;
            self.show_warmed();
            clock::run_due_timers(vcpu);
            if turns::several() {
                qemu::end_turn(vcpu);
            }
        }
    }

    /// An instruction that may repeat touches a line (virtual address / 64), in the phase that the schedule says: whether it
    /// has not done so just before.
    #[inline]
    pub(super) fn repeat(&mut self, vcpu: usize, instruction: u16, line: u64, store: bool) -> bool {
        let Some(progress) = self.warming.progress.as_mut().filter(|_| !self.warming.before_region) else {
            return true;
        };
        let before = progress.phase();
        let (counts, begins) = progress.repeat(instruction.into(), line, store);
        if let Some(phase) = begins {
            self.follow(vcpu, before, phase);
            self.push(vcpu, Record::Block { block: self.entered, from: instruction });
            self.last = [None; 2];
        }
        let passed = if mode::in_detail() { &mut self.warming.detailed } else { &mut self.warming.instructions };
        *passed += counts;
        counts > 0
    }

    /// The region ends: nothing more of it will be in a window.
    pub(super) fn end_phase(&mut self, vcpu: usize) {
        if mode::now() == Mode::Warming {
            self.leave_warming(vcpu);
        } else if self.warming.progress.is_some() {
            self.sample(vcpu, Phase::Detailed, 0);
        }
    }

    /// Whether the model is to be told that the line is touched (virtual address / 64).
    #[inline]
    pub(super) fn is_news(&mut self, line: u64, store: bool) -> bool {
        self.warming.filter.lets_pass(line, store)
    }

    /// Tell all lines anew.
    pub(super) fn forget_news(&mut self) {
        self.warming.filter.forget();
    }

    /// A device has served a request where nothing is timed.
    pub(super) fn warm_device_served(&mut self, vcpu: usize, service_ps: u64) {
        self.push(vcpu, Record::Device { service_ps });
        self.warming.stood_ps += service_ps;
        self.show_warmed();
    }

    /// All were idle for so long where nothing is timed.
    pub fn warm_idle(&mut self, ps: u64) {
        self.warming.idle_ps += ps;
        self.warming.stood_ps += ps;
        self.show_warmed();
    }
}
