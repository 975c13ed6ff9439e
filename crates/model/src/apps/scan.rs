//! A scan reads the thread's partition in order. For every fourth line it writes a result to a random place.
//!
//! This is the law of a shuffle. Each page is as hot as any other, and is left for long after it was read.
//! Assumption: 40 ns a line, 1.6 GB/s a core, as a query engine's operators are busy with a row.

use cxlab_kernel::{Stream, Time};

use super::{Act, Region};
use crate::addr::VirtualLine;

const LINES_A_RESULT: u64 = 4;
const COMPUTE: Time = Time::from_ns(40);

#[derive(Clone, Debug)]
pub struct Scan {
    first: u64,
    lines: u64,
    random: Stream,
    place: u64,
    step: u8,
    /// lines read
    pub(super) work: u64,
}

impl Scan {
    pub fn new(region: Region, mut random: Stream) -> Scan {
        let (first, lines) = region.own();
        let place = random.below(lines);
        Scan { first, lines, random, place, step: 0, work: 0 }
    }

    #[inline]
    pub(super) fn act(&mut self) -> Act {
        self.step = (self.step + 1) % 3;
        match self.step {
            1 => {
                self.place = (self.place + 1) % self.lines;
                self.work += 1;
                Act::Load(VirtualLine(self.first + self.place))
            }
            2 if self.place.is_multiple_of(LINES_A_RESULT) => {
                Act::Store(VirtualLine(self.first + self.random.below(self.lines)))
            }
            _ => {
                self.step = 0;
                Act::Compute(COMPUTE)
            }
        }
    }
}
