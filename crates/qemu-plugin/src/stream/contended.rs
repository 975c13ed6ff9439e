//! Blocks in which threads wait for each other, by what their locked instructions touched last.
//!
//! A block's next locked instruction is taken to touch what it touched the last eight times, if that was one line. The kernel's
//! functions for locks are blocks of many locks: of these nothing is known before.

use std::collections::HashMap;
use std::num::NonZeroU64;

use cxlab_access::BlockId;

/// Times that a block has to touch one line, one after the other, before it is taken to touch that line again. A wrong line costs
/// another thread its own. With two, a sixteenth of the locks of a program with 16 were wrong.
const STEADY_AFTER: u32 = 8;

/// The line that a contended block touched last, and how many times one after the other.
#[derive(Clone, Copy)]
struct Touched {
    line: u64,
    times: u32,
}

#[derive(Default)]
pub struct ContendedBlocks {
    /// those of which a locked instruction touched a line that another vCPU also wanted when it was executed last, as bits
    contended: Vec<u64>,
    lines: HashMap<BlockId, Touched>,
}

impl ContendedBlocks {
    /// A locked instruction of the block touched a line, which another vCPU also wants if the block `is_contended`.
    pub fn touch(&mut self, block: BlockId, line: u64, is_contended: bool) {
        let word = block.0 as usize / 64;
        if word >= self.contended.len() {
            self.contended.resize(word + 1, 0);
        }
        self.contended[word] =
            self.contended[word] & !(1 << (block.0 % 64)) | u64::from(is_contended) << (block.0 % 64);
        if is_contended {
            let touched = self.lines.entry(block).or_insert(Touched { line, times: 0 });
            let times = if touched.line == line { touched.times.saturating_add(1) } else { 1 };
            *touched = Touched { line, times };
        }
    }

    #[inline]
    pub fn has(&self, block: BlockId) -> bool {
        self.contended.get(block.0 as usize / 64).is_some_and(|word| word >> (block.0 % 64) & 1 == 1)
    }

    /// The line that the block's locked instruction touches next, if that is known.
    pub fn line(&self, block: BlockId) -> Option<NonZeroU64> {
        let touched = self.lines.get(&block).filter(|touched| touched.times >= STEADY_AFTER)?;
        NonZeroU64::new(touched.line)
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU64;

    use cxlab_access::BlockId;

    use super::ContendedBlocks;

    #[test]
    fn a_block_is_what_was_said_last() {
        let mut blocks = ContendedBlocks::default();
        assert!(!blocks.has(BlockId(130)));
        blocks.touch(BlockId(130), 7, true);
        blocks.touch(BlockId(129), 7, false);
        assert!(blocks.has(BlockId(130)) && !blocks.has(BlockId(129)) && !blocks.has(BlockId(2)));
        blocks.touch(BlockId(130), 7, false);
        assert!(!blocks.has(BlockId(130)));
    }

    #[test]
    fn a_line_is_known_that_was_touched_eight_times_and_no_other_since() {
        let mut blocks = ContendedBlocks::default();
        let block = BlockId(3);
        let mut touch = |line| {
            blocks.touch(block, line, true);
            blocks.line(block).map(NonZeroU64::get)
        };
        assert!((0..7).all(|_| touch(7).is_none()));
        assert_eq!([touch(7), touch(7), touch(8), touch(7)], [Some(7), Some(7), None, None]);
    }
}
