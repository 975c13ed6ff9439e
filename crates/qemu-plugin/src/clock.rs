//! The guest's clock: what QEMU's virtual clock and the guest's time-stamp counter read.
//!
//! ```text
//!   no detail: base + instructions executed x step        detail: last time published by a sync point,
//!                                                         and for rdtsc its own commit time
//! ```
//!
//! QEMU asks the accelerator's class for the time; `accelerator.rs` puts the three functions of this file there. Time
//! never runs backwards: what was once shown is a floor for all that follows.
//!
//! QEMU's main loop runs timers too, whenever it happens to wake, and sleeps until the next is due. It takes a
//! microsecond of the guest's time for one of the host's. So it would wake all the time, for nothing. The plugin
//! shows it a time that is a second behind the one up to which the vCPU has run timers. So each timer rings at the
//! same place of the program in every run, and the main loop sleeps.

use std::cell::Cell;
use std::ffi::c_void;
use std::sync::OnceLock;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Release};
use std::sync::atomic::{AtomicBool, AtomicU64};

use crate::api::{self, Counter};
use crate::arguments::{Arguments, Boot};
use crate::qemu::BigLock;
use crate::{mode, progress, qemu, turns, under_way};

const PS_PER_NS: u64 = 1000;
const PS_PER_SECOND: u128 = 1_000_000_000_000;

/// Delay of the main loop's clock. The loop sleeps for at least so long, unless something else wakes it `[ps]`.
const MAIN_LOOP_BEHIND: u64 = PS_PER_SECOND as u64;

/// Time of PAUSE without detail `[ps]`. It is long, because PAUSE costs QEMU much. With 37 ns each, a boot of 16 vCPUs
/// took 36.2 s of the host's time, most of it to go round halted vCPUs. With this value it took 10.7 s (`cxlab run
/// --detail off --cpus 16 -- cat /proc/uptime`).
const PAUSE_PS: u64 = 1_000_000;

/// Instructions between two looks at the timers where there is no detail: 10 us at the usual step.
const FUNCTIONAL_QUANTUM: u64 = 10_000;

struct Spec {
    tsc_hz: u64,
    step_ps: u64,
    /// instructions executed without detail, for each vCPU
    instructions: Counter,
    /// the same since the last look at the timers
    since_look: Counter,
}

// SAFETY: the counters are QEMU's scoreboard, which is made for all threads.
unsafe impl Send for Spec {}
// SAFETY: as above.
unsafe impl Sync for Spec {}

static SPEC: OnceLock<Spec> = OnceLock::new();
/// time that does not come from counting instructions `[ps]`
static BASE: AtomicU64 = AtomicU64::new(0);
/// the latest time that anybody was shown `[ps]`
static SHOWN: AtomicU64 = AtomicU64::new(0);
/// whether the machine's state is saved or loaded: the main loop is shown the true time
static STATE_MOVES: AtomicBool = AtomicBool::new(false);
/// timers due until then have been run `[ps]`
static RUN_UNTIL: AtomicU64 = AtomicU64::new(0);

thread_local! {
    /// the commit time of the clock read that this thread is about to execute `[ps]`
    static CLOCK_READ: Cell<Option<u64>> = const { Cell::new(None) };
    /// whether this is the thread of QEMU's main loop
    static MAIN_LOOP: bool = is_main_loop();
}

/// The main loop runs in the process's first thread.
fn is_main_loop() -> bool {
    // SAFETY: asks for the ids of this thread and this process.
    unsafe { libc::gettid() == libc::getpid() }
}

fn spec() -> &'static Spec {
    SPEC.get().expect("start comes first")
}

pub fn start(arguments: &Arguments) {
    // SAFETY: a scoreboard of two 64-bit counters for each vCPU.
    let score = unsafe { api::qemu_plugin_scoreboard_new(16) };
    let counter = |offset| Counter { score, offset };
    let _ = SPEC.set(Spec {
        tsc_hz: arguments.tsc_hz,
        step_ps: arguments.step_ps,
        instructions: counter(0),
        since_look: counter(8),
    });
    if let Boot::Saved(ps) = arguments.boot {
        begin_to_move_state(ps);
    }
}

/// From here on the machine's state, of time `ps`, is saved or loaded, until a vCPU runs.
pub fn begin_to_move_state(ps: u64) {
    skip(ps.saturating_sub(now_ps()));
    RUN_UNTIL.fetch_max(ps, AcqRel);
    STATE_MOVES.store(true, Release);
}

/// Begins to count to the next look at the timers. So a guest whose state was loaded has the same phase as one that
/// has booted.
pub fn restart_looks() {
    for vcpu in 0..turns::vcpus() {
        // SAFETY: a counter of ours.
        unsafe { api::qemu_plugin_u64_set(spec().since_look, vcpu as u32, 0) };
    }
}

/// Now, as every reader sees it `[ps]`.
pub fn now_ps() -> u64 {
    let base = BASE.load(Acquire);
    let counted = if mode::tells() {
        0
    } else {
        // SAFETY: sums a counter of ours over the vCPUs.
        unsafe { api::qemu_plugin_u64_sum(spec().instructions) * spec().step_ps }
    };
    show(base + counted)
}

/// Now, in whole nanoseconds as QEMU's timers count `[ps]`.
pub fn whole_ns_ps() -> u64 {
    now_ps() / PS_PER_NS * PS_PER_NS
}

fn show(ps: u64) -> u64 {
    let before = SHOWN.fetch_max(ps, AcqRel);
    before.max(ps)
}

/// Detail has begun (readers no longer count instructions): time stands at `ps` until it is published anew.
pub fn stand_at(ps: u64) {
    BASE.store(ps, Release);
}

/// The model's time has come to `ps`.
pub fn publish(ps: u64) {
    BASE.fetch_max(ps, AcqRel);
    progress::show(show(ps));
}

/// Detail is about to end: let the base and the instructions counted so far give the present. Until readers
/// count again they see the time last shown, which is a floor.
pub fn count_from_here() {
    // SAFETY: sums a counter of ours over the vCPUs.
    let counted = unsafe { api::qemu_plugin_u64_sum(spec().instructions) * spec().step_ps };
    BASE.store(SHOWN.load(Acquire).saturating_sub(counted), Release);
}

/// Without detail: time passes although no instruction is executed.
pub fn skip(ps: u64) {
    BASE.fetch_add(ps, AcqRel);
    progress::show(now_ps());
}

/// The next time-stamp that this thread reads is `ps`.
pub fn set_clock_read(ps: u64) {
    CLOCK_READ.with(|cell| cell.set(Some(ps)));
}

/// The time-stamp that [`set_clock_read`] has left, if nobody has read it.
pub fn take_clock_read() -> Option<u64> {
    CLOCK_READ.with(Cell::take)
}

/// Rate of the time-stamp counter `[Hz]`.
pub fn tsc_hz() -> u64 {
    spec().tsc_hz
}

/// Count a PAUSE of one of several vCPUs that runs without detail: who executes it waits for time to pass, or for another.
/// QEMU ends its turn there, and goes round all others before it comes back.
pub fn instrument_pause(instruction: *mut api::Instruction) {
    let of_time = PAUSE_PS / spec().step_ps;
    // SAFETY: the instruction is being translated; the counter lives as long as the process.
    unsafe {
        api::qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu(instruction, api::ADD, spec().instructions, of_time);
    }
}

/// Count the instructions of a block that runs without detail, and look after the timers.
pub fn instrument(block: *mut api::Block, instructions: u64) {
    // SAFETY: the block is being translated; counters and callback live as long as the process.
    unsafe {
        for counter in [spec().instructions, spec().since_look] {
            api::qemu_plugin_register_vcpu_tb_exec_inline_per_vcpu(block, api::ADD, counter, instructions);
        }
        api::qemu_plugin_register_vcpu_tb_exec_cond_cb(
            block,
            look_at_timers,
            api::NO_REGISTERS,
            api::GREATER_OR_EQUAL,
            spec().since_look,
            FUNCTIONAL_QUANTUM,
            std::ptr::null_mut(),
        );
    }
}

unsafe extern "C" fn look_at_timers(vcpu: u32, _data: *mut c_void) {
    // SAFETY: a counter of ours.
    unsafe { api::qemu_plugin_u64_set(spec().since_look, vcpu, 0) };
    STATE_MOVES.store(false, Release);
    progress::show(now_ps());
    run_due_timers(vcpu as usize);
    turns::let_others_run(vcpu as usize);
}

/// Let the vCPU, whose thread this is, run the timers that are due before its next block.
pub fn run_due_timers(vcpu: usize) {
    if under_way::holds() && !mode::tells() {
        // Detail has ended while devices were at work.
        under_way::answer_all(&BigLock::take());
    }
    if qemu::next_timer_in_ns() == Some(0) {
        qemu::run_timers_soon(vcpu);
    } else {
        RUN_UNTIL.fetch_max(SHOWN.load(Acquire), AcqRel);
    }
}

/// QEMU: what the virtual clock reads `[ns]`.
pub unsafe extern "C" fn virtual_clock() -> i64 {
    let of_main_loop = || RUN_UNTIL.load(Acquire).saturating_sub(MAIN_LOOP_BEHIND);
    let is_behind = MAIN_LOOP.with(|is| *is) && !STATE_MOVES.load(Acquire);
    let ps = if is_behind { of_main_loop() } else { now_ps() };
    (ps / PS_PER_NS) as i64
}

/// QEMU: set the virtual clock `[ns]`.
pub unsafe extern "C" fn set_virtual_clock(ns: i64) {
    let wanted = u64::try_from(ns).unwrap_or(0) * PS_PER_NS;
    skip(wanted.saturating_sub(now_ps()));
}

/// QEMU: what the time-stamp counter reads.
pub unsafe extern "C" fn elapsed_ticks() -> i64 {
    let ps = take_clock_read().unwrap_or_else(now_ps);
    (u128::from(ps) * u128::from(spec().tsc_hz) / PS_PER_SECOND) as i64
}
