//! Pointer-rich: a list of arcs in order, and the two nodes of each at random, one in four of them changed.
//!
//! This is the law of a network simplex' pricing, such as SPEC CPU2017 505.mcf. An arc is a line and holds the
//! addresses of its nodes. So nodes wait for their arc, but not for each other.

use cxlab_kernel::Stream;

use super::{Act, Region};
use crate::addr::VirtualLine;

#[derive(Clone, Debug)]
pub struct PointerRich {
    first: u64,
    lines: u64,
    random: Stream,
    arc: u64,
    step: u8,
    /// arcs
    pub(super) work: u64,
}

impl PointerRich {
    pub fn new(region: Region, random: Stream) -> PointerRich {
        let (first, lines) = region.own();
        PointerRich { first, lines, random, arc: lines / 2 * region.thread / region.threads, step: 0, work: 0 }
    }

    /// The first half of the lines are arcs, the second are nodes.
    #[inline]
    pub(super) fn act(&mut self) -> Act {
        let half = self.lines / 2;
        self.step = (self.step + 1) % 3;
        if self.step == 1 {
            self.arc = (self.arc + 1) % half;
            self.work += 1;
            return Act::Load(VirtualLine(self.first + self.arc));
        }
        let draw = self.random.next_u64();
        let node = VirtualLine(self.first + half + (draw >> 8) % half);
        match (self.step, draw % 4) {
            (2, _) => Act::Chase(node),
            (_, 0) => Act::Store(node),
            _ => Act::Load(node),
        }
    }
}
