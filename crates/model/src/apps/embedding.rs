//! Embedding reduction: rows at random, summed.
//!
//! A row is 64 numbers of 4 B, four lines (the size of MICRO'23's DLRM is not printed; MLPerf's tables have 64 to 128
//! columns). Addresses come from a list of indices, so loads of many rows overlap.

use cxlab_kernel::Stream;

use super::{Act, Region};
use crate::addr::VirtualLine;

const ROW_LINES: u64 = 4;

#[derive(Clone, Debug)]
pub struct Embedding {
    region: Region,
    random: Stream,
    row: u64,
    /// lines of the row that are done
    done: u64,
    /// rows
    pub(super) work: u64,
}

impl Embedding {
    pub fn new(region: Region, random: Stream) -> Embedding {
        Embedding { region, random, row: 0, done: ROW_LINES, work: 0 }
    }

    #[inline]
    pub(super) fn act(&mut self) -> Act {
        if self.done == ROW_LINES {
            self.row = self.random.below(self.region.lines / ROW_LINES);
            self.done = 0;
            self.work += 1;
        }
        let line = self.region.first.0 + self.row * ROW_LINES + self.done;
        self.done += 1;
        Act::Load(VirtualLine(line))
    }
}
