//! A table of what is known of each block, by its id. Blocks that no record will name again are dropped.

use std::ops::Index;

use cxlab_access::BlockId;

/// One value for each block from the oldest that is kept, in the order of their ids.
#[derive(Clone, Debug)]
pub(super) struct Blocks<T> {
    /// the oldest
    first: u32,
    kept: Vec<T>,
}

impl<T> Default for Blocks<T> {
    fn default() -> Self {
        Blocks { first: 0, kept: Vec::new() }
    }
}

impl<T> Blocks<T> {
    /// The next one is this.
    pub(super) fn push(&mut self, value: T) {
        self.kept.push(value);
    }

    /// The id of the next one.
    pub(super) fn next(&self) -> BlockId {
        BlockId(self.first + self.kept.len() as u32)
    }

    /// `None`: it was never defined, or is dropped.
    #[inline]
    pub(super) fn get(&self, block: BlockId) -> Option<&T> {
        self.kept.get(block.0.wrapping_sub(self.first) as usize)
    }

    /// Those that are kept.
    pub(super) fn iter(&self) -> impl Iterator<Item = &T> {
        self.kept.iter()
    }

    /// No block before this one is named again.
    pub(super) fn drop_before(&mut self, block: BlockId) {
        let count = block.0.saturating_sub(self.first).min(self.kept.len() as u32);
        self.kept.drain(..count as usize);
        self.first += count;
    }
}

impl<T> Index<BlockId> for Blocks<T> {
    type Output = T;

    /// # Panics Place of a block that is not kept.
    #[inline]
    fn index(&self, block: BlockId) -> &T {
        &self.kept[block.0.wrapping_sub(self.first) as usize]
    }
}
