//! The word that a block's callback is given. It is one word, because QEMU hands a callback one pointer.

use std::ffi::c_void;

use cxlab_access::BlockId;

/// A block's id, its number of instructions, whether the last of them is PAUSE, and whether a program executes it.
#[derive(Clone, Copy)]
pub struct BlockData(u64);

impl BlockData {
    const PAUSES: u64 = 1 << 63;
    const IS_USER: u64 = 1 << 62;
    const FLAGS: u64 = BlockData::PAUSES | BlockData::IS_USER;

    /// A block at `pc`: the kernel has the upper half of addresses (Linux, Documentation/arch/x86/x86_64/mm.rst).
    pub fn new(block: BlockId, pc: u64, instructions: u64, pauses: bool) -> BlockData {
        let user = if pc >> 63 == 0 { BlockData::IS_USER } else { 0 };
        let pauses = if pauses { BlockData::PAUSES } else { 0 };
        BlockData(u64::from(block.0) | instructions << 32 | pauses | user)
    }

    pub fn id(self) -> BlockId {
        BlockId(self.0 as u32)
    }

    pub fn instructions(self) -> u64 {
        (self.0 & !BlockData::FLAGS) >> 32
    }

    pub fn pauses(self) -> bool {
        self.0 & BlockData::PAUSES != 0
    }

    /// The block, if it ends with a PAUSE.
    #[inline]
    pub fn paused(self) -> Option<BlockId> {
        self.pauses().then(|| self.id())
    }

    /// Whether a program executes it, not the kernel.
    pub fn is_user(self) -> bool {
        self.0 & BlockData::IS_USER != 0
    }

    pub fn as_pointer(self) -> *mut c_void {
        self.0 as *mut c_void
    }

    /// The data of a callback that was laid with [`BlockData::as_pointer`].
    pub fn of_pointer(data: *mut c_void) -> BlockData {
        BlockData(data as u64)
    }
}
