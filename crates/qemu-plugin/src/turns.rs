//! Turns: QEMU runs one vCPU after the other; which one may run, and until when, follows simulated time.
//!
//! ```text
//!   vCPU 0  ----------|                 |--------          a turn ends where the vCPU would be further ahead of the
//!   vCPU 1            |-----------------|                  one most behind than the skew allows; one that is ahead
//!   time    0       2 us      1 us     3 us                gives its turn back at once
//! ```
//!
//! Where a vCPU has come to is an estimate (`turns/estimate.rs`). A vCPU reads the clock only when it is the one most
//! behind, by that estimate: what it reads is nobody's future. While a vCPU spins, which its PAUSE tells, no vCPU
//! runs ahead of another, whatever the skew. The one that waits looks again behind each PAUSE, and sees what others
//! have done by then. To keep this rule, the plugin asks the model where a vCPU is at the beginning of its turn. If the
//! model lacks another one's steps, that one has the next turn, and nobody asks before. The plugin goes on with that for
//! a while after the last PAUSE, and where locked instructions of two vCPUs touch one line. With a skew of 0 it does so
//! throughout. Before and behind such a locked instruction, all that the vCPU did has to commit (`turns/shared_lines.rs`).
//! That is so before a lock is given back as well (`releases.rs`): it is held for as long as the model holds it. Nobody takes or
//! gives back a lock ahead of another vCPU that goes on.
//!
//! An estimate is wrong by a microsecond if an instruction misses all caches. A turn ends at the beginning of a block, before a
//! clock read, or before a lock is given back. QEMU's state is put back to that instruction (`cpu_loop_exit_restore`), and the
//! main loop goes on to the next vCPU.

mod estimate;
mod halts;
mod shared_lines;
pub mod untimed;

use std::ffi::c_int;
use std::sync::OnceLock;

use cxlab_access::record::PAUSE_PS;
use cxlab_access::ring::Behind;

use estimate::Estimate;
use shared_lines::SharedLines;

use crate::arguments::Arguments;
use crate::mode::{self, Mode};
use crate::qemu::{self, Cpu};

pub use halts::{any_halted, any_woken, halt, is_halted, name_next, speak, speaker};

/// Instructions between two PAUSEs of one that spins, at most: it looks at what it waits for, and perhaps at the clock.
pub const SPIN: u64 = 64;
/// Instructions of a turn at most where `is_in_order` says so.
const MOST_IN_ORDER: u64 = 100;
/// How far a vCPU is ahead of another at most where a vCPU has spun lately `[ps]`. One that waits looks no more often. With 200 ns
/// in place of it, accounts behind spin locks took 4 % less time, before locks were held in the model's time.
const AHEAD_OF_CONTENDED_PS: u64 = PAUSE_PS;
/// How long ago that is, at most `[ps]`.
const LATELY_PS: u64 = 50_000_000;
/// Answers that are all the time at which all had committed before, until that is asked for anew.
const HELD_UP: u32 = 2;
/// Time between locked instructions of two vCPUs that touch one line, at most, if threads are taken to wait for each other there
/// `[ps]`. They are taken to do so for twice as long. One that holds a lock for longer than the skew gives others their turns meanwhile.
const SHARED_PS: u64 = 5_000_000;

struct Spec {
    vcpus: usize,
    skew_ps: u64,
}

static SPEC: OnceLock<Spec> = OnceLock::new();

pub fn start(arguments: &Arguments) {
    let _ = SPEC.set(Spec { vcpus: arguments.vcpus, skew_ps: arguments.skew_ps });
}

fn spec() -> &'static Spec {
    SPEC.get().expect("start comes first")
}

pub fn vcpus() -> usize {
    spec().vcpus
}

/// Whether there is more than one vCPU, so that they take turns.
pub fn several() -> bool {
    vcpus() > 1
}

/// Lets other vCPUs run where nothing says how far each has come. `vcpu` ends its turn if another one has something
/// to do. Else QEMU would go round all that have halted, which takes longer than a turn where there are many.
pub fn let_others_run(vcpu: usize) {
    if (0..vcpus()).any(|other| other != vcpu && !qemu::is_idle(other)) {
        qemu::end_turn(vcpu);
    }
}

/// The vCPU whose next steps the model lacked when it last put off an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lacking {
    Nobody,
    /// it has not gone on since
    Still(usize),
    /// it has gone on, and nobody else has
    Fed(usize),
}

/// The vCPU whose turn it is, and how far each vCPU has come.
pub struct Turns {
    estimates: Vec<Estimate>,
    /// where each has come to, but for the one that runs `[ps]`: all of them are compared at each turn
    come_to_ps: Vec<u64>,
    lacking: Lacking,
    /// where the model was when it last lacked something `[ps]`
    floor_ps: u64,
    /// who runs
    running: usize,
    /// instructions of its turn that are left
    left: u64,
    /// bits of the vCPUs that spin
    spinning: usize,
    /// bits of those whose last block had a locked instruction that others wait with
    locked: usize,
    /// bits of those that have executed nothing since all that they did had committed, by the model's word
    drained: usize,
    told: Vec<Told>,
    shared_lines: SharedLines,
    /// until when vCPUs are taken to have waited for each other lately `[ps]`
    contended_ps: u64,
    skew_ps: u64,
}

/// Answers of the model to a vCPU.
#[derive(Clone, Copy, Default)]
struct Told {
    /// when all that it did had committed, by the last word on that `[ps]`
    drained_ps: u64,
    /// later answers that were the same time
    same: u32,
}

/// Act of a vCPU at the beginning of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    Run,
    /// it goes on behind a halt, which the speaker's records tell
    Wake {
        speaker: usize,
    },
    /// where it is has to be asked; `drained`, when all that it did has committed
    Ask {
        drained: bool,
    },
    /// it is another's turn
    Leave,
}

impl Turns {
    pub fn new() -> Turns {
        Turns::of(vcpus(), spec().skew_ps)
    }

    fn of(vcpus: usize, skew_ps: u64) -> Turns {
        Turns {
            estimates: vec![Estimate::new(); vcpus],
            come_to_ps: vec![0; vcpus],
            lacking: Lacking::Nobody,
            floor_ps: 0,
            running: 0,
            left: 0,
            spinning: 0,
            locked: 0,
            drained: 0,
            told: vec![Told::default(); vcpus],
            shared_lines: SharedLines::new(),
            contended_ps: 0,
            skew_ps,
        }
    }

    /// Detail goes on where the model has come to `now_ps`: there all have committed what they did. An instruction of each
    /// took so long in the last stretches, as far as is known `[ps]`.
    pub fn resume(&mut self, now_ps: u64, paces_ps: impl Iterator<Item = u64>) {
        for (estimate, pace_ps) in self.estimates.iter_mut().zip(paces_ps) {
            estimate.go_on_at(now_ps, pace_ps);
        }
        (0..self.estimates.len()).for_each(|vcpu| self.note(vcpu));
    }

    /// A stretch of detail begins where the model has come to `now_ps`, and each vCPU has slept for so long `[ps]`.
    pub fn begin_stretch(&mut self, now_ps: u64, slept_ps: impl Fn(usize) -> u64) {
        for (vcpu, estimate) in self.estimates.iter_mut().enumerate() {
            estimate.begin_stretch(now_ps, slept_ps(vcpu));
        }
    }

    /// How long the instructions of each took in a stretch `[ps]`. It ends where the model has come to `now_ps`, and each
    /// vCPU has slept for so long by then `[ps]`.
    pub fn end_stretch(&self, now_ps: u64, slept_ps: impl Fn(usize) -> u64) -> impl Iterator<Item = u64> {
        let each = self.estimates.iter().enumerate();
        each.map(move |(vcpu, estimate)| estimate.end_stretch(now_ps, slept_ps(vcpu)))
    }

    /// Its estimate has changed.
    fn note(&mut self, vcpu: usize) {
        self.come_to_ps[vcpu] = self.come_to(vcpu);
    }

    /// Where it has come to, by its estimate. If all actions are to be in order, it has come there at least: one that seems
    /// further than it is lets others pass. With its usual pace, accounts behind spin locks took 3 % less time in the exact order.
    fn come_to(&self, vcpu: usize) -> u64 {
        let estimate = &self.estimates[vcpu];
        if self.is_in_order(vcpu) { estimate.least_ps() } else { estimate.ps() }
    }

    /// The vCPU whose records tell that another one goes on. It is the speaker, unless that sleeps by now: then nobody
    /// would read them. So a core once slept for ever, and those that waited for it spun.
    fn waker(&self) -> usize {
        let speaker = speaker();
        if halts::named() == speaker || !is_halted(speaker) {
            return speaker;
        }
        let awake = (0..self.estimates.len()).filter(|vcpu| !is_halted(*vcpu));
        awake.min_by_key(|vcpu| self.estimates[*vcpu].ps()).unwrap_or(speaker)
    }

    /// The time of the one most behind of all others that do not halt `[ps]`.
    fn others_ps(&self) -> Option<u64> {
        self.others_that_go_on().map(|(_, ps)| ps).min()
    }

    /// All that do not halt but the one that runs, each with where it has come to `[ps]`.
    fn others_that_go_on(&self) -> impl Iterator<Item = (usize, u64)> {
        let asleep = halts::halted() | 1 << self.running;
        let others = self.come_to_ps.iter().copied().enumerate().filter(move |(vcpu, _)| asleep >> vcpu & 1 == 0);
        others.map(|(vcpu, ps)| (vcpu, ps.max(self.floor_ps)))
    }

    /// `vcpu` is about to enter a block. If it `locks`, one of its instructions is known to be one that others wait with.
    #[inline]
    pub fn enter(&mut self, vcpu: usize, locks: bool) -> Turn {
        let is_over = vcpu != self.running || self.left == 0 || is_halted(vcpu);
        if is_over || locks && self.is_in_order(vcpu) { self.choose(vcpu, locks) } else { Turn::Run }
    }

    #[cold]
    fn choose(&mut self, vcpu: usize, locks: bool) -> Turn {
        self.note(self.running);
        self.running = vcpu;
        let (speaker, woken) = (self.waker(), halts::end_halt(vcpu));
        if woken {
            let now_ps = self.estimates[speaker].ps();
            self.estimates[vcpu].stand_until(now_ps);
        }
        self.measure();
        if woken {
            self.left = self.left.max(1);
            return Turn::Wake { speaker };
        }
        self.let_lacking_first();
        let is_known = self.lacking == Lacking::Still(vcpu) || self.estimates[vcpu].is_known();
        if self.left == 0 {
            Turn::Leave
        } else if self.is_to_drain(vcpu, locks) {
            Turn::Ask { drained: true }
        } else if locks && self.is_in_order(vcpu) && !self.is_most_behind(vcpu) {
            self.left = 0;
            Turn::Leave
        } else if self.is_in_order(self.running) && !is_known {
            Turn::Ask { drained: self.is_held_up(vcpu) }
        } else {
            Turn::Run
        }
    }

    /// Whether all that it did has to have committed before it goes on. That is so before a locked instruction that others wait with,
    /// which begins then, and behind one: by then it has the line.
    fn is_to_drain(&self, vcpu: usize, locks: bool) -> bool {
        let is = |bits: usize| bits >> vcpu & 1 == 1;
        (locks || is(self.locked)) && !is(self.drained) && self.is_in_order(vcpu)
    }

    /// Whether the core's front end is so far behind what has committed that it says nothing of where the vCPU is. That is so where a
    /// thread takes and gives back locks, and guesses each branch. Ten turns under a lock once seemed to take no time.
    fn is_held_up(&self, vcpu: usize) -> bool {
        self.told[vcpu].same >= HELD_UP
    }

    /// Ends the turn if all actions are to be in order, and the model lacks steps of another one. It could not say yet where this
    /// one is.
    fn let_lacking_first(&mut self) {
        let is_next = |vcpu: usize| vcpu != self.running && !is_halted(vcpu);
        if self.is_in_order(self.running) && matches!(self.lacking, Lacking::Still(vcpu) if is_next(vcpu)) {
            self.left = 0;
        }
    }

    /// One that was taken to have halted goes on beside the one that runs: whether it was.
    pub fn wake(&mut self, vcpu: usize, running: usize) -> bool {
        let woken = halts::end_halt(vcpu);
        if woken {
            let now_ps = self.estimates[running].ps();
            self.estimates[vcpu].stand_until(now_ps);
            self.note(vcpu);
            self.measure();
        }
        woken
    }

    /// Whether the turn of the one that runs goes on, now that it is measured anew.
    pub fn goes_on(&self) -> bool {
        self.left > 0
    }

    /// Whether all actions are to be in order of time, where this one is: another one spins, or did lately. Then each is asked
    /// where it is, also one that spins itself. Many that test and set one line wait for each other, for microseconds where there are
    /// 48 of them. Taken to be as fast as a PAUSE, they made accounts behind spin locks take 20 % more time.
    pub fn is_in_order(&self, vcpu: usize) -> bool {
        self.skew_ps == 0 || self.is_contended(vcpu) || self.others_spin(vcpu)
    }

    /// Whether a vCPU has spun lately, where this one is.
    fn is_contended(&self, vcpu: usize) -> bool {
        self.estimates[vcpu].ps() < self.contended_ps
    }

    /// How far the running vCPU may come, by where the others are `[ps]`: ahead of one that works by the skew. One that spins
    /// has been told behind its PAUSE. Where it looks again, it has to see what others have done by then, and no more.
    fn until_ps(&self) -> Option<u64> {
        let most_ps = if self.is_contended(self.running) { AHEAD_OF_CONTENDED_PS } else { u64::MAX };
        let spinning = if self.estimates[self.running].spins() { usize::MAX } else { self.spinning };
        let ahead_ps = |other: usize| if spinning >> other & 1 == 1 { 0 } else { self.skew_ps.min(most_ps) };
        self.others_that_go_on().map(|(other, ps)| ps + ahead_ps(other)).min()
    }

    /// Measures how many instructions the running vCPU may execute.
    fn measure(&mut self) {
        let running = &self.estimates[self.running];
        self.left = match self.until_ps() {
            None => u64::MAX,
            Some(until_ps) => until_ps.saturating_sub(running.ps()) / running.pace_ps(),
        };
        if self.is_in_order(self.running) {
            self.left = self.left.min(MOST_IN_ORDER);
        }
        // The vCPU that is most behind always runs.
        if self.left == 0 && self.is_most_behind(self.running) {
            self.left = 1;
        }
    }

    /// Whether the model has said where it is.
    pub fn is_known(&self, vcpu: usize) -> bool {
        self.estimates[vcpu].is_known()
    }

    /// Whether no other that does not halt is behind the one that runs, by the model's word or by the estimates.
    pub fn is_most_behind(&self, vcpu: usize) -> bool {
        let is_lacking = matches!(self.lacking, Lacking::Still(lacking) | Lacking::Fed(lacking) if lacking == vcpu);
        is_lacking || self.others_ps().is_none_or(|others_ps| self.come_to(vcpu) <= others_ps)
    }

    /// It executes so many instructions, the last of them PAUSE or not.
    #[inline]
    pub fn execute(&mut self, vcpu: usize, instructions: u64, pauses: bool) {
        speak(vcpu);
        self.feed(vcpu);
        self.estimates[vcpu].execute(instructions, pauses);
        self.note_spinning(vcpu);
        if pauses {
            self.contended_ps = self.contended_ps.max(self.estimates[vcpu].ps() + LATELY_PS);
        }
        self.left = self.left.saturating_sub(instructions);
        self.drained &= !(1 << vcpu);
        self.locked &= !(1 << vcpu);
    }

    /// A locked instruction of its block touches a line. Returns whether another vCPU has done so lately: threads wait for each other
    /// there, or soon will. One that sleeps meanwhile executes no PAUSE. Others have their turns before this one goes on.
    pub fn lock(&mut self, vcpu: usize, line: u64) -> bool {
        let now_ps = self.estimates[vcpu].ps();
        let Some(since_ps) = self.shared_lines.touch(vcpu, line, now_ps) else { return false };
        if since_ps < SHARED_PS {
            self.contended_ps = self.contended_ps.max(now_ps + 2 * SHARED_PS);
        }
        let is_contended = since_ps < LATELY_PS && self.is_in_order(vcpu);
        if is_contended {
            (self.left, self.locked) = (0, self.locked | 1 << vcpu);
        }
        is_contended
    }

    /// Whether a locked instruction of another vCPU has lately touched this line.
    pub fn is_shared(&self, vcpu: usize, line: u64) -> bool {
        self.shared_lines.since(vcpu, line, self.estimates[vcpu].ps()).is_some_and(|since_ps| since_ps < LATELY_PS)
    }

    /// The model is told of its next steps.
    #[inline]
    fn feed(&mut self, vcpu: usize) {
        self.lacking = match self.lacking {
            Lacking::Still(lacking) | Lacking::Fed(lacking) if lacking == vcpu => Lacking::Fed(vcpu),
            _ => Lacking::Nobody,
        };
    }

    /// The block that it executes is longer by so many instructions.
    #[inline]
    pub fn lengthen(&mut self, vcpu: usize, instructions: u64) {
        self.estimates[vcpu].lengthen(instructions);
        self.left = self.left.saturating_sub(instructions);
    }

    /// Whether another one spins.
    fn others_spin(&self, vcpu: usize) -> bool {
        self.spinning & !halts::halted() & !(1 << vcpu) != 0
    }

    #[inline]
    fn note_spinning(&mut self, vcpu: usize) {
        self.spinning = self.spinning & !(1 << vcpu) | usize::from(self.estimates[vcpu].spins()) << vcpu;
    }

    /// So many of these were not executed after all, the last of them PAUSE or not.
    pub fn take_back(&mut self, vcpu: usize, instructions: u64, pauses: bool) {
        self.estimates[vcpu].take_back(instructions, pauses);
        self.note_spinning(vcpu);
    }

    /// The model says that others are behind, whatever was estimated: theirs is the next turn.
    pub fn step_back(&mut self, vcpu: usize, behind: Behind) {
        let lacking = behind.vcpu.index();
        self.estimates[lacking].found_at(behind.at_ps);
        self.note(lacking);
        self.floor_ps = self.floor_ps.max(behind.at_ps);
        self.lacking = Lacking::Still(lacking);
        if let Some((sequence, ps)) = behind.synced {
            self.estimates[vcpu].synced(sequence, ps);
        }
        // In order of time, the model says after each step of the other one whether that one is behind still.
        let most_ps = if self.is_in_order(vcpu) { 0 } else { self.skew_ps };
        if let Some(others_ps) = self.others_ps() {
            self.estimates[vcpu].step_back(behind.asker_ps, others_ps, most_ps);
        }
        self.measure();
        self.let_lacking_first();
    }

    /// Nothing happened until `ps`.
    pub fn idle(&mut self, vcpu: usize, ps: u64) {
        self.estimates[vcpu].stand_until(ps);
        self.note(vcpu);
    }

    pub fn sync(&mut self, vcpu: usize, sequence: u64) {
        self.estimates[vcpu].sync(sequence);
    }

    /// The answer to one of its sync points: how long an instruction takes by now `[ps]`.
    pub fn synced(&mut self, vcpu: usize, sequence: u64, ps: u64, drained: bool) -> u64 {
        self.estimates[vcpu].synced(sequence, ps);
        self.drained |= usize::from(drained) << vcpu;
        let told = &mut self.told[vcpu];
        if drained {
            *told = Told { drained_ps: ps, same: 0 };
        } else {
            told.same = if ps == told.drained_ps { told.same + 1 } else { 0 };
        }
        self.measure();
        self.estimates[vcpu].pace_ps()
    }

    /// The answer to a question of this moment.
    pub fn answered(&mut self, vcpu: usize, ps: u64) {
        self.estimates[vcpu].answered(ps);
        self.note(vcpu);
        if vcpu == self.running {
            self.measure();
        }
    }
}

/// QEMU raises an interrupt. One for a vCPU that has halted ends the turn of the one that runs.
pub unsafe extern "C" fn handle_interrupt(cpu: Cpu, mask: c_int) {
    // SAFETY: QEMU's own function, with its own arguments.
    unsafe { (qemu::functions().tcg_handle_interrupt)(cpu, mask) };
    if mode::now() == Mode::Warming && several() {
        untimed::wakes(cpu, vcpus());
    } else if any_halted() && mode::in_detail() && (0..vcpus()).any(|vcpu| is_halted(vcpu) && qemu::cpu(vcpu) == cpu) {
        qemu::end_turn(speaker());
    }
}

#[cfg(test)]
mod tests {
    use cxlab_access::Vcpu;

    use super::*;

    #[test]
    fn one_whose_steps_the_model_lacks_goes_on_before_anybody_asks() {
        let mut turns = Turns::of(3, 0);
        for vcpu in 0..3 {
            assert_eq!(turns.enter(vcpu, false), Turn::Run);
            turns.execute(vcpu, 10, false);
        }
        assert_eq!(turns.enter(0, false), Turn::Ask { drained: false });
        turns.sync(0, 1);
        turns.step_back(0, Behind { vcpu: Vcpu::new(2), at_ps: 1000, asker_ps: 1000, synced: None });
        assert!(!turns.goes_on());
        assert_eq!(turns.enter(1, false), Turn::Leave);
        assert_eq!(turns.enter(2, false), Turn::Run);
        turns.execute(2, 10, false);
        assert_eq!(turns.enter(1, false), Turn::Ask { drained: false });
    }

    #[test]
    fn one_that_works_comes_up_to_one_that_spins_in_one_turn() {
        let mut turns = Turns::of(3, 2_000_000);
        turns.enter(2, false);
        turns.execute(2, 4, true);
        // Two that work are where they began: both know it. The third looks again after a PAUSE.
        assert_eq!(turns.enter(0, false), Turn::Run);
        assert_eq!(turns.left, MOST_IN_ORDER);
        turns.execute(0, PAUSE_PS / turns.estimates[0].pace_ps(), false);
        assert_eq!(turns.enter(2, false), Turn::Leave);
        assert_eq!(turns.enter(1, false), Turn::Run);
    }

    #[test]
    fn one_that_has_locked_what_another_wants_is_asked_when_that_was_done() {
        let mut turns = Turns::of(2, 2_000_000);
        let is_contended: Vec<bool> = (0..2)
            .map(|vcpu| {
                assert_eq!(turns.enter(vcpu, false), Turn::Run);
                turns.execute(vcpu, 4, false);
                turns.lock(vcpu, 7)
            })
            .collect();
        // The first has the line to itself when it locks it.
        assert_eq!(is_contended, [false, true]);
        assert_eq!(turns.enter(1, false), Turn::Ask { drained: true });
        turns.sync(1, 1);
        turns.synced(1, 1, 1000, true);
        assert_eq!(turns.enter(1, true), Turn::Run);
        turns.execute(1, 4, false);
        // All before its next one has to have committed as well.
        assert_eq!(turns.enter(1, true), Turn::Ask { drained: true });
        assert!(turns.is_shared(0, 7) && !turns.is_shared(0, 8));
    }

    #[test]
    fn none_takes_a_lock_ahead_of_another() {
        let mut turns = Turns::of(3, 2_000_000);
        for vcpu in [0, 1] {
            turns.enter(vcpu, false);
            turns.execute(vcpu, 4, false);
            turns.lock(vcpu, 7);
        }
        // The second one is further than the others, but by less than a PAUSE.
        turns.sync(1, 1);
        turns.synced(1, 1, AHEAD_OF_CONTENDED_PS / 2, true);
        assert!(!turns.is_most_behind(1));
        assert_eq!(turns.enter(1, true), Turn::Leave);
        assert_eq!(turns.enter(1, false), Turn::Run);
    }

    #[test]
    fn one_whose_front_end_says_nothing_is_asked_when_all_has_committed() {
        let mut turns = Turns::of(2, 0);
        turns.enter(1, false);
        turns.execute(1, 4, false);
        turns.sync(1, 1);
        turns.synced(1, 1, 1_000_000, false);
        let mut ask = |sequence, ps, drained| {
            let asked = turns.enter(0, false);
            turns.sync(0, sequence);
            turns.synced(0, sequence, ps, drained);
            turns.execute(0, MOST_IN_ORDER, false);
            asked
        };
        ask(1, 5000, true);
        let here = Turn::Ask { drained: false };
        assert_eq!([ask(2, 5000, false), ask(3, 5000, false)], [here; 2]);
        assert_eq!(ask(4, 9000, true), Turn::Ask { drained: true });
        assert_eq!(ask(5, 9100, false), here);
    }
}
