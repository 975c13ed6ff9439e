//! Stops the machine when Linux is up, or when a program is at its checkpoint, so that its state can be saved. A
//! machine with a loaded state goes on from there.
//!
//! ```text
//!   boot=save        kernel, init --> marker --> stand still; the supervisor has QEMU write the state, and ends it
//!   boot=checkpoint  kernel, init --> marker ----> program --> its marker --> stand still, and the same
//!   boot=<ps>        state, time <ps> -----------> run
//!   none of them     kernel, init --> marker ----> run
//! ```
//!
//! After the marker, all such machines are the same at the same time. Timers that are due have run, and the next look
//! at them is equally far away. No earlier translation or page walk is left.

use std::sync::OnceLock;

use crate::arguments::{Arguments, Boot};
use crate::qemu::{self, Cpu};
use crate::{clock, host_time, series, turns};

static BOOT: OnceLock<Boot> = OnceLock::new();

pub fn start(arguments: &Arguments) {
    let _ = BOOT.set(arguments.boot);
}

/// The vCPU executes the marker of a Linux that is up.
pub fn on_booted(vcpu: usize) {
    let saves = BOOT.get() == Some(&Boot::Save);
    qemu::run_behind_block(vcpu, if saves { settle_and_stand } else { settle });
}

/// The vCPU executes the marker of a program's checkpoint; it means nothing where none is wanted.
pub fn on_checkpoint(vcpu: usize) {
    if BOOT.get() == Some(&Boot::Checkpoint) {
        qemu::run_behind_block(vcpu, settle_and_stand);
    }
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
    for vcpu in 0..turns::vcpus() {
        host_time::forget_translations(qemu::cpu(vcpu));
    }
    clock::restart_looks();
}

/// Work on a vCPU: the same, and the machine stands still.
unsafe extern "C" fn settle_and_stand(cpu: Cpu, vcpu: u64) {
    // SAFETY: the caller's promise is the same.
    unsafe { settle(cpu, vcpu) };
    clock::begin_to_move_state(clock::now_ps());
    qemu::stand_still();
}
