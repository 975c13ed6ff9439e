//! Turns: QEMU runs one vCPU after the other; which one may run, and until when, follows simulated time.
//!
//! ```text
//!   vCPU 0  ----------|                 |--------          a turn ends where the vCPU would be further ahead of the
//!   vCPU 1            |-----------------|                  one most behind than the skew allows; one that is ahead
//!   time    0       2 us      1 us     3 us                gives its turn back at once
//! ```
//!
//! Where a vCPU has come to is the model's last answer and what it has executed since, at its recent pace. A vCPU reads
//! the clock only when it is the one most behind, by that estimate: what it reads is nobody's future.
//! A turn ends at the beginning of a block or before a clock read: QEMU's state is put back to that instruction
//! (`cpu_loop_exit_restore`), and the main loop goes on to the next vCPU.

use std::arch::naked_asm;
use std::ffi::{c_int, c_void};
use std::sync::OnceLock;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;

use crate::arguments::Arguments;
use crate::qemu::{self, Cpu};
use crate::{mode, stream};

/// Pace of a vCPU that no answer has told anything of: an instruction a cycle at 4 GHz [ps].
const FIRST_PACE_PS: u64 = 250;
/// Sync points of a vCPU that are kept until they are answered.
const KEPT: usize = 4;

/// Six instructions a cycle at 4 GHz [ps].
const LEAST_PACE_PS: u64 = 40;
/// Instructions that the pace is measured over, at least.
const MEASURED: u64 = 100;
/// A vCPU that the model finds ahead lets the others run such a part of the skew before it asks again.
const STEPS: u64 = 8;

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

/// Bits of the vCPUs that wait for an interrupt.
static HALTED: AtomicUsize = AtomicUsize::new(0);
/// Who has executed the last block: what wakes another stands in its records.
static SPEAKER: AtomicUsize = AtomicUsize::new(0);

pub fn is_halted(vcpu: usize) -> bool {
    HALTED.load(Relaxed) >> vcpu & 1 == 1
}

pub fn any_halted() -> bool {
    HALTED.load(Relaxed) != 0
}

/// It waits for an interrupt from here on.
pub fn halt(vcpu: usize) {
    HALTED.fetch_or(1 << vcpu, Relaxed);
}

/// It goes on: whether it had halted.
fn end_halt(vcpu: usize) -> bool {
    HALTED.fetch_and(!(1 << vcpu), Relaxed) >> vcpu & 1 == 1
}

pub fn speaker() -> usize {
    SPEAKER.load(Relaxed)
}

/// Where a vCPU was, in what it has executed.
#[derive(Clone, Copy, Default)]
struct Place {
    /// instructions executed
    instructions: u64,
    /// time that passed without instructions: halted, or waiting for a device [ps]
    stood_ps: u64,
}

/// A vCPU's own time, as far as it is known.
#[derive(Clone, Copy)]
struct Progress {
    here: Place,
    /// at the last sync points, by their number
    syncs: [Place; KEPT],
    /// the model's last answer, and where it is of
    known_ps: u64,
    known: Place,
    /// so much further it is than it seems, as the model has found since [ps]
    lead_ps: u64,
    /// an earlier answer, and where it is of: what the pace is measured from
    measured_ps: u64,
    measured: Place,
    /// an instruction takes so long [ps]
    pace_ps: u64,
}

impl Progress {
    /// The model's time that it has come to [ps].
    fn estimate_ps(&self) -> u64 {
        self.known_ps
            + (self.here.instructions - self.known.instructions) * self.pace_ps
            + (self.here.stood_ps - self.known.stood_ps)
            + self.lead_ps
    }

    /// Standing still, it comes to `ps`.
    fn stand_until(&mut self, ps: u64) {
        self.here.stood_ps += ps.saturating_sub(self.estimate_ps());
    }

    /// The model's time at `place` is `ps`.
    fn learn(&mut self, ps: u64, place: Place) {
        if place.instructions >= self.known.instructions {
            (self.known_ps, self.known, self.lead_ps) = (ps, place, 0);
        }
    }

    /// The same, where it is far enough from the last to measure the pace.
    fn learn_pace(&mut self, ps: u64, place: Place) {
        let instructions = place.instructions.saturating_sub(self.measured.instructions);
        if instructions < MEASURED {
            return;
        }
        // How long it stood is itself an estimate.
        if place.stood_ps == self.measured.stood_ps {
            self.pace_ps = (ps.saturating_sub(self.measured_ps) / instructions).max(LEAST_PACE_PS);
        }
        (self.measured_ps, self.measured) = (ps, place);
    }
}

/// Whose turn it is, and how far each has come.
pub struct Turns {
    progress: Vec<Progress>,
    /// who runs
    running: usize,
    /// instructions of its turn that are left
    left: u64,
    skew_ps: u64,
}

/// What a vCPU does at the beginning of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    Run,
    /// it goes on behind a halt, which the speaker's records tell
    Wake {
        speaker: usize,
    },
    /// it is another's turn
    Leave,
}

impl Turns {
    pub fn new() -> Turns {
        let progress = Progress {
            here: Place::default(),
            syncs: [Place::default(); KEPT],
            known_ps: 0,
            known: Place::default(),
            lead_ps: 0,
            measured_ps: 0,
            measured: Place::default(),
            pace_ps: FIRST_PACE_PS,
        };
        Turns { progress: vec![progress; vcpus()], running: 0, left: 0, skew_ps: spec().skew_ps }
    }

    /// The time of the one most behind of all others that do not halt [ps].
    fn others_ps(&self, vcpu: usize) -> Option<u64> {
        let others = self.progress.iter().enumerate().filter(|(index, _)| *index != vcpu && !is_halted(*index));
        others.map(|(_, other)| other.estimate_ps()).min()
    }

    /// `vcpu` is about to enter a block.
    #[inline]
    pub fn enter(&mut self, vcpu: usize) -> Turn {
        if vcpu != self.running || self.left == 0 || is_halted(vcpu) { self.choose(vcpu) } else { Turn::Run }
    }

    #[cold]
    fn choose(&mut self, vcpu: usize) -> Turn {
        self.running = vcpu;
        let (speaker, woken) = (speaker(), end_halt(vcpu));
        if woken {
            let now_ps = self.progress[speaker].estimate_ps();
            self.progress[vcpu].stand_until(now_ps);
        }
        self.measure();
        if woken {
            self.left = self.left.max(1);
            return Turn::Wake { speaker };
        }
        if self.left == 0 { Turn::Leave } else { Turn::Run }
    }

    /// How many instructions the running vCPU may execute.
    fn measure(&mut self) {
        let progress = &self.progress[self.running];
        self.left = match self.others_ps(self.running) {
            None => u64::MAX,
            Some(others_ps) => (others_ps + self.skew_ps).saturating_sub(progress.estimate_ps()) / progress.pace_ps,
        };
        // Who is most behind always runs.
        if self.left == 0 && self.is_most_behind(self.running) {
            self.left = 1;
        }
    }

    /// Whether no other that does not halt is behind it.
    pub fn is_most_behind(&self, vcpu: usize) -> bool {
        self.others_ps(vcpu).is_none_or(|others_ps| self.progress[vcpu].estimate_ps() <= others_ps)
    }

    /// It executes so many instructions.
    #[inline]
    pub fn execute(&mut self, vcpu: usize, instructions: u64) {
        SPEAKER.store(vcpu, Relaxed);
        self.progress[vcpu].here.instructions += instructions;
        self.left = self.left.saturating_sub(instructions);
    }

    /// So many of these were not executed after all.
    pub fn take_back(&mut self, vcpu: usize, instructions: u64) {
        self.progress[vcpu].here.instructions -= instructions;
    }

    /// A device has kept it so long.
    pub fn stand(&mut self, vcpu: usize, ps: u64) {
        self.progress[vcpu].here.stood_ps += ps;
        self.measure();
    }

    /// The model says that others are behind, whatever was estimated: theirs is the next turn.
    pub fn step_back(&mut self, vcpu: usize) {
        if let Some(others_ps) = self.others_ps(vcpu) {
            let progress = &mut self.progress[vcpu];
            let wanted_ps = others_ps + self.skew_ps / STEPS;
            progress.lead_ps += wanted_ps.saturating_sub(progress.estimate_ps());
        }
        self.measure();
    }

    /// Nothing happened until `ps`.
    pub fn idle(&mut self, vcpu: usize, ps: u64) {
        self.progress[vcpu].stand_until(ps);
    }

    pub fn sync(&mut self, vcpu: usize, sequence: u64) {
        let progress = &mut self.progress[vcpu];
        progress.syncs[sequence as usize % KEPT] = progress.here;
    }

    /// The answer to one of its sync points: how long an instruction takes by now [ps].
    pub fn synced(&mut self, vcpu: usize, sequence: u64, ps: u64) -> u64 {
        let progress = &mut self.progress[vcpu];
        let place = progress.syncs[sequence as usize % KEPT];
        progress.learn(ps, place);
        progress.learn_pace(ps, place);
        let pace_ps = progress.pace_ps;
        self.measure();
        pace_ps
    }

    /// The answer to a question of this moment.
    pub fn answered(&mut self, vcpu: usize, ps: u64) {
        let progress = &mut self.progress[vcpu];
        progress.learn(ps, progress.here);
        progress.learn_pace(ps, progress.here);
        if vcpu == self.running {
            self.measure();
        }
    }
}

/// QEMU raises an interrupt. One for a vCPU that has halted ends the turn of the one that runs.
pub unsafe extern "C" fn handle_interrupt(cpu: Cpu, mask: c_int) {
    // SAFETY: QEMU's own function, with its own arguments.
    unsafe { (qemu::functions().tcg_handle_interrupt)(cpu, mask) };
    if any_halted() && mode::in_detail() && (0..vcpus()).any(|vcpu| is_halted(vcpu) && qemu::cpu(vcpu) == cpu) {
        qemu::end_turn(speaker());
    }
}

/// A block is entered: leave it at its beginning if it is another's turn.
#[unsafe(naked)]
pub unsafe extern "C" fn on_block(_vcpu: u32, _data: *mut c_void) {
    naked_asm!(
        "sub rsp, 8", "call {decide}", "add rsp, 8", "test rax, rax", "jnz 2f", "ret",
        "2:", "mov rdi, rax", "mov rsi, [rsp]", "jmp {leave}",
        decide = sym stream::enter_block, leave = sym leave,
    )
}

/// A clock is about to be read: leave the block before that if another one is behind.
#[unsafe(naked)]
pub unsafe extern "C" fn on_clock_read(_vcpu: u32, _data: *mut c_void) {
    naked_asm!(
        "sub rsp, 8", "call {decide}", "add rsp, 8", "test rax, rax", "jnz 2f", "ret",
        "2:", "mov rdi, rax", "mov rsi, [rsp]", "jmp {leave}",
        decide = sym stream::reach_clock_read, leave = sym leave,
    )
}

/// Leave the vCPU's loop; `back` is the place in the block's code that called us. It does not come back, and no
/// frame of ours but this one is given up.
unsafe extern "C" fn leave(cpu: Cpu, back: usize) {
    // SAFETY: called in place of a return to the block, on the thread of this vCPU.
    unsafe {
        (qemu::functions().cpu_exit)(cpu);
        (qemu::functions().cpu_loop_exit_restore)(cpu, back);
    }
}
