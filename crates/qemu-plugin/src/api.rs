//! QEMU's plugin interface, versions 4 and 7: the functions that this plugin calls, and no more.
//!
//! Source: include/qemu/qemu-plugin.h of QEMU 10.0, include/plugins/qemu-plugin.h of 11.1. The functions are QEMU's; they are
//! found when it loads us. What differs between the versions is said where it is declared.

use std::ffi::{c_char, c_int, c_uint, c_void};

pub type PluginId = u64;
pub type MemoryInfo = u32;

/// QEMU's description of itself, not looked into.
#[repr(C)]
pub struct Info {
    _private: [u8; 0],
}

macro_rules! opaque {
    ($($name:ident),+) => { $(#[repr(C)] pub struct $name { _private: [u8; 0] })+ };
}
opaque!(Block, Instruction, HwAddress, Scoreboard);

/// The beginning of `qemu_plugin_reg_descriptor`: version 7 has a word behind it.
#[repr(C)]
pub struct RegisterDescriptor {
    pub handle: *mut c_void,
    pub name: *const c_char,
    pub feature: *const c_char,
}

/// The public part of glib's `GArray` and `GByteArray`.
#[repr(C)]
pub struct ByteArray {
    pub data: *mut u8,
    /// elements
    pub length: c_uint,
}

/// A counter for each vCPU: a scoreboard and an offset into its entries.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Counter {
    pub score: *mut Scoreboard,
    pub offset: usize,
}

/// `QEMU_PLUGIN_CB_NO_REGS`
pub const NO_REGISTERS: c_int = 0;
/// `QEMU_PLUGIN_CB_R_REGS`
pub const READ_REGISTERS: c_int = 1;
/// `QEMU_PLUGIN_MEM_W`
pub const WRITE: c_int = 2;
/// `QEMU_PLUGIN_MEM_RW`
pub const READ_AND_WRITE: c_int = 3;
/// `QEMU_PLUGIN_COND_GE`
pub const GREATER_OR_EQUAL: c_int = 7;
/// `QEMU_PLUGIN_INLINE_ADD_U64`
pub const ADD: c_int = 0;

/// Function that is called for a vCPU. Version 4 passes our id and the vCPU, version 7 the vCPU and our data.
pub type VcpuCallback = *const c_void;
/// Function that is called for a block. Version 4 passes our id and the block, version 7 the block and our data.
pub type BlockCallback = *const c_void;
pub type ExecutionCallback = unsafe extern "C" fn(c_uint, *mut c_void);
pub type MemoryCallback = unsafe extern "C" fn(c_uint, MemoryInfo, u64, *mut c_void);

unsafe extern "C" {
    // Version 4 has no data here, and does not look at what we pass.
    pub fn qemu_plugin_register_vcpu_init_cb(id: PluginId, callback: VcpuCallback, data: *mut c_void);
    pub fn qemu_plugin_register_vcpu_tb_trans_cb(id: PluginId, callback: BlockCallback, data: *mut c_void);
    // Version 4 passes our id, version 7 the data, which is the third argument there.
    pub fn qemu_plugin_register_flush_cb(id: PluginId, callback: unsafe extern "C" fn(), data: *mut c_void);
    // Version 4 passes our id and the data, version 7 the data.
    pub fn qemu_plugin_register_atexit_cb(id: PluginId, callback: unsafe extern "C" fn(), data: *mut c_void);

    pub fn qemu_plugin_register_vcpu_tb_exec_cb(
        block: *mut Block,
        callback: ExecutionCallback,
        flags: c_int,
        data: *mut c_void,
    );
    pub fn qemu_plugin_register_vcpu_tb_exec_cond_cb(
        block: *mut Block,
        callback: ExecutionCallback,
        flags: c_int,
        condition: c_int,
        counter: Counter,
        immediate: u64,
        data: *mut c_void,
    );
    pub fn qemu_plugin_register_vcpu_tb_exec_inline_per_vcpu(
        block: *mut Block,
        operation: c_int,
        counter: Counter,
        immediate: u64,
    );
    pub fn qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu(
        instruction: *mut Instruction,
        operation: c_int,
        counter: Counter,
        immediate: u64,
    );
    pub fn qemu_plugin_register_vcpu_insn_exec_cb(
        instruction: *mut Instruction,
        callback: ExecutionCallback,
        flags: c_int,
        data: *mut c_void,
    );
    pub fn qemu_plugin_register_vcpu_mem_cb(
        instruction: *mut Instruction,
        callback: MemoryCallback,
        flags: c_int,
        access: c_int,
        data: *mut c_void,
    );

    pub fn qemu_plugin_tb_n_insns(block: *const Block) -> usize;
    pub fn qemu_plugin_tb_vaddr(block: *const Block) -> u64;
    pub fn qemu_plugin_tb_get_insn(block: *const Block, index: usize) -> *mut Instruction;
    pub fn qemu_plugin_insn_data(instruction: *const Instruction, to: *mut c_void, length: usize) -> usize;
    pub fn qemu_plugin_insn_size(instruction: *const Instruction) -> usize;

    pub fn qemu_plugin_insn_vaddr(instruction: *const Instruction) -> u64;

    pub fn qemu_plugin_get_registers() -> *mut ByteArray;
    /// Appends to the array; a register that QEMU does not have appends nothing. The result is a number of bytes in
    /// version 4, and a truth value in version 7.
    pub fn qemu_plugin_read_register(handle: *mut c_void, to: *mut ByteArray);
    pub fn g_array_get_element_size(array: *mut ByteArray) -> c_uint;
    pub fn g_byte_array_new() -> *mut ByteArray;
    pub fn g_byte_array_unref(array: *mut ByteArray);

    pub fn qemu_plugin_mem_size_shift(info: MemoryInfo) -> c_uint;
    pub fn qemu_plugin_mem_is_store(info: MemoryInfo) -> bool;
    pub fn qemu_plugin_get_hwaddr(info: MemoryInfo, address: u64) -> *mut HwAddress;
    pub fn qemu_plugin_hwaddr_is_io(address: *const HwAddress) -> bool;
    pub fn qemu_plugin_hwaddr_phys_addr(address: *const HwAddress) -> u64;
    pub fn qemu_plugin_hwaddr_device_name(address: *const HwAddress) -> *const c_char;

    pub fn qemu_plugin_scoreboard_new(element_size: usize) -> *mut Scoreboard;
    pub fn qemu_plugin_u64_set(counter: Counter, vcpu: c_uint, value: u64);
    pub fn qemu_plugin_u64_sum(counter: Counter) -> u64;
}
