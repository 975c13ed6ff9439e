//! What QEMU calls where a vCPU executes: blocks, clock reads, halts, lines touched. Each tells the stream.

use std::ffi::{CStr, c_void};

use cxlab_access::record::MemoryAccess;
use cxlab_access::{BlockId, Record};

use super::with;
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
    if mode::in_detail() {
        with(|stream| stream.block(0, BlockData(data as u64)));
    }
}

/// An instruction of the only vCPU reads the clock.
pub unsafe extern "C" fn on_clock_read(_vcpu: u32, instruction: *mut c_void) {
    if mode::in_detail() {
        let read = with(|stream| stream.read_clock(0, instruction as u16));
        assert!(read, "nobody else can be behind the only vCPU");
    }
}

/// A block is entered by one of several: the vCPU, if it is to leave instead.
pub unsafe extern "C" fn enter_block(vcpu: u32, data: *mut c_void) -> Cpu {
    let vcpu = vcpu as usize;
    if !mode::in_detail() {
        return std::ptr::null_mut();
    }
    with(|stream| {
        if !stream.enter(vcpu) {
            return qemu::cpu(vcpu);
        }
        stream.block(vcpu, BlockData(data as u64));
        std::ptr::null_mut()
    })
}

/// An instruction of one of several reads the clock: the vCPU, if it is to leave before that.
pub unsafe extern "C" fn reach_clock_read(vcpu: u32, instruction: *mut c_void) -> Cpu {
    let (vcpu, instruction) = (vcpu as usize, instruction as u16);
    if !mode::in_detail() {
        return std::ptr::null_mut();
    }
    with(|stream| {
        if stream.turns.is_most_behind(vcpu) && stream.read_clock(vcpu, instruction) {
            return std::ptr::null_mut();
        }
        stream.push(vcpu, Record::Cut { instruction });
        stream.turns.take_back(vcpu, stream.in_block - u64::from(instruction));
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

/// An instruction has touched memory.
pub unsafe extern "C" fn on_memory(vcpu: u32, info: api::MemoryInfo, address: u64, instruction: *mut c_void) {
    if !mode::in_detail() {
        return;
    }
    let instruction = instruction as u64;
    // SAFETY: `info` and `address` are those of this callback.
    let store = unsafe { api::qemu_plugin_mem_is_store(info) };
    let told = Some((instruction, address >> 6));
    with(|stream| {
        // A repeating instruction, and a vector that QEMU moves in halves, tell each line once.
        if std::mem::replace(&mut stream.last[usize::from(store)], told) == told {
            return;
        }
        // SAFETY: the address is looked up within the callback that it is valid in.
        let (physical, device) = unsafe {
            let place = api::qemu_plugin_get_hwaddr(info, address);
            if place.is_null() {
                return;
            }
            (api::qemu_plugin_hwaddr_phys_addr(place), api::qemu_plugin_hwaddr_is_io(place))
        };
        stream.access(
            vcpu as usize,
            MemoryAccess {
                instruction: instruction as u16,
                // SAFETY: `info` is that of this callback.
                size_log2: unsafe { api::qemu_plugin_mem_size_shift(info) } as u8,
                store,
                physical,
                virtual_page: address >> 12,
                device,
            },
        );
        if device && store && !is_interrupt_controller(info, address) {
            let served = device::wait_for_requests();
            if served > 0 {
                stream.device_served(vcpu as usize, served * device::SERVICE_PS);
            }
        }
    });
}

/// Whether an access goes to the local APIC, which leaves no request behind.
fn is_interrupt_controller(info: api::MemoryInfo, address: u64) -> bool {
    // SAFETY: the look-up and the name are used within the callback that they are valid in.
    unsafe {
        let name = api::qemu_plugin_hwaddr_device_name(api::qemu_plugin_get_hwaddr(info, address));
        !name.is_null() && CStr::from_ptr(name).to_bytes().starts_with(b"apic")
    }
}
