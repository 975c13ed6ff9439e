//! Blocks in which threads wait for each other, by what their locked instructions touched last.

use cxlab_access::BlockId;

/// Blocks of which a locked instruction touched a line that another vCPU also wanted when it was executed last, as bits.
#[derive(Default)]
pub struct ContendedBlocks(Vec<u64>);

impl ContendedBlocks {
    pub fn set(&mut self, block: BlockId, is_contended: bool) {
        let word = block.0 as usize / 64;
        if word >= self.0.len() {
            self.0.resize(word + 1, 0);
        }
        self.0[word] = self.0[word] & !(1 << (block.0 % 64)) | u64::from(is_contended) << (block.0 % 64);
    }

    #[inline]
    pub fn has(&self, block: BlockId) -> bool {
        self.0.get(block.0 as usize / 64).is_some_and(|word| word >> (block.0 % 64) & 1 == 1)
    }
}

#[cfg(test)]
mod tests {
    use cxlab_access::BlockId;

    use super::ContendedBlocks;

    #[test]
    fn a_block_is_what_was_said_last() {
        let mut blocks = ContendedBlocks::default();
        assert!(!blocks.has(BlockId(130)));
        blocks.set(BlockId(130), true);
        blocks.set(BlockId(129), false);
        assert!(blocks.has(BlockId(130)) && !blocks.has(BlockId(129)) && !blocks.has(BlockId(2)));
        blocks.set(BlockId(130), false);
        assert!(!blocks.has(BlockId(130)));
    }
}
