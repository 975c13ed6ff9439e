//! Streaming: `a[i] = b[i] + s c[i]` over the thread's own three arrays, round and round.
//!
//! Threads begin apart from each other: programs that were started by hand are not in step.

use super::{Act, Region};
use crate::addr::VirtualLine;

#[derive(Clone, Debug)]
pub struct Streaming {
    first: u64,
    /// lines of an array
    array: u64,
    place: u64,
    operand: u64,
    /// lines written
    pub(super) work: u64,
}

impl Streaming {
    pub fn new(region: Region) -> Streaming {
        let (first, lines) = region.own();
        let array = lines / 3;
        Streaming { first, array, place: array * region.thread / region.threads, operand: 0, work: 0 }
    }

    #[inline]
    pub(super) fn act(&mut self) -> Act {
        let line = VirtualLine(self.first + self.operand * self.array + self.place);
        if self.operand < 2 {
            self.operand += 1;
            return Act::Load(line);
        }
        self.operand = 0;
        self.place = (self.place + 1) % self.array;
        self.work += 1;
        Act::Store(line)
    }
}
