//! Lays RAM over the CXL windows, so QEMU accesses CXL memory as fast as DRAM.
//!
//! ```text
//!   system memory  ..| DRAM |......| window 0 |.....      host physical addresses
//!   QEMU's own                     | fixed memory window |  priority 0: a device access, decoded over the bridges
//!   laid over it                   | aliases of backends |  priority 100: RAM
//!                                  | window0, persistent0|  the volatile partition, and behind it the persistent one
//! ```
//!
//! QEMU treats memory behind a type-3 device as a device. An access takes 594 ns, a first touch 1 ms, and no code can
//! run in it (measured on 10.0.2). Enumeration, mailbox, DVSECs and HDM decoder registers stay QEMU's; only data take
//! the short way. Which device an address belongs to is the model's affair. Not carried: what QEMU's device does with
//! its media (its poison list, sanitise) is not seen through the alias.

use std::ffi::{CString, c_void};
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::{Acquire, Release};
use std::sync::{Once, OnceLock};

use crate::arguments::Arguments;
use crate::qemu::{self, Cpu, functions};
use crate::{end, poison, series};

/// QEMU's name of a window's region.
const REGION: &str = "cxl-fixed-memory-region";
/// Above the 0 of QEMU's own region.
const PRIORITY: i32 = 100;
static WINDOWS: AtomicU32 = AtomicU32::new(0);
static POISON: OnceLock<Vec<(u32, u64)>> = OnceLock::new();
static LAID: Once = Once::new();

pub fn start(arguments: &Arguments) {
    WINDOWS.store(arguments.windows, Release);
    let _ = POISON.set(arguments.poison.clone());
}

/// A block is translated: by now QEMU has built the machine. The first one has the windows covered before it runs.
pub fn at_translation() {
    LAID.call_once(|| {
        if WINDOWS.load(Acquire) > 0 {
            // SAFETY: queues work on a vCPU that exists; work runs under the big lock.
            unsafe { (functions().async_run_on_cpu)(qemu::cpu(0), lay_all, 0) };
        }
    });
}

unsafe extern "C" fn lay_all(_cpu: Cpu, _data: u64) {
    let devices = if series::here().window_is_device { of_devices() } else { Vec::new() };
    for window in 0..WINDOWS.load(Acquire) {
        let own = match devices.get(window as usize) {
            Some(path) => path.clone(),
            None => format!("/machine/{REGION}[{window}]"),
        };
        // SAFETY: the big lock is held.
        if let Err(message) = unsafe { lay(window, &own) } {
            end::give_up(&message);
        }
    }
}

/// The regions of windows that are devices, in the order in which they were made: that of the command line.
fn of_devices() -> Vec<String> {
    let device = |number| format!("/machine/unattached/device[{number}]");
    // SAFETY: look-ups by valid strings, under the big lock.
    let exists = |path: &String| unsafe { find(path) }.is_ok();
    let devices = (0..).map(device).take_while(exists);
    devices.map(|device| format!("{device}/{REGION}[0]")).filter(exists).collect()
}

/// # Safety
/// The caller holds the big lock.
unsafe fn lay(window: u32, own: &str) -> Result<(), String> {
    let partitions = [format!("/objects/window{window}"), format!("/objects/persistent{window}")];
    // SAFETY: look-ups by valid strings; properties of a memory region are `addr` and `size`.
    unsafe {
        let region = find(own)?;
        let base = (functions().object_property_get_uint)(region, c"addr".as_ptr(), std::ptr::null_mut());
        let size = (functions().object_property_get_uint)(region, c"size".as_ptr(), std::ptr::null_mut());
        let mut laid = 0;
        for backend in partitions.iter().filter_map(|path| find(path).ok()) {
            let poisoned = POISON.get().into_iter().flatten().filter(|(of, _)| *of == window);
            let offsets = poisoned.filter_map(|(_, offset)| offset.checked_sub(laid));
            laid += lay_partition(backend, base + laid, offsets);
        }
        if laid != size || base == 0 {
            return Err(format!("{own} is {size:#x} bytes at {base:#x}, but {partitions:?} have {laid:#x} bytes"));
        }
    }
    Ok(())
}

/// Lays a backend over the addresses from `base` on, with poison at these offsets if they are in it. Returns its size.
///
/// # Safety
/// The caller holds the big lock; `backend` is a memory backend.
unsafe fn lay_partition(backend: *mut c_void, base: u64, poisoned: impl Iterator<Item = u64>) -> u64 {
    // SAFETY: the alias lives as long as QEMU does.
    unsafe {
        let memory = (functions().host_memory_backend_get_memory)(backend);
        let size = (functions().memory_region_size)(memory);
        let alias = libc::calloc(1, qemu::MEMORY_REGION_BYTES);
        let name = c"cxlab-window".as_ptr();
        (functions().memory_region_init_alias)(alias, std::ptr::null_mut(), name, memory, 0, size);
        let system = (functions().get_system_memory)();
        (functions().memory_region_add_subregion_overlap)(system, base, alias, PRIORITY);
        for offset in poisoned.filter(|offset| *offset < size) {
            poison::lay(memory, base, base + offset);
        }
        size
    }
}

/// # Safety
/// The caller holds the big lock.
unsafe fn find(path: &str) -> Result<*mut c_void, String> {
    let name = CString::new(path).expect("no zero in it");
    // SAFETY: a look-up by a valid C string; no answer on ambiguity is wanted.
    let object = unsafe { (functions().object_resolve_path)(name.as_ptr(), std::ptr::null_mut()) };
    if object.is_null() { Err(format!("QEMU has no object {path}: {}", series::wanted())) } else { Ok(object) }
}
