//! The series of QEMU that the plugin knows, and what each has in a form of its own.
//!
//! ```text
//!                            10.0                        11.1
//!   plugin interface         4: callbacks get our id     7: callbacks get a pointer of ours in its place
//!   `tcg-accel-ops`          clock in slots 24 to 26     statistics of a vCPU in 24, clock in slots 25 to 27
//!   control registers        in any callback             only where it was registered for: gdb_read_register
//!   guest's page tables      cpu_get_phys_page_debug     cpu_translate_for_debug
//!   flush translations       tb_flush                    queue_tb_flush
//!   CXL window's region      below /machine              below a device of its own
//! ```
//!
//! Source: include/accel/accel-cpu-ops.h and include/qemu/qemu-plugin.h of both series, and their binaries of Debian.

use std::ffi::{c_int, c_void};
use std::sync::OnceLock;

use crate::api::{self, ByteArray};
use crate::exports::{self, functions};

/// A vCPU of QEMU (`CPUState`), not looked into.
pub type Cpu = *mut c_void;

/// Places in the class `tcg-accel-ops`, a table of pointers.
pub struct Slots {
    pub thread_is_idle: usize,
    pub handle_interrupt: usize,
    pub get_virtual_clock: usize,
    pub set_virtual_clock: usize,
    pub get_elapsed_ticks: usize,
}

/// A series that CXLab is tested with.
pub struct Series {
    /// major and minor number
    pub name: &'static str,
    /// the version of the plugin interface that we are to declare
    pub interface: c_int,
    pub slots: Slots,
    /// whether the region of a CXL window belongs to a device without a place in the tree
    pub window_is_device: bool,
    find: fn() -> Result<Own, &'static str>,
}

/// As [`Series::interface`]: callbacks get a pointer of the plugin's in place of its number.
pub const INTERFACE_WITH_DATA: c_int = 7;

static KNOWN: [Series; 2] = [
    Series {
        name: "10.0",
        interface: 4,
        slots: Slots {
            thread_is_idle: 17,
            handle_interrupt: 23,
            get_virtual_clock: 24,
            set_virtual_clock: 25,
            get_elapsed_ticks: 26,
        },
        window_is_device: false,
        find: || Of10_0::find().map(Own::Of10_0),
    },
    Series {
        name: "11.1",
        interface: INTERFACE_WITH_DATA,
        slots: Slots {
            thread_is_idle: 18,
            handle_interrupt: 23,
            get_virtual_clock: 25,
            set_virtual_clock: 26,
            get_elapsed_ticks: 27,
        },
        window_is_device: true,
        find: || {
            let memory = exports::address("address_space_memory\0").ok_or("address_space_memory")?;
            Ok(Own::Of11_1 { qemu: Of11_1::find()?, memory: memory as usize })
        },
    },
];

functions! {
    /// Functions that only 10.0 has.
    Of10_0:
    cpu_get_phys_page_debug: fn(Cpu, u64) -> u64;
    cpu_physical_memory_is_io: fn(u64) -> bool;
    cpu_physical_memory_rw: fn(u64, *mut c_void, u64, bool);
    tb_flush: fn(Cpu);
}

functions! {
    /// Functions of 11.1 in the place of those of 10.0.
    Of11_1:
    cpu_translate_for_debug: fn(Cpu, u64, *mut Translation) -> bool;
    address_space_is_io: fn(*mut c_void, u64) -> bool;
    physical_memory_read: fn(u64, *mut c_void, u64);
    physical_memory_write: fn(u64, *const c_void, u64);
    queue_tb_flush: fn(Cpu);
    gdb_read_register: fn(Cpu, *mut ByteArray, c_int) -> c_int;
}

/// `TranslateForDebugResult` of 11.1, and room for what follows.
#[repr(C)]
pub struct Translation {
    physical: u64,
    rest: [u64; 7],
}

enum Own {
    Of10_0(Of10_0),
    Of11_1 {
        qemu: Of11_1,
        /// address of `address_space_memory`
        memory: usize,
    },
}

static HERE: OnceLock<(&'static Series, Own)> = OnceLock::new();

/// The series of the QEMU that has loaded us, if it is one that is known.
pub fn found() -> Option<&'static Series> {
    let version = exports::version()?;
    KNOWN.iter().find(|series| version.strip_prefix(series.name).is_some_and(|micro| micro.starts_with('.')))
}

/// Find what this series has of its own, or say what is wrong.
pub fn check() -> Result<(), String> {
    let series = found().ok_or_else(wanted)?;
    let own = (series.find)().map_err(lacks)?;
    let _ = HERE.set((series, own));
    Ok(())
}

/// Describes which QEMU runs and which ones are known, for messages.
pub fn wanted() -> String {
    let found = exports::version().unwrap_or_else(|| "of an unknown version".into());
    let known = KNOWN.iter().map(|series| series.name).collect::<Vec<_>>().join(" and ");
    format!(
        "this is QEMU {found}; CXLab knows qemu-system-x86_64 {known} as Debian builds them (package qemu-system-x86)"
    )
}

/// The message where QEMU has no function of this name.
pub fn lacks(name: &str) -> String {
    format!("QEMU has no function `{name}`: {}", wanted())
}

fn own() -> &'static Own {
    &HERE.get().expect("check comes first").1
}

pub fn here() -> &'static Series {
    HERE.get().expect("check comes first").0
}

/// The physical page behind a virtual one, if it is memory.
///
/// # Safety
/// The caller is the thread of that vCPU.
pub unsafe fn physical_page(cpu: Cpu, page: u64) -> Option<u64> {
    // SAFETY: both read the guest's page tables; a translation is as large as QEMU's at least.
    unsafe {
        match own() {
            Own::Of10_0(qemu) => {
                let physical = (qemu.cpu_get_phys_page_debug)(cpu, page);
                (physical != u64::MAX && !(qemu.cpu_physical_memory_is_io)(physical)).then_some(physical)
            }
            Own::Of11_1 { qemu, memory } => {
                let mut translation = Translation { physical: 0, rest: [0; 7] };
                let is_mapped = (qemu.cpu_translate_for_debug)(cpu, page, &raw mut translation);
                let is_memory = |physical| !(qemu.address_space_is_io)(*memory as *mut c_void, physical);
                (is_mapped && is_memory(translation.physical)).then_some(translation.physical)
            }
        }
    }
}

/// Append a register to an array, or nothing. The interface of 11.1 reads none in a callback that was not registered for it. The
/// control registers are up to date in each, so this asks what stands behind the interface.
///
/// # Safety
/// The caller is a vCPU's thread, `handle` one of QEMU's, and `to` an array of glib's.
pub unsafe fn read_register(handle: *mut c_void, to: *mut ByteArray) {
    // SAFETY: the caller's promise.
    unsafe {
        match own() {
            Own::Of10_0(_) => api::qemu_plugin_read_register(handle, to),
            Own::Of11_1 { qemu, .. } => {
                let Some(cpu) = exports::address("current_cpu\0") else { return };
                // One more than the number of the register, and below it a bit that says whether it can be written.
                let number = (handle as usize >> 1) as c_int - 1;
                (qemu.gdb_read_register)(*cpu.cast::<Cpu>(), to, number);
            }
        }
    }
}

/// Eight bytes of the guest's physical memory.
pub fn read_physical(address: u64) -> u64 {
    let mut bytes = [0; 8];
    read_memory(address, &mut bytes);
    u64::from_le_bytes(bytes)
}

/// Bytes of the guest's physical memory.
pub fn read_memory(address: u64, to: &mut [u8]) {
    let (place, length) = (to.as_mut_ptr().cast(), to.len() as u64);
    // SAFETY: copies as many bytes out of the guest's memory as there is room for.
    unsafe {
        match own() {
            Own::Of10_0(qemu) => (qemu.cpu_physical_memory_rw)(address, place, length, false),
            Own::Of11_1 { qemu, .. } => (qemu.physical_memory_read)(address, place, length),
        }
    }
}

/// Write to the guest's physical memory. Code that was translated from there is thrown away.
pub fn write_memory(address: u64, from: &[u8]) {
    let (place, length) = (from.as_ptr().cast::<c_void>(), from.len() as u64);
    // SAFETY: copies as many bytes into the guest's memory as there are. 10.0 only reads them, though it says otherwise.
    unsafe {
        match own() {
            Own::Of10_0(qemu) => (qemu.cpu_physical_memory_rw)(address, place.cast_mut(), length, true),
            Own::Of11_1 { qemu, .. } => (qemu.physical_memory_write)(address, place, length),
        }
    }
}

/// Whether there is memory, and no device, at a guest-physical address.
pub fn is_memory(address: u64) -> bool {
    // SAFETY: a look-up in QEMU's map of the guest's addresses.
    unsafe {
        match own() {
            Own::Of10_0(qemu) => !(qemu.cpu_physical_memory_is_io)(address),
            Own::Of11_1 { qemu, memory } => !(qemu.address_space_is_io)(*memory as *mut c_void, address),
        }
    }
}

/// Throw all translations away, before the vCPU's next block.
///
/// # Safety
/// The caller is work on this vCPU.
pub unsafe fn flush_translations(cpu: Cpu) {
    // SAFETY: the caller's promise.
    unsafe {
        match own() {
            Own::Of10_0(qemu) => (qemu.tb_flush)(cpu),
            Own::Of11_1 { qemu, .. } => (qemu.queue_tb_flush)(cpu),
        }
    }
}
