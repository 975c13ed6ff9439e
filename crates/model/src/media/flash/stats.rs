//! Statistics of a drive.

use cxlab_kernel::statistic::{Entry, Group, Unit, Value};
use cxlab_kernel::statistics;

statistics! {
    /// Statistics of a drive.
    pub struct FlashStats {
        reads: Counter [Pages] "pages read for the host",
        buffer_hits: Counter [Pages] "units read that were still in the write buffer",
        host_units: Counter [Pages] "units that the host has written",
        copied_units: Counter [Pages] "units that garbage collection has copied",
        copy_reads: Counter [Pages] "pages read for garbage collection",
        programs: Counter [Commands] "stripes programmed, a page of each plane",
        erases: Counter [Commands] "blocks erased, one of each plane",
        preempted: Counter [Events] "reads that went before garbage collection",
        suspended: Counter [Events] "programs and erases that made way for a read",
        read_latency: Latency [Nanoseconds] "a read, from its arrival to the end of its transfer",
        write_latency: Latency [Nanoseconds] "a write, from its arrival to its place in the write buffer",
    }
}

impl FlashStats {
    /// Units written to the cells for each one that the host has written.
    #[must_use]
    pub fn write_amplification(&self) -> Option<f64> {
        let (host, copied) = (self.host_units.get() as f64, self.copied_units.get() as f64);
        (host > 0.0).then(|| (host + copied) / host)
    }

    /// All statistics, with the figures that follow from several of them.
    #[must_use]
    pub fn report(&self, (least, most): (u32, u32), bus_busy: f64) -> Vec<Entry> {
        let mut entries = self.entries();
        let mut add = |name, unit, description, value| entries.push(Entry { name, unit, description, value });
        let amplification = Value::Real(self.write_amplification().unwrap_or(1.0));
        add(
            "write_amplification",
            Unit::Ratio,
            "units written to the cells for each that the host wrote",
            amplification,
        );
        add("least_wear", Unit::Events, "erases of the block with the fewest", Value::Count(u64::from(least)));
        add("most_wear", Unit::Events, "erases of the block with the most", Value::Count(u64::from(most)));
        add("bus_utilisation", Unit::Ratio, "share of the time with data on the buses", Value::Real(bus_busy));
        entries
    }
}
