//! Warming: what is known of a stretch that is not timed, and of the detail that sets its pace.
//!
//! ```text
//!   detail | settle, Sample(Warming) | Block, Access, Block, ... no questions | Sample(Detailed) | detail
//!   time:  the model's               | + instructions x recent pace           | the model's, and what passed meanwhile
//! ```
//!
//! The model's time stands still; the guest's goes on from where it was, so it is continuous and never runs back. Its pace is
//! that of the last stretch of detail; of several vCPUs, that of the last stretches, each of its own. Their windows lie in
//! time, where the mean of paces is more than the pace of all. Idle spans and devices' service are added as in detail.

use cxlab_access::{BlockId, Keep, LineFilter, Phase, Progress};

use crate::arguments::{Arguments, WarmUp};
use crate::turns::untimed::{self, Untimed};

use super::axis::{Axis, LINE_PS, Part};

/// Instructions between two looks at the timers; of several vCPUs, simulated time `[ps]`.
const QUANTUM: u64 = 10_000;
const QUANTUM_PS: u64 = 2_000_000;
/// Simulated time at the beginning of the first region of several vCPUs that is followed in detail whatever the schedule
/// says. Before it, the pace of work is unknown: by a guess, the first window stood for twenty times its share `[ps]`.
const BEGINNING_PS: u64 = 50_000_000;

/// Pace of instructions: so many in so much time `[ps]`. Those that repeat count by their lines.
#[derive(Clone, Copy)]
struct Pace {
    instructions: u64,
    ps: u64,
}

impl Pace {
    /// Pace of a guest before its first detail: an instruction a nanosecond, as at boot.
    const FIRST: Pace = Pace { instructions: 1, ps: 1000 };

    fn time_ps(self, instructions: u64) -> u64 {
        (u128::from(instructions) * u128::from(self.ps) / u128::from(self.instructions)) as u64
    }
}

/// State of warming, and of the detail that sets its pace.
pub struct Warming {
    /// where a sampled run is in its schedule
    progress: Option<Progress>,
    up: WarmUp,
    /// there are several vCPUs
    several: bool,
    /// warming until the region begins
    before_region: bool,
    /// for each vCPU
    filters: Vec<LineFilter>,
    /// where each of several vCPUs is
    untimed: Untimed,
    /// and where they all are on their schedule
    axis: Axis,
    pace: Pace,
    /// instructions of this phase of warming, and as many as there were when the timers were last looked at. With
    /// several vCPUs, the second is the time that had passed then `[ps]`
    instructions: u64,
    looked: u64,
    /// idle but for devices, and all time without instructions `[ps]`
    idle_ps: u64,
    stood_ps: u64,
    /// of this stretch of detail: instructions, time without any, and the model's time when it began `[ps]`
    detailed: u64,
    detail_stood_ps: u64,
    detail_began_ps: u64,
    /// of several vCPUs: a region has begun in detail, and what is known of its pace is learnt until then, by the
    /// model's time `[ps]`
    beginning_until_ps: Option<u64>,
    /// of several vCPUs, work of each in this stretch of detail; how long it took is known at its end
    stretch: Vec<Part>,
}

impl Warming {
    pub fn new(arguments: &Arguments) -> Warming {
        Warming {
            progress: arguments.sample.map(Progress::new),
            up: arguments.warm_up,
            several: arguments.vcpus > 1,
            before_region: false,
            filters: vec![LineFilter::default(); arguments.vcpus],
            untimed: Untimed::new(arguments.vcpus),
            axis: Axis::new(arguments.vcpus, arguments.sample.map_or(1, |schedule| schedule.every())),
            pace: Pace::FIRST,
            instructions: 0,
            looked: 0,
            idle_ps: 0,
            stood_ps: 0,
            detailed: 0,
            detail_stood_ps: 0,
            detail_began_ps: 0,
            beginning_until_ps: None,
            stretch: vec![Part::default(); arguments.vcpus],
        }
    }

    /// Whether the model is to follow the program functionally until a region of detail begins.
    pub fn warms_up(&self) -> bool {
        self.up == WarmUp::Program
    }

    /// Whether it does so now.
    pub fn is_before_region(&self) -> bool {
        self.before_region
    }

    pub fn set_before_region(&mut self, is: bool) {
        self.before_region = is;
    }

    /// The schedule, where one is followed now.
    #[inline]
    pub fn schedule(&mut self) -> Option<&mut Progress> {
        self.progress.as_mut().filter(|_| !self.before_region)
    }

    pub fn is_sampled(&self) -> bool {
        self.progress.is_some()
    }

    /// The phase that the schedule says.
    pub fn phase(&self) -> Option<Phase> {
        self.progress.as_ref().map(Progress::phase)
    }

    /// Position of the schedule. 0 if there is no schedule.
    pub fn position(&self) -> u64 {
        self.progress.as_ref().map_or(0, Progress::position)
    }

    /// Returns which of the windows so far are kept, once.
    pub fn take_keep(&mut self) -> Keep {
        self.progress.as_mut().map_or(Keep::All, Progress::take_keep)
    }

    /// So many instructions are executed in detail, the last of them the PAUSE of this block or none.
    #[inline]
    pub fn in_detail(&mut self, vcpu: usize, instructions: u64, paused: Option<BlockId>) {
        self.detailed += instructions;
        if self.several {
            self.stretch[vcpu].instructions += self.axis.execute(vcpu, instructions, paused);
        }
    }

    /// Whether an instruction of several vCPUs that may repeat touches another line than just before.
    pub fn repeats(&mut self, instruction: u16, line: u64, store: bool) -> bool {
        self.axis.repeats(instruction, line, store)
    }

    /// An instruction of one of several vCPUs touches the next line that it repeats.
    pub fn repeats_line(&mut self, vcpu: usize, in_detail: bool) {
        self.axis.touch_line();
        if in_detail {
            self.stretch[vcpu].lines += 1;
        } else {
            self.untimed.pass(vcpu, LINE_PS);
        }
    }

    /// In detail, all are idle.
    pub fn stands(&mut self, ps: u64) {
        self.detail_stood_ps += ps;
    }

    /// A phase of warming begins where the model has come to `model_ps`.
    pub fn begin(&mut self, model_ps: u64) {
        let ps = (model_ps - self.detail_began_ps).saturating_sub(self.detail_stood_ps);
        if self.detailed > 0 && ps > 0 {
            self.pace = Pace { instructions: self.detailed, ps };
        }
        self.forget_news();
        (self.instructions, self.looked, self.idle_ps, self.stood_ps) = (0, 0, 0, 0);
    }

    /// Detail begins where the model has come to `model_ps`.
    pub fn end(&mut self, model_ps: u64) {
        (self.detailed, self.detail_stood_ps, self.detail_began_ps) = (0, 0, model_ps);
    }

    /// Time since the phase began `[ps]`.
    pub fn time_ps(&self) -> u64 {
        if self.several { self.untimed.passed_ps() } else { self.pace.time_ps(self.instructions) + self.stood_ps }
    }

    /// A phase of warming of several vCPUs begins on this vCPU. The model has come to `model_ps`; the instructions of
    /// each took so long in the stretch of detail before `[ps]`.
    pub fn begin_of_several(&mut self, vcpu: usize, model_ps: u64, busy_ps: impl Iterator<Item = u64>) {
        let (time_ps, stretch) = self.take_stretch(model_ps, busy_ps);
        self.axis.learn(time_ps, &stretch);
        self.untimed.begin(vcpu, self.axis.paces_ps());
    }

    /// A stretch of detail ends: its time without idle spans, and what each vCPU did in how long `[ps]`.
    fn take_stretch(&mut self, model_ps: u64, busy_ps: impl Iterator<Item = u64>) -> (u64, Vec<Part>) {
        let parts = self.stretch.iter_mut().map(std::mem::take).zip(busy_ps);
        let stretch = parts.map(|(part, ps)| Part { ps, ..part }).collect();
        ((model_ps - self.detail_began_ps).saturating_sub(self.detail_stood_ps), stretch)
    }

    /// Time of an instruction of each of several vCPUs in the last stretches of detail `[ps]`.
    pub fn paces_ps(&self) -> impl Iterator<Item = u64> {
        self.axis.paces_ps()
    }

    /// Whether a region of several vCPUs is to begin in detail, because nothing is known of their pace.
    pub fn begins_unknown(&self) -> bool {
        self.several && self.progress.is_some() && self.axis.is_new()
    }

    /// A region begins in detail where the model has come to `model_ps`.
    pub fn begin_beginning(&mut self, model_ps: u64) {
        self.beginning_until_ps = Some(model_ps + BEGINNING_PS);
        self.stretch.fill(Part::default());
        self.end(model_ps);
    }

    /// Whether the model has come to the end of the beginning of a region.
    pub fn is_beginning_over(&self, model_ps: u64) -> bool {
        self.beginning_until_ps.is_some_and(|until_ps| model_ps >= until_ps)
    }

    /// Ends the beginning of a region, if it is over where the model has come to `model_ps`. It takes so long by the model,
    /// and the instructions of each vCPU so long `[ps]`. Returns whether it has ended.
    pub fn ends_beginning(&mut self, model_ps: u64, busy_ps: impl Iterator<Item = u64>) -> bool {
        if !self.is_beginning_over(model_ps) {
            return false;
        }
        self.beginning_until_ps = None;
        let (time_ps, stretch) = self.take_stretch(model_ps, busy_ps);
        self.axis.learn_beginning(time_ps, &stretch);
        self.end(model_ps);
        true
    }

    /// Whether a region is in its beginning.
    pub fn is_beginning(&self) -> bool {
        self.beginning_until_ps.is_some()
    }

    /// A region begins on this vCPU: see who of several does anything.
    pub fn begin_region(&mut self, vcpu: usize) {
        if self.several {
            untimed::look_who_sleeps(vcpu, self.stretch.len());
            self.axis.begin(untimed::awake(self.stretch.len()));
        }
    }

    /// Position of the schedule of several vCPUs `[ns]`.
    pub fn position_of_several(&self) -> u64 {
        self.axis.position()
    }

    /// Whether a vCPU may enter a block, or it is another's turn.
    #[inline]
    pub fn may_enter(&mut self, vcpu: usize) -> bool {
        self.untimed.enter(vcpu)
    }

    /// Time that all were idle since the phase began `[ps]`.
    pub fn idle_ps(&self) -> u64 {
        self.idle_ps
    }

    /// So many instructions are executed while nothing is timed, the last of them the PAUSE of this block or none.
    #[inline]
    pub fn untimed(&mut self, vcpu: usize, instructions: u64, paused: Option<BlockId>) {
        self.instructions += instructions;
        if self.several {
            self.untimed.execute(vcpu, instructions, paused.is_some());
            self.axis.execute(vcpu, instructions, paused);
        }
    }

    /// Whether it is time to look at the timers.
    #[inline]
    pub fn looks_at_timers(&mut self) -> bool {
        let (now, quantum) =
            if self.several { (self.untimed.passed_ps(), QUANTUM_PS) } else { (self.instructions, QUANTUM) };
        let due = now - self.looked >= quantum;
        if due {
            self.looked = now;
        }
        due
    }

    /// Whether the model is to be told that the line is touched (virtual address / 64).
    #[inline]
    pub fn is_news(&mut self, vcpu: usize, line: u64, store: bool) -> bool {
        let is_news = self.filters[vcpu].lets_pass(line, store);
        if is_news && store && self.several {
            let others = self.filters.iter_mut().enumerate().filter(|(other, _)| *other != vcpu);
            others.for_each(|(_, filter)| filter.forget_line(line));
        }
        is_news
    }

    /// Tell all lines anew.
    pub fn forget_news(&mut self) {
        self.filters.iter_mut().for_each(LineFilter::forget);
    }

    /// All were idle for so long where nothing is timed.
    pub fn idle(&mut self, ps: u64) {
        self.idle_ps += ps;
        self.rest(ps);
    }

    /// All wait for a device for so long where nothing is timed.
    pub fn rest(&mut self, ps: u64) {
        self.stood_ps += ps;
        self.untimed.idle(ps);
    }
}
