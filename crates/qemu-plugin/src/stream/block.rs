//! What a block's callback is told: one word, because QEMU hands a callback one pointer.

use std::ffi::c_void;

use cxlab_access::BlockId;

/// A block's id, its number of instructions, and whether the last of them is PAUSE.
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

    /// The data of a callback that was laid with [`BlockData::as_pointer`].
    pub fn of_pointer(data: *mut c_void) -> BlockData {
        BlockData(data as u64)
    }
}
