//! Functions that QEMU calls when a vCPU executes: blocks, clock reads, halts, touched lines. Each tells the stream.
//!
//! Where several vCPUs take turns, a block may be left at its beginning, or before a clock read.

use std::arch::naked_asm;
use std::ffi::{CStr, c_void};

use cxlab_access::Record;
use cxlab_access::record::MemoryAccess;

use crate::mode::Mode;
use crate::qemu::{self, Cpu, functions};
use crate::stream::{BlockData, Stream, with};
use crate::{api, disk, host_files, mode, stop};

/// A block is entered by the only vCPU.
pub unsafe extern "C" fn on_block(_vcpu: u32, data: *mut c_void) {
    if mode::tells() && with(|stream| stream.step(0, BlockData::of_pointer(data))) {
        stop::is_over(0);
    }
}

/// An instruction of the only vCPU reads the clock.
pub unsafe extern "C" fn on_clock_read(_vcpu: u32, instruction: *mut c_void) {
    if mode::now() == Mode::Warming {
        with(|stream| stream.show_warmed());
    } else if mode::in_detail() {
        let read = with(|stream| stream.feed.read_clock(0, instruction as u16));
        assert!(read, "nobody else can be behind the only vCPU");
    }
}

/// A block is entered by one of several: the vCPU, if it is to leave instead.
unsafe extern "C" fn enter_block(vcpu: u32, data: *mut c_void) -> Cpu {
    let vcpu = vcpu as usize;
    if !mode::tells() {
        return std::ptr::null_mut();
    }
    let block = BlockData::of_pointer(data);
    let may_enter = with(|stream| match mode::now() {
        Mode::Detail => stream.may_enter(vcpu, block),
        _ => stream.may_warm(vcpu),
    });
    if !may_enter {
        return qemu::cpu(vcpu);
    }
    if with(|stream| stream.step(vcpu, block)) {
        stop::is_over(vcpu);
    }
    std::ptr::null_mut()
}

/// An instruction of one of several reads the clock: the vCPU, if it is to leave before that.
unsafe extern "C" fn reach_clock_read(vcpu: u32, instruction: *mut c_void) -> Cpu {
    let (vcpu, instruction) = (vcpu as usize, instruction as u16);
    if mode::now() == Mode::Warming {
        with(|stream| stream.show_warmed());
    }
    if !mode::in_detail() {
        return std::ptr::null_mut();
    }
    if with(|stream| stream.feed.reach_clock_read(vcpu, instruction)) { std::ptr::null_mut() } else { qemu::cpu(vcpu) }
}

/// Defines a callback that leaves the block if `decide` names a vCPU. It has no frame of its own, so `leave` finds the place in the
/// block's code that called it.
macro_rules! leaving_callback {
    ($(#[$text:meta])* $name:ident, $decide:ident) => {
        $(#[$text])*
        #[unsafe(naked)]
        pub unsafe extern "C" fn $name(_vcpu: u32, _data: *mut c_void) {
            naked_asm!(
                "sub rsp, 8", "call {decide}", "add rsp, 8", "test rax, rax", "jnz 2f", "ret",
                "2:", "mov rdi, rax", "mov rsi, [rsp]", "jmp {leave}",
                decide = sym $decide, leave = sym leave,
            )
        }
    };
}

leaving_callback! {
    /// A block is entered: leave it at its beginning if it is another's turn.
    on_block_of_several, enter_block
}

leaving_callback! {
    /// A clock is about to be read: leave the block before that if another one is behind.
    on_clock_read_of_several, reach_clock_read
}

/// Leave the vCPU's loop; `back` is the place in the block's code that called us. It does not come back, and no
/// frame of ours but this one is given up.
unsafe extern "C" fn leave(cpu: Cpu, back: usize) {
    // SAFETY: called in place of a return to the block, on the thread of this vCPU.
    unsafe {
        (functions().cpu_exit)(cpu);
        (functions().cpu_loop_exit_restore)(cpu, back);
    }
}

/// One of several vCPUs is about to execute PAUSE, which ends its block. The model knows how long PAUSE takes. So it
/// knows when the vCPU looks again at what it waits for.
pub unsafe extern "C" fn on_pause(vcpu: u32, instruction: *mut c_void) {
    if mode::in_detail() {
        with(|stream| stream.feed.push(vcpu as usize, Record::Cut { instruction: instruction as u16 + 1 }));
    }
}

/// A vCPU is about to halt.
pub unsafe extern "C" fn on_halt(vcpu: u32, _data: *mut c_void) {
    let vcpu = vcpu as usize;
    // With an interrupt at hand it goes on at once.
    if mode::tells() && !qemu::has_work(vcpu) {
        with(|stream| stream.halt(vcpu));
    }
}

/// An instruction that may repeat has touched memory.
pub unsafe extern "C" fn on_repeat(vcpu: u32, info: api::MemoryInfo, address: u64, instruction: *mut c_void) {
    if mode::tells() {
        // SAFETY: `info` is that of this callback.
        let store = unsafe { api::qemu_plugin_mem_is_store(info) };
        let is_new = with(|stream| stream.repeat(vcpu as usize, instruction as u16, address >> 6, store));
        // QEMU moves a byte at a time: only the first of a line is news to the caches.
        if !is_new && mode::now() == Mode::Warming {
            return;
        }
    }
    // SAFETY: as it was called.
    unsafe { on_memory(vcpu, info, address, instruction) }
}

leaving_callback! {
    /// A store that gives back a lock is about to be executed: leave the block before that if another vCPU comes first.
    on_release, reach_release
}

/// A store of one of several gives back a lock: the vCPU, if it is to leave before that.
unsafe extern "C" fn reach_release(vcpu: u32, instruction: *mut c_void) -> Cpu {
    let (vcpu, instruction) = (vcpu as usize, instruction as u16);
    if !mode::in_detail() || with(|stream| stream.reach_release(vcpu, instruction)) {
        return std::ptr::null_mut();
    }
    qemu::cpu(vcpu)
}

/// A locked instruction of one of several has touched memory.
pub unsafe extern "C" fn on_locked(vcpu: u32, info: api::MemoryInfo, address: u64, data: *mut c_void) {
    if mode::in_detail() {
        // SAFETY: the address is looked up within the callback that it is valid in.
        let place = unsafe { api::qemu_plugin_get_hwaddr(info, address) };
        if !place.is_null() {
            // SAFETY: as above.
            let line = unsafe { api::qemu_plugin_hwaddr_phys_addr(place) } >> 6;
            with(|stream| stream.lock(vcpu as usize, address, line));
        }
    }
    // SAFETY: as it was called.
    unsafe { on_memory(vcpu, info, address, data) }
}

/// MOV of one of several has touched memory. Its data has its address above its number.
pub unsafe extern "C" fn on_store_of_several(vcpu: u32, info: api::MemoryInfo, address: u64, data: *mut c_void) {
    if mode::in_detail() && with(|stream| stream.learns_release(vcpu as usize, address, data as u64 >> 16)) {
        qemu::run_exclusively(vcpu as usize, stop::flush);
    }
    // SAFETY: as it was called.
    unsafe { on_memory(vcpu, info, address, data) }
}

/// An instruction has touched memory.
pub unsafe extern "C" fn on_memory(vcpu: u32, info: api::MemoryInfo, address: u64, instruction: *mut c_void) {
    // SAFETY: `info` and `address` are those of this callback.
    let store = unsafe { api::qemu_plugin_mem_is_store(info) };
    match mode::now() {
        Mode::Counted => return,
        Mode::Warming => return warm(vcpu as usize, info, address, store, instruction as u16),
        Mode::Detail => {}
    }
    let instruction = instruction as u16;
    with(|stream| {
        if !stream.feed.touches_anew(instruction, address >> 6, store) {
            return;
        }
        let Some(mut access) = located(info, address, store, instruction) else { return };
        access.page = if access.device { None } else { stream.feed.page(vcpu as usize, address, access.physical) };
        stream.feed.access(vcpu as usize, access);
        if access.device && store {
            ask_devices(stream, vcpu as usize, info, address);
        }
    });
}

/// Handles an access between windows. It tells a line only if that is news.
#[inline]
fn warm(vcpu: usize, info: api::MemoryInfo, address: u64, store: bool, instruction: u16) {
    with(|stream| {
        if !stream.warming.is_news(vcpu, address >> 6, store) {
            return;
        }
        let Some(mut access) = located(info, address, store, instruction) else { return };
        if !access.device {
            access.page = stream.feed.page(vcpu, address, access.physical);
            stream.feed.access(vcpu, access);
        } else if store {
            // Each store to a device may notify it.
            stream.warming.forget_news();
            ask_devices(stream, vcpu, info, address);
        }
    });
}

/// The access, with its place in memory or in a device.
#[inline]
fn located(info: api::MemoryInfo, address: u64, store: bool, instruction: u16) -> Option<MemoryAccess> {
    // SAFETY: the address is looked up within the callback that it is valid in.
    unsafe {
        let place = api::qemu_plugin_get_hwaddr(info, address);
        if place.is_null() {
            return None;
        }
        Some(MemoryAccess {
            instruction,
            size_log2: api::qemu_plugin_mem_size_shift(info) as u8,
            store,
            physical: api::qemu_plugin_hwaddr_phys_addr(place),
            page: None,
            device: api::qemu_plugin_hwaddr_is_io(place),
        })
    }
}

/// Without detail, a store may have notified a queue. Hold the vCPU until its request is done. So the interrupt of
/// the answer comes at the same place in every run.
pub unsafe extern "C" fn on_notify(_vcpu: u32, info: api::MemoryInfo, address: u64, _data: *mut c_void) {
    // SAFETY: the address is looked up within the callback that it is valid in.
    let is_device = unsafe {
        let place = api::qemu_plugin_get_hwaddr(info, address);
        !place.is_null() && api::qemu_plugin_hwaddr_is_io(place)
    };
    if is_device {
        drop(host_files::wait());
        disk::serve_at_once();
    }
}

/// A store to a device may have asked for something.
fn ask_devices(stream: &mut Stream, vcpu: usize, info: api::MemoryInfo, address: u64) {
    if !is_interrupt_controller(info, address) {
        stream.ask_host(vcpu);
    }
    stream.ask_disk(vcpu);
}

/// Whether an access goes to the local APIC, which leaves no request behind.
fn is_interrupt_controller(info: api::MemoryInfo, address: u64) -> bool {
    // SAFETY: the look-up and the name are used within the callback that they are valid in.
    unsafe {
        let name = api::qemu_plugin_hwaddr_device_name(api::qemu_plugin_get_hwaddr(info, address));
        !name.is_null() && CStr::from_ptr(name).to_bytes().starts_with(b"apic")
    }
}
