//! The home agents' counts for each node's memory.

use cxlab_kernel::{Time, statistics};

use crate::mem::Stage;
use crate::request::{Op, Request};

statistics! {
    /// Work of a node's memory for the cores.
    pub struct NodeStats {
        loads: Counter [Lines] "lines read for loads",
        stores: Counter [Lines] "lines read for stores, to own them",
        walk_reads: Counter [Lines] "lines read for walks of page tables",
        prefetches: Counter [Lines] "lines read ahead by prefetchers",
        write_backs: Counter [Lines] "lines written: changed ones, and those of non-temporal stores",
        partial_writes: Counter [Lines] "lines read because a part of them is written",
        load_latency: Latency [Nanoseconds] "load to use of the lines read for loads",
    }
}

impl NodeStats {
    /// Lines read for any reason.
    #[must_use]
    pub fn lines_read(&self) -> u64 {
        self.loads.get() + self.stores.get() + self.walk_reads.get() + self.prefetches.get() + self.partial_writes.get()
    }
}

/// Time that loads spent in each stage.
pub type StageTimes = [Time; Stage::ALL.len()];

/// A node's counts.
#[derive(Clone, Default)]
pub struct NodeCounts {
    pub stats: NodeStats,
    pub stages: StageTimes,
}

impl NodeCounts {
    /// Counts a line that has been read for a core.
    pub fn served(&mut self, request: &Request, latency: Time) {
        match request.op {
            Op::Load => {
                self.stats.loads.increment();
                self.stats.load_latency.record(latency);
                for (sum, stage) in self.stages.iter_mut().zip(Stage::ALL) {
                    *sum += request.span(*stage);
                }
            }
            Op::Walk => self.stats.walk_reads.increment(),
            Op::Prefetch => self.stats.prefetches.increment(),
            _ => self.stats.stores.increment(),
        }
    }

    /// Counts a request that writes to the memory.
    pub fn written(&mut self, op: Op) {
        if op.is_write() {
            self.stats.write_backs.increment();
        }
        if op == Op::PartialWrite {
            self.stats.partial_writes.increment();
        }
    }
}
