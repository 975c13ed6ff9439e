//! Credits for writes: a home agent sends a line to its memory when the memory has a place for it.
//!
//! ```text
//!   line to write -> [credit of its memory | waits for one, in order] -> memory controller or root port -> written: the credit is free
//!   non-temporal store: its core is answered here ^, and has kept its fill buffer until then
//! ```
//!
//! Reads need no such credit, so they pass writes that wait. A write that waits holds its entry of the slice's table. Source:
//! Intel, Sapphire Rapids uncore performance monitoring, CHA, WRITE_NO_CREDITS: a home agent acquires a credit of the memory
//! controller before it sends it a write. A line that a core pushes out of its write-combining buffer leaves the core when
//! the home agent pulls it (CXL 3.0, 3.2.4.2, WOWrInvF and FastGO_WritePull, whose host is such a home agent). Not modelled:
//! each home agent has credits of its own; the other socket's are those of its remote snoop filter.

use cxlab_kernel::{Grant, Time};

use super::{Home, Queue, Socket};
use crate::mem::Stage;
use crate::request::{NodeId, RequestKey};

impl Home {
    /// A line is to be written: it leaves as soon as its memory has a credit for it.
    pub(super) fn send_write<Q: Queue>(&mut self, now: Time, key: RequestKey, queue: &mut Q) {
        let node = &mut self.nodes[usize::from(self.requests[key].node.0)];
        match node.socket {
            Socket::Other => self.leave(now, key, queue),
            Socket::Own => {
                if node.writes.take(key) == Grant::Now {
                    self.credited(now, key, queue);
                }
            }
        }
    }

    /// A line has its credit: the core that stored it goes on, and the line leaves.
    fn credited<Q: Queue>(&mut self, now: Time, key: RequestKey, queue: &mut Q) {
        self.requests[key].stamp(Stage::HomeQueue, now);
        if let Some(asker) = self.requests[key].answers.take() {
            self.requests[asker].stamp(Stage::HomeQueue, now);
            self.answer_core(now, asker, queue);
        }
        self.leave(now, key, queue);
    }

    /// A line is in its memory: the next one has its credit.
    pub(super) fn give_back_write<Q: Queue>(&mut self, now: Time, node: NodeId, queue: &mut Q) {
        let node = &mut self.nodes[usize::from(node.0)];
        if node.socket == Socket::Own
            && let Some(next) = node.writes.give_back()
        {
            self.credited(now, next, queue);
        }
    }
}
