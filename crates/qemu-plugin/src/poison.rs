//! Poisoned lines of CXL memory. A read of one raises a machine check, as on hardware.
//!
//! ```text
//!   window's RAM (priority 100)   ..........................
//!   over a poisoned line's page (101)      | callbacks |      its line: machine check; its other lines: the RAM below
//! ```
//!
//! The machine check is a data load error that software must act upon (SRAR). Linux takes the page away and sends its
//! user SIGBUS with the address. It comes with the instruction behind the load, so that a block may read the line
//! several times before. A store raises none: the kernel zeroes a poisoned page and gives it to a program. Not
//! modelled: poison in the device's own list (`cxl list --media-errors`), and clearing it by writing.
//!
//! Source: Intel SDM vol. 3B, 17.9.3.2 (SRAR: data loads and instruction fetches); QEMU 10.0, target/i386/helper.c and
//! include/exec/memory.h.

use std::ffi::{c_int, c_uint, c_void};
use std::sync::Mutex;

use crate::qemu::{self, Cpu, functions};

const PAGE: u64 = 4096;
const LINE: u64 = 64;
/// Above the window's own alias.
const PRIORITY: c_int = 101;
/// VAL, UC, EN, MISCV, ADDRV, S, AR (Intel SDM vol. 3B, 17.3.2.2) and the code of a data load, 0x134.
const STATUS: u64 = 1 << 63 | 1 << 61 | 1 << 60 | 1 << 59 | 1 << 58 | 1 << 56 | 1 << 55 | 0x134;
/// RIPV, EIPV, MCIP: the program may go on where it was, it is what the error is of, and a machine check is under way.
const GLOBAL_STATUS: u64 = 1 << 0 | 1 << 1 | 1 << 2;
/// A physical address, valid from bit 12 on.
const MISC: u64 = 2 << 6 | 12;
/// Bank 0 is not enabled on every processor.
const BANK: c_int = 1;

/// `MemoryRegionOps` of 10.0; what is zero takes QEMU's defaults.
#[repr(C)]
struct Operations {
    read: unsafe extern "C" fn(*mut c_void, u64, c_uint) -> u64,
    write: unsafe extern "C" fn(*mut c_void, u64, u64, c_uint),
    read_with_attributes: *const c_void,
    write_with_attributes: *const c_void,
    endianness: c_int,
    valid: Sizes,
    implemented: Sizes,
}

#[repr(C)]
struct Sizes {
    least: c_uint,
    most: c_uint,
    unaligned: bool,
    accepts: *const c_void,
}

impl Sizes {
    const ANY: Sizes = Sizes { least: 1, most: 8, unaligned: true, accepts: std::ptr::null() };
}

// SAFETY: functions and constants.
unsafe impl Sync for Operations {}

static OPERATIONS: Operations = Operations {
    read,
    write,
    read_with_attributes: std::ptr::null(),
    write_with_attributes: std::ptr::null(),
    endianness: 0,
    valid: Sizes::ANY,
    implemented: Sizes::ANY,
};

/// A page with a poisoned line.
struct Page {
    /// where the guest sees it `[host physical address]`
    base: u64,
    /// the poisoned line in it `[bytes]`
    line: u64,
    /// the memory below
    memory: *mut u8,
}

/// Poison the line that holds `address`, in the window whose RAM is `memory` and begins at `base`.
///
/// # Safety
/// The caller holds the big lock; `memory` is the window's RAM region.
pub unsafe fn lay(memory: *mut c_void, base: u64, address: u64) {
    let page = address / PAGE * PAGE;
    // SAFETY: the RAM region holds the address; region and page live as long as QEMU does.
    unsafe {
        let ram = (functions().memory_region_get_ram_ptr)(memory).cast::<u8>();
        let line = address % PAGE / LINE * LINE;
        let state = Box::leak(Box::new(Page { base: page, line, memory: ram.add((page - base) as usize) }));
        let region = libc::calloc(1, qemu::MEMORY_REGION_BYTES);
        let (operations, state) = ((&raw const OPERATIONS).cast(), (&raw mut *state).cast());
        let name = c"cxlab-poison".as_ptr();
        (functions().memory_region_init_io)(region, std::ptr::null_mut(), operations, state, name, PAGE);
        let system = (functions().get_system_memory)();
        (functions().memory_region_add_subregion_overlap)(system, page, region, PRIORITY);
    }
}

impl Page {
    /// Whether an access meets the poisoned line.
    fn is_poisoned(&self, at: u64, size: c_uint) -> bool {
        at < self.line + LINE && at + u64::from(size) > self.line
    }

    /// Raise one, unless the vCPU is about to take one: to QEMU, as to a processor, a second one is the end of the machine.
    fn machine_check(&self) {
        let (cpu, address) = (qemu::current_cpu(), self.base + self.line);
        let mut about_to_take = ABOUT_TO_TAKE.lock().expect("nobody panics with it");
        if about_to_take.contains(&cpu.addr()) {
            return;
        }
        about_to_take.push(cpu.addr());
        let monitor = std::ptr::null_mut();
        // SAFETY: callbacks of memory regions run on the vCPU's thread under the big lock.
        unsafe {
            (functions().cpu_x86_inject_mce)(monitor, cpu, BANK, STATUS, GLOBAL_STATUS, address, MISC, 0);
            (functions().async_run_on_cpu)(cpu, has_taken, 0);
        }
    }
}

/// vCPUs whose machine check comes behind their block, by the address of their state.
static ABOUT_TO_TAKE: Mutex<Vec<usize>> = Mutex::new(Vec::new());

/// Work on a vCPU, behind its block.
unsafe extern "C" fn has_taken(cpu: Cpu, _data: u64) {
    ABOUT_TO_TAKE.lock().expect("nobody panics with it").retain(|&about| about != cpu.addr());
}

unsafe extern "C" fn read(page: *mut c_void, at: u64, size: c_uint) -> u64 {
    // SAFETY: `lay` gave the page; the access lies within it.
    let page = unsafe { &*page.cast::<Page>() };
    let mut bytes = [0; 8];
    if page.is_poisoned(at, size) {
        page.machine_check();
    } else {
        // SAFETY: as above.
        unsafe { std::ptr::copy_nonoverlapping(page.memory.add(at as usize), bytes.as_mut_ptr(), size as usize) };
    }
    u64::from_le_bytes(bytes)
}

unsafe extern "C" fn write(page: *mut c_void, at: u64, data: u64, size: c_uint) {
    let bytes = data.to_le_bytes();
    // SAFETY: as in `read`.
    unsafe {
        let page = &*page.cast::<Page>();
        std::ptr::copy_nonoverlapping(bytes.as_ptr(), page.memory.add(at as usize), size as usize);
    }
}
