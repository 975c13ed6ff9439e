//! QEMU's own functions that the plugin interface does not offer.
//!
//! The Debian binary exports them as dynamic symbols. They are no interface: each is looked up at start, and a
//! QEMU that lacks one is refused by name. What differs between the series that are known is in `series.rs`.

use std::cell::Cell;
use std::ffi::{c_char, c_int, c_void};
use std::sync::OnceLock;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;

use cxlab_access::Vcpu;

use crate::exports::{self, functions};
use crate::series;
pub use crate::series::Cpu;

pub type Work = unsafe extern "C" fn(Cpu, u64);

/// `QEMU_CLOCK_VIRTUAL`
pub const VIRTUAL_CLOCK: c_int = 1;
/// `QEMU_TIMER_ATTR_ALL`
const ALL_TIMERS: c_int = -1;
/// `RUN_STATE_PAUSED` of qapi/run-state.json
const PAUSED: c_int = 4;

functions! {
    /// Functions that all series have.
    Functions:
    object_class_by_name: fn(*const c_char) -> *mut *mut c_void;
    async_run_on_cpu: fn(Cpu, Work, u64);
    async_safe_run_on_cpu: fn(Cpu, Work, u64);
    qemu_get_cpu: fn(c_int) -> Cpu;
    qemu_clock_deadline_ns_all: fn(c_int, c_int) -> i64;
    qemu_clock_run_timers: fn(c_int) -> bool;
    cpus_get_elapsed_ticks: fn() -> i64;
    all_cpu_threads_idle: fn() -> bool;
    bql_lock_impl: fn(*const c_char, c_int);
    bql_unlock: fn();
    tcg_handle_interrupt: fn(Cpu, c_int);
    tcg_cpu_init_cflags: fn(Cpu, bool);
    cpu_exit: fn(Cpu);
    cpu_has_work: fn(Cpu) -> bool;
    cpu_thread_is_idle: fn(Cpu) -> bool;
    cpu_loop_exit_restore: fn(Cpu, usize);
    pause_all_vcpus: fn();
    vm_stop: fn(c_int) -> c_int;
    runstate_is_running: fn() -> bool;
    tlb_flush: fn(Cpu);
    tlb_init: fn(Cpu);
    tlb_destroy: fn(Cpu);
    qmp_x_query_virtio: fn(*mut c_void) -> *mut VirtioList;
    qapi_free_VirtioInfoList: fn(*mut VirtioList);
    qmp_x_query_virtio_queue_status: fn(*const c_char, u16, *mut c_void) -> *mut VirtQueueStatus;
    qapi_free_VirtQueueStatus: fn(*mut VirtQueueStatus);
    virtio_get_queue: fn(*mut c_void, c_int) -> *mut c_void;
    virtio_notify: fn(*mut c_void, *mut c_void);
    object_resolve_path: fn(*const c_char, *mut bool) -> *mut c_void;
    object_property_get_uint: fn(*mut c_void, *const c_char, *mut c_void) -> u64;
    host_memory_backend_get_memory: fn(*mut c_void) -> *mut c_void;
    get_system_memory: fn() -> *mut c_void;
    memory_region_size: fn(*mut c_void) -> u64;
    memory_region_init_alias: fn(*mut c_void, *mut c_void, *const c_char, *mut c_void, u64, u64);
    memory_region_init_io: fn(*mut c_void, *mut c_void, *const c_void, *mut c_void, *const c_char, u64);
    memory_region_get_ram_ptr: fn(*mut c_void) -> *mut c_void;
    cpu_x86_inject_mce: fn(*mut c_void, Cpu, c_int, u64, u64, u64, u64, c_int);
    memory_region_add_subregion_overlap: fn(*mut c_void, u64, *mut c_void, c_int);
}

/// More than the `MemoryRegion` of any series (272 bytes in 10.0, include/exec/memory.h); those of ours live as long as QEMU does.
pub const MEMORY_REGION_BYTES: usize = 8192;

/// The vCPU whose thread this is.
pub fn current_cpu() -> Cpu {
    // SAFETY: QEMU's thread-local variable of this name; dlsym gives the calling thread's own.
    unsafe {
        let variable = libc::dlsym(libc::RTLD_DEFAULT, c"current_cpu".as_ptr()).cast::<Cpu>();
        if variable.is_null() { std::ptr::null_mut() } else { *variable }
    }
}

/// `VirtioInfoList` of qapi/virtio.json.
#[repr(C)]
pub struct VirtioList {
    pub next: *mut VirtioList,
    pub value: *const VirtioInfo,
}

/// `VirtioInfo` of qapi/virtio.json.
#[repr(C)]
pub struct VirtioInfo {
    pub path: *const c_char,
    pub name: *const c_char,
}

/// The beginning of `VirtQueueStatus` of qapi/virtio.json.
#[repr(C)]
pub struct VirtQueueStatus {
    pub name: *const c_char,
    pub queue_index: u16,
    /// requests taken by the device and not yet answered
    pub inuse: u32,
    pub vring_num: u32,
    pub vring_num_default: u32,
    pub vring_align: u32,
    pub vring_desc: u64,
    pub vring_avail: u64,
    pub vring_used: u64,
    pub has_last_avail_idx: bool,
    pub last_avail_idx: u16,
    pub has_shadow_avail_idx: bool,
    pub shadow_avail_idx: u16,
    /// requests answered since the queue was set up, modulo 2^16
    pub used_idx: u16,
}

static FUNCTIONS: OnceLock<Functions> = OnceLock::new();

/// Find all functions, or say which one this QEMU lacks.
pub fn check() -> Result<(), String> {
    series::check()?;
    let functions = Functions::find().map_err(series::lacks)?;
    let _ = FUNCTIONS.set(functions);
    Ok(())
}

pub fn functions() -> &'static Functions {
    FUNCTIONS.get().expect("check comes first")
}

/// Place at which QEMU keeps the address of the function that it calls for CPUID.
pub fn cpuid_helper() -> Result<*mut *mut c_void, String> {
    let name = "helper_info_cpuid";
    exports::address("helper_info_cpuid\0").map(<*mut c_void>::cast).ok_or_else(|| series::lacks(name))
}

/// Places of the vCPUs that were looked up: QEMU walks a list.
static CPUS: [AtomicUsize; Vcpu::MOST] = [const { AtomicUsize::new(0) }; Vcpu::MOST];

/// A vCPU by its number. None is ever unplugged.
pub fn cpu(vcpu: usize) -> Cpu {
    let known = CPUS[vcpu].load(Relaxed) as Cpu;
    if !known.is_null() {
        return known;
    }
    // SAFETY: a look-up by index.
    let found = unsafe { (functions().qemu_get_cpu)(vcpu as c_int) };
    CPUS[vcpu].store(found as usize, Relaxed);
    found
}

/// End the vCPU's turn behind its current block.
pub fn end_turn(vcpu: usize) {
    // SAFETY: sets flags of a vCPU that exists.
    unsafe { (functions().cpu_exit)(cpu(vcpu)) };
}

/// Whether an interrupt waits for the vCPU.
pub fn has_work(vcpu: usize) -> bool {
    // SAFETY: looks at a vCPU that exists.
    unsafe { (functions().cpu_has_work)(cpu(vcpu)) }
}

/// Whether the vCPU has nothing to do: it waits for an interrupt, and none is there. Asked from the thread of the vCPUs.
pub fn is_idle(vcpu: usize) -> bool {
    ASKS_WHETHER_IDLE.set(true);
    // SAFETY: looks at a vCPU that exists, on the thread that alone changes it.
    let idle = unsafe { (functions().cpu_thread_is_idle)(cpu(vcpu)) };
    ASKS_WHETHER_IDLE.set(false);
    idle
}

thread_local! {
    static ASKS_WHETHER_IDLE: Cell<bool> = const { Cell::new(false) };
}

/// Whether it is [`is_idle`] that asks, not QEMU.
pub fn asks_whether_idle() -> bool {
    ASKS_WHETHER_IDLE.get()
}

/// If vCPUs share a thread, QEMU writes a vCPU's number into its blocks. But blocks are common to all vCPUs. So this
/// has QEMU translate as if each vCPU had a thread of its own. Called on the vCPU's thread, before its first block.
pub fn share_blocks(vcpu: usize) {
    // SAFETY: sets the flags that translations of a vCPU that exists begin with.
    unsafe { (functions().tcg_cpu_init_cflags)(cpu(vcpu), true) };
}

/// The physical page behind a virtual one, if it is memory. The caller is the thread of that vCPU.
pub fn physical_page(vcpu: u32, page: u64) -> Option<u64> {
    // SAFETY: the vCPU exists, and this is its thread.
    unsafe { series::physical_page(cpu(vcpu as usize), page) }
}

/// QEMU's big lock, held until dropped.
pub struct BigLock(());

impl BigLock {
    /// Take it; the caller does not hold it.
    pub fn take() -> BigLock {
        // SAFETY: a static file name and a line, for QEMU's lock profiler.
        unsafe { (functions().bql_lock_impl)(c"cxlab".as_ptr(), line!() as c_int) };
        BigLock(())
    }
}

impl Drop for BigLock {
    fn drop(&mut self) {
        // SAFETY: we hold it.
        unsafe { (functions().bql_unlock)() };
    }
}

/// Nanoseconds to the next timer of the guest's clock; `None` if there is none.
pub fn next_timer_in_ns() -> Option<u64> {
    // SAFETY: reads QEMU's timer lists under their own locks.
    let ns = unsafe { (functions().qemu_clock_deadline_ns_all)(VIRTUAL_CLOCK, ALL_TIMERS) };
    u64::try_from(ns).ok()
}

/// Run the guest's timers that are due. The caller holds the big lock.
pub fn run_timers(_lock: &BigLock) {
    // SAFETY: the big lock is held.
    unsafe { (functions().qemu_clock_run_timers)(VIRTUAL_CLOCK) };
}

/// Let this vCPU run the timers that are due, before its next block.
pub fn run_timers_soon(vcpu: usize) {
    unsafe extern "C" fn run(_cpu: Cpu, _data: u64) {
        // SAFETY: work on a vCPU runs under the big lock.
        unsafe { (functions().qemu_clock_run_timers)(VIRTUAL_CLOCK) };
    }
    // SAFETY: queues work on a vCPU that exists.
    unsafe { (functions().async_run_on_cpu)(cpu(vcpu), run, 0) };
}

/// Stop the machine where it is, behind the vCPU's block. The caller is work on a vCPU, which has the big lock.
pub fn stand_still() {
    // SAFETY: both may be called on a vCPU's thread, with the big lock.
    unsafe {
        (functions().pause_all_vcpus)();
        (functions().vm_stop)(PAUSED);
    }
}

/// Whether the machine runs: it stands still while its state is saved or loaded. The caller holds the big lock.
pub fn runs(_lock: &BigLock) -> bool {
    // SAFETY: reads a variable.
    unsafe { (functions().runstate_is_running)() }
}

/// Whether QEMU ends, asked by the thread of a vCPU in a block. Its main loop waits for the vCPUs then, and brings nothing any more:
/// a vCPU that waited for it would wait for ever.
pub fn ends(lock: &BigLock) -> bool {
    !runs(lock)
}

/// Run `work` on the vCPU's thread, with the big lock, as soon as its block ends.
pub fn run_behind_block(vcpu: usize, work: Work) {
    // SAFETY: queues work on a vCPU that exists.
    unsafe { (functions().async_run_on_cpu)(cpu(vcpu), work, vcpu as u64) };
}

/// Run `work` with all vCPUs stopped, as soon as this vCPU's block ends.
pub fn run_exclusively(vcpu: usize, work: Work) {
    // SAFETY: queues work on a vCPU that exists.
    unsafe { (functions().async_safe_run_on_cpu)(cpu(vcpu), work, vcpu as u64) };
}

/// Whether all vCPUs wait for an interrupt. The caller holds the big lock.
pub fn all_idle(_lock: &BigLock) -> bool {
    // SAFETY: the big lock is held.
    unsafe { (functions().all_cpu_threads_idle)() }
}
