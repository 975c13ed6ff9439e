//! What QEMU calls where a vCPU executes: blocks, clock reads, halts, lines touched. Each tells the stream.

use std::ffi::{CStr, c_void};

use cxlab_access::record::MemoryAccess;
use cxlab_access::{BlockId, Record};

use super::with;
use crate::mode::Mode;
use crate::qemu::{self, Cpu};
use crate::{api, device, mode};

/// What a block's callback is told: its id, its instructions, and whether the last of them is PAUSE.
#[derive(Clone, Copy)]
pub struct BlockData(u64);

impl BlockData {
    const PAUSES: u64 = 1 << 63;

    pub fn new(block: BlockId, instructions: u64, pauses: bool) -> BlockData {
        BlockData(u64::from(block.0) | instructions << 32 | if pauses { BlockData::PAUSES } else { 0 })
    }

    pub fn id(self) -> BlockId {
        BlockId(self.0 as u32)
    }

    pub fn instructions(self) -> u64 {
        (self.0 & !BlockData::PAUSES) >> 32
    }

    pub fn pauses(self) -> bool {
        self.0 & BlockData::PAUSES != 0
    }

    pub fn as_pointer(self) -> *mut c_void {
        self.0 as *mut c_void
    }
}

/// A block is entered by the only vCPU.
pub unsafe extern "C" fn on_block(_vcpu: u32, data: *mut c_void) {
    if mode::tells() {
        with(|stream| stream.step(0, BlockData(data as u64)));
    }
}

/// An instruction of the only vCPU reads the clock.
pub unsafe extern "C" fn on_clock_read(_vcpu: u32, instruction: *mut c_void) {
    if mode::now() == Mode::Warming {
        with(|stream| stream.show_warmed());
    } else if mode::in_detail() {
        let read = with(|stream| stream.read_clock(0, instruction as u16));
        assert!(read, "nobody else can be behind the only vCPU");
    }
}

/// A block is entered by one of several: the vCPU, if it is to leave instead.
pub unsafe extern "C" fn enter_block(vcpu: u32, data: *mut c_void) -> Cpu {
    let vcpu = vcpu as usize;
    if !mode::tells() {
        return std::ptr::null_mut();
    }
    with(|stream| {
        let block = BlockData(data as u64);
        if mode::in_detail() && !stream.may_enter(vcpu, block.id()) {
            return qemu::cpu(vcpu);
        }
        stream.step(vcpu, block);
        std::ptr::null_mut()
    })
}

/// An instruction of one of several reads the clock: the vCPU, if it is to leave before that.
pub unsafe extern "C" fn reach_clock_read(vcpu: u32, instruction: *mut c_void) -> Cpu {
    let (vcpu, instruction) = (vcpu as usize, instruction as u16);
    if mode::now() == Mode::Warming {
        with(|stream| stream.show_warmed());
    }
    if !mode::in_detail() {
        return std::ptr::null_mut();
    }
    with(|stream| {
        // Who may enter the block may read the clock at its beginning: else all would leave, each for another.
        let rest = stream.in_block - u64::from(instruction);
        stream.turns.take_back(vcpu, rest);
        if stream.turns.is_most_behind(vcpu) && stream.read_clock(vcpu, instruction) {
            stream.turns.execute(vcpu, rest, false);
            return std::ptr::null_mut();
        }
        stream.push(vcpu, Record::Cut { instruction });
        qemu::cpu(vcpu)
    })
}

/// One of several is about to execute PAUSE, which ends its block: the model knows without more how long that takes, and
/// so when the vCPU looks again at what it waits for.
pub unsafe extern "C" fn on_pause(vcpu: u32, instruction: *mut c_void) {
    if mode::in_detail() {
        with(|stream| stream.push(vcpu as usize, Record::Cut { instruction: instruction as u16 + 1 }));
    }
}

/// A vCPU is about to halt.
pub unsafe extern "C" fn on_halt(vcpu: u32, _data: *mut c_void) {
    let vcpu = vcpu as usize;
    // With an interrupt at hand it goes on at once.
    if mode::in_detail() && !qemu::has_work(vcpu) {
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

/// An instruction has touched memory.
pub unsafe extern "C" fn on_memory(vcpu: u32, info: api::MemoryInfo, address: u64, instruction: *mut c_void) {
    // SAFETY: `info` and `address` are those of this callback.
    let store = unsafe { api::qemu_plugin_mem_is_store(info) };
    match mode::now() {
        Mode::Counted => return,
        Mode::Warming => return warm(vcpu as usize, info, address, store, instruction as u16),
        Mode::Detail => {}
    }
    let instruction = instruction as u64;
    let told = Some((instruction, address >> 6));
    with(|stream| {
        // A repeating instruction, and a vector that QEMU moves in halves, tell each line once.
        if std::mem::replace(&mut stream.last[usize::from(store)], told) == told {
            return;
        }
        let Some(mut access) = located(info, address, store, instruction as u16) else { return };
        access.page = if access.device { None } else { stream.page(vcpu as usize, address, access.physical) };
        stream.access(vcpu as usize, access);
        if access.device && store {
            let service_ps = serve(info, address);
            if service_ps > 0 {
                stream.device_served(vcpu as usize, service_ps);
            }
        }
    });
}

/// The same where nothing is timed: lines that are no news are not told.
#[inline]
fn warm(vcpu: usize, info: api::MemoryInfo, address: u64, store: bool, instruction: u16) {
    with(|stream| {
        if !stream.is_news(address >> 6, store) {
            return;
        }
        let Some(access) = located(info, address, store, instruction) else { return };
        if !access.device {
            stream.access(vcpu, access);
        } else if store {
            // Each store to a device may notify it.
            stream.forget_news();
            let service_ps = serve(info, address);
            if service_ps > 0 {
                stream.warm_device_served(vcpu, service_ps);
            }
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

/// A device was stored to: how long it takes to serve what that asks for [ps].
fn serve(info: api::MemoryInfo, address: u64) -> u64 {
    if is_interrupt_controller(info, address) { 0 } else { device::wait_for_requests() * device::SERVICE_PS }
}

/// Whether an access goes to the local APIC, which leaves no request behind.
fn is_interrupt_controller(info: api::MemoryInfo, address: u64) -> bool {
    // SAFETY: the look-up and the name are used within the callback that they are valid in.
    unsafe {
        let name = api::qemu_plugin_hwaddr_device_name(api::qemu_plugin_get_hwaddr(info, address));
        !name.is_null() && CStr::from_ptr(name).to_bytes().starts_with(b"apic")
    }
}
