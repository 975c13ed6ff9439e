//! An application with phases: it streams, then reads little and computes, in turn.
//!
//! An ocean or weather code alternates sweeps of its grid with work on columns in this way. Assumption: a phase of
//! each is 2048 lines and 1024 lines with 20 ns each. Threads are not in step.

use cxlab_kernel::Time;

use super::streaming::Streaming;
use super::{Act, Region};
use crate::addr::VirtualLine;

const SWEEP: u64 = 2048;
const COLUMNS: u64 = 1024;
const COMPUTE: Time = Time::from_ns(20);

#[derive(Clone, Debug)]
pub struct Phased {
    streaming: Streaming,
    first: u64,
    lines: u64,
    /// lines of the computing phase that are done; none: the thread streams
    column: Option<u64>,
    swept: u64,
    computes: bool,
    columns: u64,
}

impl Phased {
    pub fn new(region: Region) -> Phased {
        let (first, lines) = region.own();
        let swept = SWEEP * region.thread / region.threads;
        Phased { streaming: Streaming::new(region), first, lines, column: None, swept, computes: false, columns: 0 }
    }

    #[inline]
    pub(super) fn act(&mut self) -> Act {
        match self.column {
            None => {
                self.swept += 1;
                if self.swept == SWEEP {
                    (self.swept, self.column) = (0, Some(0));
                }
                self.streaming.act()
            }
            Some(_) if std::mem::replace(&mut self.computes, false) => Act::Compute(COMPUTE),
            Some(column) => {
                self.computes = true;
                self.columns += 1;
                self.column = (column + 1 < COLUMNS).then_some(column + 1);
                Act::Load(VirtualLine(self.first + self.columns % self.lines))
            }
        }
    }

    pub(super) fn work(&self) -> u64 {
        self.streaming.work + self.columns
    }

    pub(super) fn clear_stats(&mut self) {
        (self.streaming.work, self.columns) = (0, 0);
    }
}
