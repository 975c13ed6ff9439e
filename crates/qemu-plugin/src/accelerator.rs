//! Answers QEMU's accelerator: the time, whether a vCPU is idle, and which device raises an interrupt.
//!
//! The class `tcg-accel-ops` is a table of pointers, and each series of QEMU has its own (`series.rs`). With a clock that is one
//! slot off, Linux boots, and its time is wrong. So the table is looked at before it is changed, and a clock is read after that.

use std::ffi::c_void;

use crate::series::{self, Slots};
use crate::{clock, idle, qemu, turns};

const PS_PER_SECOND: u64 = 1_000_000_000_000;

/// Put our functions in the place of QEMU's.
pub fn hook() -> Result<(), String> {
    let slots = &series::here().slots;
    // SAFETY: the class of the TCG accelerator is a table of pointers; it is checked before any is written.
    unsafe {
        let class = (qemu::functions().object_class_by_name)(c"tcg-accel-ops".as_ptr());
        if class.is_null() || !is_as_known(class, slots) {
            return Err(unknown("its clock cannot be hooked (is the accelerator TCG without icount?)"));
        }
        *class.add(slots.thread_is_idle) = idle::thread_is_idle as *mut c_void;
        *class.add(slots.handle_interrupt) = turns::handle_interrupt as *mut c_void;
        *class.add(slots.get_virtual_clock) = clock::virtual_clock as *mut c_void;
        *class.add(slots.set_virtual_clock) = clock::set_virtual_clock as *mut c_void;
        *class.add(slots.get_elapsed_ticks) = clock::elapsed_ticks as *mut c_void;
    }
    if is_asked() { Ok(()) } else { Err(unknown("QEMU does not ask us for the time")) }
}

fn unknown(what: &str) -> String {
    format!("the table `tcg-accel-ops` is not the one of QEMU {}: {what}; {}", series::here().name, series::wanted())
}

/// Whether the table has what TCG without icount fills, and what it leaves to others is empty.
///
/// # Safety
/// `class` is a table that has these slots.
unsafe fn is_as_known(class: *const *mut c_void, slots: &Slots) -> bool {
    let empty = [slots.thread_is_idle, slots.get_virtual_clock, slots.set_virtual_clock, slots.get_elapsed_ticks];
    // SAFETY: the caller's promise.
    unsafe {
        empty.iter().all(|&slot| (*class.add(slot)).is_null())
            && *class.add(slots.handle_interrupt) == qemu::functions().tcg_handle_interrupt as *mut c_void
    }
}

/// Whether QEMU reads the time-stamp counter from us: a second, where nothing else has come so far.
fn is_asked() -> bool {
    clock::set_clock_read(PS_PER_SECOND);
    // SAFETY: asks the accelerator's class, on a vCPU's thread.
    let read = unsafe { (qemu::functions().cpus_get_elapsed_ticks)() };
    // The answer is ours alone; not asked, it would go to the next reader.
    clock::take_clock_read().is_none() && u64::try_from(read) == Ok(clock::tsc_hz())
}
