//! Tracks blocks of code that QEMU has thrown away. Those that no record can name any more are dropped, so a guest
//! that makes code without end needs no more memory.
//!
//! ```text
//!   block 900 is the first since:  records read so far may name 0 to 899 --used--> all vCPUs are in 900 or later --> dropped
//! ```

use std::sync::Arc;

use cxlab_access::BlockId;

use super::Reader;
use crate::feed::Block;
use crate::session::blocks::Blocks;
use crate::session::warming::Warming;

/// A block, and how many records of each vCPU may name one before it.
#[derive(Debug)]
struct Before {
    block: BlockId,
    came: Vec<u64>,
}

/// Blocks that no later record names.
#[derive(Debug, Default)]
pub(super) struct Retired {
    /// those before this one: nobody has looked how far the vCPUs have to come
    latest: Option<BlockId>,
    before: Option<Before>,
}

impl Retired {
    /// No later record names a block before this one.
    pub(super) fn push(&mut self, block: BlockId) {
        self.latest = Some(block);
    }

    /// Drop what nothing names any more.
    pub(super) fn settle(&mut self, readers: &mut [Reader], blocks: &mut Blocks<Arc<Block>>, warming: &mut Warming) {
        if self.before.is_none() {
            let Some(block) = self.latest.take() else { return };
            self.before = Some(Before { block, came: readers.iter().map(Reader::came).collect() });
        }
        let Some(Before { block, came }) = &self.before else { return };
        let is_past = |(reader, came): (&mut Reader, &u64)| reader.is_past(*block, *came);
        if readers.iter_mut().zip(came).all(is_past) && warming.is_past(*block) {
            readers.iter_mut().for_each(|reader| reader.drop_before(*block));
            blocks.drop_before(*block);
            warming.drop_before(*block);
            self.before = None;
        }
    }
}
