//! Where Linux is up: the machine stands still for its state to be saved, or goes on as one whose state was loaded.
//!
//! ```text
//!   boot=save    kernel, init --> marker --> stand still; the supervisor has QEMU write the state, and ends it
//!   boot=<ps>    state, time <ps> -----------> run
//!   neither      kernel, init --> marker ----> run
//! ```
//!
//! Behind the marker all three are the same machine at the same time: timers that are due have been run, the next look at them is
//! as far away, and nothing that was translated or walked before is left.

use std::sync::OnceLock;

use crate::arguments::{Arguments, Boot};
use crate::qemu::{self, Cpu};
use crate::{clock, series, turns};

static BOOT: OnceLock<Boot> = OnceLock::new();

pub fn start(arguments: &Arguments) {
    let _ = BOOT.set(arguments.boot);
}

/// The vCPU executes the marker.
pub fn on_booted(vcpu: usize) {
    qemu::run_behind_block(vcpu, settle);
}

/// Work on a vCPU.
unsafe extern "C" fn settle(cpu: Cpu, _vcpu: u64) {
    // SAFETY: work on a vCPU has the big lock, and no block is executed meanwhile.
    unsafe {
        (qemu::functions().qemu_clock_run_timers)(qemu::VIRTUAL_CLOCK);
        series::flush_translations(cpu);
        for vcpu in 0..turns::vcpus() {
            (qemu::functions().tlb_flush)(qemu::cpu(vcpu));
        }
    }
    clock::restart_looks();
    if BOOT.get() == Some(&Boot::Save) {
        clock::begin_to_move_state(clock::now_ps());
        qemu::stand_still();
    }
}
