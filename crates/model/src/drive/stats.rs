//! Statistics of a drive's commands.

use cxlab_kernel::statistics;
use cxlab_kernel::{Bytes, Time};

use crate::mem::AccessKind;

statistics! {
    /// Commands.
    pub struct DriveStats {
        reads: Counter [Commands] "commands that read",
        writes: Counter [Commands] "commands that write",
        read_bytes: Counter [Bytes] "moved to memory",
        written_bytes: Counter [Bytes] "moved from memory",
        read_latency: Latency [Nanoseconds] "a read, from the host's bell to its last line in memory",
        write_latency: Latency [Nanoseconds] "a write, from the host's bell to its last unit in the write buffer",
    }
}

impl DriveStats {
    pub(super) fn moved(&mut self, kind: AccessKind, bytes: Bytes) {
        match kind {
            AccessKind::Read => self.read_bytes.add(bytes.get()),
            AccessKind::Write => self.written_bytes.add(bytes.get()),
        }
    }

    pub(super) fn served(&mut self, kind: AccessKind, latency: Time) {
        let (count, latencies) = match kind {
            AccessKind::Read => (&mut self.reads, &mut self.read_latency),
            AccessKind::Write => (&mut self.writes, &mut self.write_latency),
        };
        count.increment();
        latencies.record(latency);
    }
}
