//! QEMU's accelerator asks us: what time it is, whether a vCPU is idle, who raises an interrupt.
//!
//! The class `tcg-accel-ops` is a table of pointers. Measured on QEMU 10.0.2: slot 17 is asked whether a vCPU is idle,
//! slot 23 raises interrupts and must be `tcg_handle_interrupt`, slots 24, 25 and 26 are the clock's.

use std::ffi::c_void;

use crate::{clock, idle, qemu, turns};

const THREAD_IS_IDLE: usize = 17;
const HANDLE_INTERRUPT: usize = 23;
const GET_VIRTUAL_CLOCK: usize = 24;
const SET_VIRTUAL_CLOCK: usize = 25;
const GET_ELAPSED_TICKS: usize = 26;

/// Put our functions in the place of QEMU's.
pub fn hook() -> Result<(), String> {
    // SAFETY: the class of the TCG accelerator is a table of pointers; slot 23 is checked before any is written.
    unsafe {
        let class = (qemu::functions().object_class_by_name)(c"tcg-accel-ops".as_ptr());
        let wanted = qemu::functions().tcg_handle_interrupt as *mut c_void;
        if class.is_null() || *class.add(HANDLE_INTERRUPT) != wanted {
            return Err("the layout of `tcg-accel-ops` is not the one of QEMU 10.0: its clock cannot be hooked \
                        (is the accelerator TCG without icount?)"
                .into());
        }
        if !(*class.add(THREAD_IS_IDLE)).is_null() {
            return Err("the accelerator of this QEMU has its own mind of when a vCPU is idle: its clock cannot be \
                        hooked (is it TCG without icount?)"
                .into());
        }
        *class.add(THREAD_IS_IDLE) = idle::thread_is_idle as *mut c_void;
        *class.add(HANDLE_INTERRUPT) = turns::handle_interrupt as *mut c_void;
        *class.add(GET_VIRTUAL_CLOCK) = clock::virtual_clock as *mut c_void;
        *class.add(SET_VIRTUAL_CLOCK) = clock::set_virtual_clock as *mut c_void;
        *class.add(GET_ELAPSED_TICKS) = clock::elapsed_ticks as *mut c_void;
    }
    Ok(())
}
