//! The stream puts what the guest does into the ring, and takes the time from it, in the phases of the run.
//!
//! ```text
//!   Stream = Feed (records and answers; sync points) + Warming (what passes where nothing is timed) + Bound (when it ends)
//!            '-- Link (the ring and the model's process)
//! ```
//!
//! One thread uses the stream at a time: that of the vCPUs, or the idle one while all are halted under the big lock.

mod axis;
mod block;
mod bound;
mod contended;
mod feed;
mod link;
mod sync;
mod warming;

use std::cell::UnsafeCell;

use cxlab_access::{BlockId, Marker, Phase, Record};

use crate::arguments::Arguments;
use crate::mode::{self, Mode};
use crate::qemu::BigLock;
use crate::releases::Releases;
use crate::{clock, disk, host_files, turns};

use bound::Bound;
use feed::Feed;
use link::Link;
use warming::Warming;

pub use block::BlockData;

pub struct Stream {
    pub feed: Feed,
    /// between windows, and ahead of a region
    pub warming: Warming,
    bound: Bound,
    pub releases: Releases,
    /// there are several vCPUs
    several: bool,
    /// of several vCPUs: the schedule is to be looked at
    looks: bool,
    /// the block that was entered last
    entered: BlockId,
}

/// Source of the event that ends a time in which all vCPUs are idle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum For {
    Timer,
    /// it has a request under way
    Device,
}

struct Cell(UnsafeCell<Option<Stream>>);
// SAFETY: one thread uses the stream at a time: see the module's text.
unsafe impl Sync for Cell {}
// SAFETY: as above.
unsafe impl Send for Cell {}

static STREAM: Cell = Cell(UnsafeCell::new(None));

/// Map the ring that the supervisor made.
pub fn open(arguments: &Arguments) -> Result<(), String> {
    let feed = Feed::new(Link::open(arguments)?, arguments.disk.map(|disk| disk.drive));
    let (warming, bound) = (Warming::new(arguments), Bound::new(arguments.bounds));
    let several = arguments.vcpus > 1;
    let releases = Releases::new(arguments.vcpus);
    let stream = Stream { feed, warming, bound, releases, several, looks: true, entered: BlockId(0) };
    // SAFETY: nothing else runs yet.
    unsafe { *STREAM.0.get() = Some(stream) };
    Ok(())
}

/// Use the stream from the thread whose turn it is.
#[inline]
pub fn with<R>(use_it: impl FnOnce(&mut Stream) -> R) -> R {
    // SAFETY: one thread uses the stream at a time: see the module's text.
    let stream = unsafe { (*STREAM.0.get()).as_mut() };
    use_it(stream.expect("open comes first"))
}

impl Stream {
    /// Detail begins at `marker`.
    pub fn begin(&mut self, vcpu: usize, marker: Marker) {
        self.feed.begin(vcpu, marker);
        self.begin_phase(vcpu, marker);
        self.feed.publish();
    }

    /// Detail ends at `marker`.
    pub fn finish(&mut self, vcpu: usize, marker: Marker) {
        self.end_phase(vcpu);
        self.feed.finish(vcpu, marker);
    }

    /// A region begins, or the way to it: in the phase that the schedule says.
    fn begin_phase(&mut self, vcpu: usize, marker: Marker) {
        self.warming.begin_region(vcpu);
        if marker == Marker::ProgramStart && self.warming.warms_up() {
            self.warming.set_before_region(true);
            self.enter_warming(vcpu);
            return;
        }
        if self.warming.begins_unknown() {
            self.sample(vcpu, Phase::Beginning, 0);
            self.warming.begin_beginning(self.feed.model_ps());
            self.feed.begin_stretch();
            return;
        }
        match self.warming.phase() {
            None => {}
            Some(Phase::Warming) => self.enter_warming(vcpu),
            Some(phase) => self.sample(vcpu, phase, 0),
        }
    }

    /// The region ends: nothing more of it will be in a window.
    fn end_phase(&mut self, vcpu: usize) {
        if mode::now() == Mode::Warming {
            self.leave_warming(vcpu);
        } else if self.warming.is_sampled() {
            self.sample(vcpu, Phase::Detailed, 0);
        }
    }

    /// The region begins that was warmed up for.
    pub fn end_warm_up(&mut self, vcpu: usize, marker: Marker) {
        self.leave_warming(vcpu);
        self.warming.set_before_region(false);
        self.feed.push(vcpu, Record::Mark { marker });
        self.begin_phase(vcpu, marker);
        self.feed.publish();
    }

    /// A block is entered: in the phase that the schedule says. Whether the run has come to its bound, before the block.
    #[inline]
    pub fn step(&mut self, vcpu: usize, entered: BlockData) -> bool {
        let instructions = entered.instructions();
        self.entered = entered.id();
        if entered.is_user() {
            self.bound.program_runs();
        }
        if self.several {
            if self.looks {
                self.look_at_schedule(vcpu, entered.id());
                self.looks = false;
            }
        } else if let Some(progress) = self.warming.schedule() {
            let before = progress.phase();
            if let Some(phase) = progress.enter(instructions) {
                self.feed.announce(vcpu, entered.id());
                self.follow(vcpu, before, phase);
            }
        }
        let looks = if mode::in_detail() {
            self.warming.in_detail(vcpu, instructions, entered.paused());
            self.feed.block(vcpu, entered)
        } else {
            self.warm_block(vcpu, entered)
        };
        self.looks |= looks;
        looks && self.ends(vcpu)
    }

    /// Whether one of several vCPUs may enter a block where instructions are timed, or it is another's turn.
    #[inline]
    pub fn may_enter(&mut self, vcpu: usize, next: BlockData) -> bool {
        self.feed.may_enter(vcpu, next) && !(self.looks && self.is_before_phase(vcpu, next.id()))
    }

    /// In detail a phase begins where the model has come to. Else a window would hold what was done before it, or the
    /// model would come to its end first. Returns whether a phase is due, and the model has not come so far. Then no vCPU
    /// goes on but the one that the model waits for. Otherwise 48 vCPUs were once 700 us ahead before one of them was where
    /// the model was.
    #[cold]
    fn is_before_phase(&mut self, vcpu: usize, next: BlockId) -> bool {
        self.is_phase_over() && !(self.feed.is_most_behind(vcpu) && self.feed.comes_to(vcpu, next))
    }

    /// Whether another phase of the schedule is due.
    fn is_phase_over(&mut self) -> bool {
        if self.warming.is_beginning() {
            return self.warming.schedule().is_some() && self.warming.is_beginning_over(self.feed.model_ps());
        }
        let position = self.warming.position_of_several();
        self.warming.schedule().is_some_and(|progress| progress.is_over(position))
    }

    /// The schedule of several vCPUs is in their common time, and looked at where that is known anew.
    #[cold]
    fn look_at_schedule(&mut self, vcpu: usize, next: BlockId) {
        if !self.is_phase_over() {
            return;
        }
        if self.warming.is_beginning() {
            self.end_beginning(vcpu, next);
            return;
        }
        let position = self.warming.position_of_several();
        let Some(progress) = self.warming.schedule() else { return };
        let before = progress.phase();
        if let Some(phase) = progress.reach(position) {
            self.feed.announce(vcpu, next);
            self.follow(vcpu, before, phase);
        }
    }

    /// Ends the beginning of a region of several vCPUs, if it has lasted long enough.
    fn end_beginning(&mut self, vcpu: usize, next: BlockId) {
        if !self.warming.ends_beginning(self.feed.model_ps(), self.feed.end_stretch()) {
            return;
        }
        self.feed.begin_stretch();
        let position = self.warming.position_of_several();
        let Some(progress) = self.warming.schedule() else { return };
        let phase = progress.reach(position).unwrap_or(progress.phase());
        self.feed.announce(vcpu, next);
        self.follow(vcpu, Phase::Beginning, phase);
    }

    /// Whether one of several vCPUs may enter a block where nothing is timed.
    pub fn may_warm(&mut self, vcpu: usize) -> bool {
        self.warming.may_enter(vcpu)
    }

    /// A locked instruction of one of several vCPUs touches `address`, which is in `line`.
    pub fn lock(&mut self, vcpu: usize, address: u64, line: u64) {
        self.releases.take(vcpu, address, line);
        self.feed.lock(vcpu, line);
    }

    /// A store that gives back a lock is next. Returns whether the vCPU may go on.
    pub fn reach_release(&mut self, vcpu: usize, instruction: u16) -> bool {
        self.feed.reach_release(vcpu, instruction, self.releases.held(vcpu))
    }

    /// Whether the instruction at `at` gives back a lock that others want by its store to `address`, which was not known.
    #[inline]
    pub fn learns_release(&mut self, vcpu: usize, address: u64, at: u64) -> bool {
        let Some(line) = self.releases.give_back(vcpu, address) else { return false };
        self.feed.is_wanted(vcpu, line) && self.releases.learn(at)
    }

    /// One of several vCPUs waits for an interrupt.
    pub fn halt(&mut self, vcpu: usize) {
        turns::untimed::fall_asleep(vcpu);
        if mode::in_detail() {
            self.feed.halt(vcpu);
        }
    }

    /// Whether the run has come to its bound; then it is over, before the block that was told last.
    fn ends(&mut self, vcpu: usize) -> bool {
        let ends = self.bound.is_reached(self.timed_ps());
        if ends {
            self.feed.push(vcpu, Record::Cut { instruction: 0 });
            self.finish(vcpu, Marker::ProgramEnd);
        }
        ends
    }

    /// Simulated time of the region so far, but for earlier stretches that were not timed `[ps]`.
    fn timed_ps(&self) -> u64 {
        let untimed = mode::now() == Mode::Warming && !self.warming.is_before_region();
        self.feed.model_ps() + if untimed { self.warming.time_ps() } else { 0 }
    }

    #[cold]
    fn follow(&mut self, vcpu: usize, before: Phase, phase: Phase) {
        match (before, phase) {
            (Phase::Warming, _) => self.leave_warming(vcpu),
            (Phase::Measured | Phase::Beginning, Phase::Warming) => self.sample(vcpu, Phase::Detailed, 0),
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
        let position = if self.several { self.warming.position_of_several() } else { self.warming.position() };
        let keep = self.warming.take_keep();
        self.feed.push(vcpu, Record::Sample { phase, position, keep, idle_ps });
    }

    fn enter_warming(&mut self, vcpu: usize) {
        // Its core comes to where all is committed: who goes on behind the phase is woken there.
        turns::speak(vcpu);
        self.feed.halt_others(vcpu);
        self.feed.settle(vcpu);
        self.feed.leave_devices();
        self.sample(vcpu, Phase::Warming, 0);
        let model_ps = self.feed.model_ps();
        if self.several {
            self.warming.begin_of_several(vcpu, model_ps, self.feed.end_stretch());
        }
        self.warming.begin(model_ps);
        mode::set(Mode::Warming);
    }

    /// The model's time goes on where it was, the guest's where warming has brought it.
    fn leave_warming(&mut self, vcpu: usize) {
        self.show_warmed();
        let passed_ps = self.warming.time_ps();
        self.feed.shift(passed_ps);
        if !self.warming.is_before_region() {
            self.bound.untimed(passed_ps);
        }
        self.sample(vcpu, Phase::Detailed, self.warming.idle_ps());
        self.warming.end(self.feed.model_ps());
        self.feed.resume(vcpu, self.warming.paces_ps());
        self.feed.begin_stretch();
    }

    /// Show what time it is where nothing is timed.
    pub fn show_warmed(&self) {
        self.feed.show_untimed(self.warming.time_ps());
    }

    /// Whether it was time to look at the timers.
    fn warm_block(&mut self, vcpu: usize, entered: BlockData) -> bool {
        self.feed.push(vcpu, Record::Block { block: entered.id(), from: 0 });
        self.warming.untimed(vcpu, entered.instructions(), entered.paused());
        let looks = self.warming.looks_at_timers();
        if looks {
            self.show_warmed();
            clock::run_due_timers(vcpu);
            self.feed.answer_if_done();
        }
        looks
    }

    /// An instruction that may repeat touches a line (virtual address / 64), in the phase of the schedule. Returns
    /// whether it has not done so just before.
    #[inline]
    pub fn repeat(&mut self, vcpu: usize, instruction: u16, line: u64, store: bool) -> bool {
        if self.several {
            return self.repeat_of_several(vcpu, instruction, line, store);
        }
        let Some(progress) = self.warming.schedule() else {
            return true;
        };
        let before = progress.phase();
        let (counts, begins) = progress.repeat(instruction.into(), line, store);
        if let Some(phase) = begins {
            if before != Phase::Warming {
                // What it does next stands behind the phase.
                self.feed.push(vcpu, Record::Cut { instruction });
            }
            self.follow(vcpu, before, phase);
            self.feed.push(vcpu, Record::Block { block: self.entered, from: instruction });
            if before == Phase::Warming {
                self.feed.forget_touches();
            }
        }
        if mode::in_detail() {
            self.warming.in_detail(vcpu, counts, None);
        } else {
            self.warming.untimed(vcpu, counts, None);
        }
        counts > 0
    }

    /// Counts a line that an instruction of one of several vCPUs repeats. Returns whether it is new. A phase begins
    /// only with a block.
    fn repeat_of_several(&mut self, vcpu: usize, instruction: u16, line: u64, store: bool) -> bool {
        let is_new = self.warming.repeats(instruction, line, store);
        if is_new {
            let in_detail = mode::in_detail();
            self.warming.repeats_line(vcpu, in_detail);
            if in_detail {
                self.feed.repeats_line(vcpu);
            }
        }
        is_new
    }

    /// Lets a span pass in which all vCPUs are idle. Returns whether the run has come to its bound.
    pub fn idle(&mut self, span_ps: u64) -> bool {
        let timed_ps = self.timed_ps();
        let idle_ps = self.feed.idle(self.end_of_idle(span_ps));
        self.bound.idle(idle_ps, timed_ps);
        self.warming.stands(idle_ps);
        self.ends_idle()
    }

    /// When an idle span ends, by the guest's clock: where a timer that counts whole nanoseconds rings, or at the run's
    /// bound `[ps]`.
    fn end_of_idle(&self, span_ps: u64) -> u64 {
        let now_ps = clock::now_ps();
        (clock::whole_ns_ps() + span_ps).min(now_ps + self.bound.cut(u64::MAX - now_ps, self.timed_ps()))
    }

    /// Whether the run has come to its bound where all are idle; then it is over.
    fn ends_idle(&mut self) -> bool {
        let ends = self.bound.is_reached(self.timed_ps());
        if ends {
            self.finish(turns::speaker(), Marker::ProgramEnd);
        }
        ends
    }

    /// Lets a span pass in which all vCPUs are idle for a device, whose answer may end it. Returns whether the run has come to
    /// its bound.
    pub fn rest(&mut self, span_ps: u64, lock: &BigLock) -> bool {
        let span_ps = span_ps.min(self.feed.until_estimate_ps());
        if !mode::in_detail() {
            return self.warm_idle(span_ps, For::Device);
        }
        let timed_ps = self.timed_ps();
        let rested_ps = self.feed.rest(self.end_of_idle(span_ps));
        self.bound.idle(rested_ps, timed_ps);
        self.warming.stands(rested_ps);
        self.feed.answer(lock);
        self.ends_idle()
    }

    /// The guest has stored to a device. The host serves what that asks for, while the guest's time stands still.
    pub fn ask_host(&mut self, vcpu: usize) {
        let asked = host_files::hold();
        if !asked.is_empty() && !mode::in_detail() {
            self.show_warmed();
        }
        for one in asked {
            self.feed.ask_file(vcpu, one);
        }
    }

    /// The guest has stored to a device. What it has asked of its disk is under way from here on. What has failed at once is
    /// answered at once.
    pub fn ask_disk(&mut self, vcpu: usize) {
        let (failed, asked): (Vec<_>, Vec<_>) = disk::take().into_iter().partition(|asked| asked.segments.is_empty());
        if !asked.is_empty() && !mode::in_detail() {
            self.show_warmed();
        }
        for asked in &asked {
            self.feed.ask_disk(vcpu, asked);
        }
        if !failed.is_empty() {
            let numbers: Vec<u32> = failed.iter().map(|asked| asked.number).collect();
            disk::answer(&numbers, &BigLock::take());
        }
    }

    /// Lets an idle span pass where nothing is timed. Returns whether the run has come to its bound. Before a region
    /// no bound holds.
    pub fn warm_idle(&mut self, span_ps: u64, waits: For) -> bool {
        let in_region = !self.warming.is_before_region();
        let span_ps = if in_region { self.bound.idle(span_ps, self.timed_ps()) } else { span_ps };
        match waits {
            For::Timer => self.warming.idle(span_ps),
            For::Device => {
                self.warming.rest(span_ps);
                self.feed.push(turns::speaker(), Record::Rested { span_ps });
            }
        }
        self.show_warmed();
        in_region && self.ends_idle()
    }
}
