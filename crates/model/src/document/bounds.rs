//! The table of bounds: the least and the most of every quantity in a file, each with its reason.
//!
//! A row's key is the end of a quantity's path: `l1.latency` is `host.l1.latency` of a machine. The bounds keep out
//! what cannot be, such as a latency of 0 cycles. They keep out what would never end, such as a latency of a second.
//! They also keep out what does not fit into memory, such as a queue of 4 billion entries. What holds between two
//! values is checked beside their types.

use std::collections::HashMap;
use std::fmt;
use std::sync::LazyLock;

use cxlab_kernel::{Bandwidth, Bytes, Frequency, Time};

use super::tree::{Tree, Value};
use crate::fact::Cycles;

/// The least and the most of one quantity.
#[derive(Clone, Copy, Debug)]
pub struct Bound {
    /// end of the quantity's path
    pub key: &'static str,
    pub least: Limit,
    pub most: Limit,
    pub reason: &'static str,
}

/// A quantity, by its dimension.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub enum Limit {
    Count(u64),
    Share(f64),
    Cycles(u64),
    Time(Time),
    Frequency(Frequency),
    Bandwidth(Bandwidth),
    Bytes(Bytes),
    /// transfers a second `[MT/s]`
    Rate(u64),
    /// clock cycles of a DRAM, and a time: the larger counts
    Minimum {
        cycles: u64,
        time: Time,
    },
    /// characters of a text
    Length(usize),
}

const ENTRIES: &str = "a queue of none serves nothing; 4096 entries are 10 times the deepest that is built";
const LATENCY: &str = "a result takes a cycle; 10,000 cycles are more than any instruction takes";
const UNITS: &str = "a core without it cannot run the instruction; 16 are twice the most that is built";
const BUSY: &str = "an operation takes a cycle; 100 are twice the slowest divider";
const OPERATIONS: &str = "an instruction is one at least; 100 are more than any that is not repeated";
const WIRE: &str = "0 where the latency is counted elsewhere; 100 us are beyond any memory";
const JEDEC: &str = "JESD79-4 and -5 have no minimum beyond 1024 clocks or 1 us";
const SHARE: &str = "a share of a whole";
const MESSAGES: &str = "a link without credits carries nothing; 4096 are 10 times bandwidth x latency of an x16 link";
const WAYS: &str = "a set holds a line at least; 64 ways are more than any cache has";
const NAMED: &str = "a name people can read";
const TOLD: &str = "one sentence for people";

/// End of the path, least, most, reason; the limits are written as in a file, which gives their dimension.
#[rustfmt::skip]
static ROWS: &[(&str, &str, &str, &str)] = &[
    // names
    ("name", "1 character", "64 characters", NAMED),
    ("description", "1 character", "400 characters", TOLD),
    ("fitted.key", "1 character", "200 characters", "the path of a value"),
    ("fitted.point", "1 character", "400 characters", "a measurement"),
    // the host
    ("identity.family", "1", "270", "CPUID leaf 1 has 4 bits of family, and 8 of extended family that are added"),
    ("identity.model", "0", "255", "CPUID leaf 1 has 4 bits of model and 4 of extended model"),
    ("identity.stepping", "0", "15", "CPUID leaf 1 has 4 bits of stepping"),
    ("identity.brand", "1 character", "47 characters", "CPUID leaves 80000002h to 80000004h hold 47 characters and a zero"),
    ("host.cores", "1", "1024", "a host has a core; 1024 are more than any socket has"),
    ("core.frequency", "100 MHz", "20 GHz", "no server core is slower or faster; a period is whole picoseconds within 2 %"),
    ("core.tsc", "100 MHz", "20 GHz", "as the core's clock"),
    ("core.dispatch_width", "1", "32", "a core without it does nothing; 32 are four times the widest"),
    ("core.commit_width", "1", "32", "a core without it does nothing; 32 are four times the widest"),
    ("core.reorder_buffer", "1", "4096", ENTRIES),
    ("core.load_queue", "1", "4096", ENTRIES),
    ("core.store_queue", "1", "4096", ENTRIES),
    ("core.fill_buffers", "1", "4096", ENTRIES),
    ("core.write_combining_buffers", "1", "4096", ENTRIES),
    ("core.branch_refill", "0 cycles", "1000 cycles", "0 is a perfect front end; 1000 are 50 times the longest pipeline"),
    ("core.device_access", "1 ns", "1 ms", "a device is not in the core; 1 ms is beyond a PCIe time-out"),
    ("latency.integer", "1 cycles", "10000 cycles", LATENCY),
    ("latency.multiply", "1 cycles", "10000 cycles", LATENCY),
    ("latency.divide", "1 cycles", "10000 cycles", LATENCY),
    ("latency.vector", "1 cycles", "10000 cycles", LATENCY),
    ("latency.float_add", "1 cycles", "10000 cycles", LATENCY),
    ("latency.float_multiply", "1 cycles", "10000 cycles", LATENCY),
    ("latency.float_divide", "1 cycles", "10000 cycles", LATENCY),
    ("latency.locked", "1 cycles", "10000 cycles", LATENCY),
    ("latency.load_fence", "1 cycles", "10000 cycles", LATENCY),
    ("latency.fence", "1 cycles", "10000 cycles", LATENCY),
    ("latency.serialising", "1 cycles", "10000 cycles", LATENCY),
    ("load.count", "1", "16", UNITS), ("load.busy", "1 cycles", "100 cycles", BUSY),
    ("store.count", "1", "16", UNITS), ("store.busy", "1 cycles", "100 cycles", BUSY),
    ("integer.count", "1", "16", UNITS), ("integer.busy", "1 cycles", "100 cycles", BUSY),
    ("multiply.count", "1", "16", UNITS), ("multiply.busy", "1 cycles", "100 cycles", BUSY),
    ("divide.count", "1", "16", UNITS), ("divide.busy", "1 cycles", "100 cycles", BUSY),
    ("vector.count", "1", "16", UNITS), ("vector.busy", "1 cycles", "100 cycles", BUSY),
    ("float_add.count", "1", "16", UNITS), ("float_add.busy", "1 cycles", "100 cycles", BUSY),
    ("float_multiply.count", "1", "16", UNITS), ("float_multiply.busy", "1 cycles", "100 cycles", BUSY),
    ("float_divide.count", "1", "16", UNITS), ("float_divide.busy", "1 cycles", "100 cycles", BUSY),
    ("micro_operations.read_modify_write", "1", "100", OPERATIONS),
    ("micro_operations.call", "1", "100", OPERATIONS),
    ("micro_operations.divide", "1", "100", OPERATIONS),
    ("micro_operations.locked", "1", "100", OPERATIONS),
    ("micro_operations.microcode", "1", "100", OPERATIONS),
    ("micro_operations.string_begin", "1", "100", OPERATIONS),
    // translation
    ("load.entries", "1", "65536", "a TLB holds a page at least; 65,536 are 20 times the largest"),
    ("load.ways", "1", "4096", "a set holds a page at least; a fully associative array is one set"),
    ("load.large_ways", "0", "4096", "0 where another array holds large pages"),
    ("load_large.entries", "1", "65536", "a TLB holds a page at least; 65,536 are 20 times the largest"),
    ("load_large.ways", "1", "4096", "a set holds a page at least; a fully associative array is one set"),
    ("load_large.large_ways", "0", "4096", "0 where another array holds large pages"),
    ("store.entries", "1", "65536", "a TLB holds a page at least; 65,536 are 20 times the largest"),
    ("store.ways", "1", "4096", "a set holds a page at least; a fully associative array is one set"),
    ("store.large_ways", "0", "4096", "0 where another array holds large pages"),
    ("second.entries", "1", "65536", "a TLB holds a page at least; 65,536 are 20 times the largest"),
    ("second.ways", "1", "4096", "a set holds a page at least; a fully associative array is one set"),
    ("second.large_ways", "0", "4096", "0 where another array holds large pages"),
    ("tlb.second_latency", "0 cycles", "1000 cycles", "0 is a second level as fast as the first; 1000 are more than a walk takes"),
    ("tlb.directory_entries", "0", "1024", "0 is no such cache; 1024 entries map 2 GiB"),
    ("tlb.pointer_entries", "0", "1024", "0 is no such cache; 1024 entries map 1 TiB"),
    ("tlb.top_entries", "0", "1024", "0 is no such cache; 1024 entries map all that x86-64 has"),
    ("tlb.walkers", "1", "1024", "a miss needs a walker; 1024 are 100 times the most"),
    // caches
    ("l1.capacity", "1 KiB", "16 MiB", "less than 16 lines is no cache; no L1 is larger"),
    ("l1.ways", "1", "64", WAYS),
    ("l1.latency", "1 cycles", "100 cycles", "data take a cycle at least; 100 are 20 times the slowest L1"),
    ("l2.capacity", "1 KiB", "256 MiB", "less than 16 lines is no cache; no L2 is larger"),
    ("l2.ways", "1", "64", WAYS),
    ("l2.latency", "1 cycles", "1000 cycles", "data take a cycle at least; 1000 are 60 times the slowest L2"),
    ("llc.slices", "1", "1024", "lines need a slice; 1024 are more than any socket has"),
    ("llc.slice_capacity", "1 KiB", "256 MiB", "less than 16 lines is no cache; no slice is larger"),
    ("llc.ways", "1", "64", WAYS),
    ("llc.latency", "1 ns", "10 us", "data cross a part of the chip; 10 us are beyond any memory"),
    ("prefetch.strides", "1", "4096", ENTRIES),
    ("prefetch.streams", "1", "4096", ENTRIES),
    ("prefetch.stream_distance", "1", "4096", "0 fetches nothing ahead; 4096 lines are beyond what a cache keeps"),
    ("prefetch.superqueue", "1", "4096", ENTRIES),
    // chip
    ("mesh.to_home", "0 ns", "10 us", "0 where the core is beside its slice; no more than llc.latency"),
    ("mesh.columns", "1", "64", "a mesh has a stop; 64 x 64 are more than any chip has"),
    ("mesh.rows", "1", "64", "a mesh has a stop; 64 x 64 are more than any chip has"),
    ("mesh.hop_across", "0 ns", "1 us", WIRE),
    ("mesh.hop_along", "0 ns", "1 us", WIRE),
    ("mesh.home_to_memory", "0 ns", "10 us", WIRE),
    ("home.requests", "1", "4096", ENTRIES),
    ("home.requests_of_core", "1", "4096", "a core needs one to read anything; no more than home.requests"),
    ("home.write_buffers", "1", "4096", ENTRIES),
    ("sub_numa_clusters", "1", "16", "a socket is one cluster at least; 16 are four times the most (SNC-4)"),
    ("sub_numa_cluster", "0", "15", "clusters are counted from 0"),
    // between sockets
    ("socket_link.links", "1", "16", "sockets need a link; 16 are four times the most"),
    ("socket_link.bandwidth", "100 MB/s", "10000 GB/s", "a line in 640 ns; 100 times UPI 2.0"),
    ("socket_link.request", "1 B", "4096 B", "a message has a byte; a page is beyond any message"),
    ("socket_link.data", "64 B", "4096 B", "it carries a line; a page is beyond any message"),
    ("socket_link.flight", "0 ns", "100 us", WIRE),
    ("socket_link.mesh", "0 ns", "100 us", WIRE),
    ("socket_link.coherence_check", "0 ns", "100 us", WIRE),
    ("remote_snoop_filter.entries", "1", "4096", ENTRIES),
    ("remote_snoop_filter.look_up", "0 ns", "100 us", WIRE),
    // several devices as one node
    ("interleave.devices", "1", "8", "CXL 2.0, 8.2.5.12: 1, 2, 4 or 8 ways"),
    ("interleave.granularity", "256 B", "16 KiB", "CXL 2.0, 8.2.5.12: granularities"),
    // a type-3 device and its root port
    ("root_port.bridge_latency", "0 ns", "100 us", WIRE),
    ("root_port.protocol_latency", "0 ns", "100 us", WIRE),
    ("root_port.request_fifo", "1", "4096", ENTRIES),
    ("root_port.response_fifo", "1", "4096", ENTRIES),
    ("drs_credits", "1", "4096", MESSAGES),
    ("ndr_credits", "1", "4096", MESSAGES),
    ("port_to_port", "0 ns", "100 us", WIRE),
    ("shared.from", "0 B", "64 TiB", "0 is the device's first byte; below device.capacity"),
    ("link.flight", "0 ns", "100 us", WIRE),
    ("link.bit_error_rate", "0.0", "0.0001", "at 1e-4 one flit in 19 fails: no link trains there (PCIe 5.0, chapter 8 asks for 1e-12)"),
    ("link.retry_latency", "0 ns", "1 ms", "0 is a replay at once; 1 ms is beyond a link time-out"),
    ("packing.drs_per_header", "1", "3", "CXL 2.0, 4.2.3: slot formats"),
    ("packing.ndr_with_drs", "0", "2", "CXL 2.0, 4.2.3: slot formats"),
    ("packing.ndr_per_header", "1", "3", "CXL 2.0, 4.2.3: slot formats"),
    ("device.capacity", "64 MiB", "64 TiB", "less is no HDM decoder's step times 1/4; no card has more"),
    ("device.protocol_latency", "0 ns", "100 us", WIRE),
    ("req_credits", "1", "4096", MESSAGES),
    ("rwd_credits", "1", "4096", MESSAGES),
    ("device.read_queue", "1", "4096", ENTRIES),
    ("device.write_queue", "1", "4096", ENTRIES),
    ("dev_load.optimal", "0.0", "1.0", SHARE),
    ("dev_load.moderate", "0.0", "1.0", SHARE),
    ("dev_load.severe", "0.0", "1.0", SHARE),
    ("throttle.interval", "1 ns", "1 ms", "one decision takes a message; 1 ms is longer than a burst"),
    ("throttle.floor", "1", "4096", "0 stops the device for ever; no more than root_port.response_fifo"),
    ("rated.bandwidth", "100 MB/s", "10000 GB/s", "a line in 640 ns; 80 times an x16 link"),
    ("rated.reads", "0", "1000", "parts of a mix"),
    ("rated.writes", "0", "1000", "parts of a mix"),
    // memory
    ("coarse.latency", "1 ns", "100 us", "cells take a nanosecond; 100 us are slower than flash"),
    ("coarse.banks", "1", "4096", ENTRIES),
    ("coarse.bank_busy", "0 ns", "100 us", "0 is a bank that never binds; 100 us are slower than flash"),
    ("coarse.bandwidth", "100 MB/s", "10000 GB/s", "a line in 640 ns; 200 times a DDR5 channel"),
    ("coarse.channels", "1", "64", "memory has a channel; 64 are five times the most of a socket"),
    ("coarse.interleave", "64 B", "1 GiB", "a line at least; a larger granule is no interleave"),
    ("detailed.channels", "1", "64", "memory has a channel; 64 are five times the most of a socket"),
    ("detailed.ranks", "1", "4", "DIMMs have 1, 2 or 4"),
    ("detailed.interleave", "64 B", "1 GiB", "a line at least; a larger granule is no interleave"),
    ("detailed.dram", "1 character", "4096 characters", "a part's name, or a path"),
    ("controller.read_queue", "1", "4096", ENTRIES),
    ("controller.write_queue", "1", "4096", ENTRIES),
    ("controller.write_high_mark", "1", "4096", "a drain of none never ends; no more than write_queue"),
    ("controller.write_low_mark", "0", "4095", "0 drains all; less than write_high_mark"),
    ("controller.commands_per_turn", "1", "4096", "a turn of none serves nobody; more than any queue has entries"),
    ("controller.postponed_refreshes", "0", "8", "JESD79-4 lets a controller postpone 8, JESD79-5 4"),
    ("controller.age_limit", "1 ns", "1 s", "0 would order all by age; a second is longer than any run's queue"),
    ("controller.return_latency", "0 ns", "100 us", WIRE),
    // a device's cache, flash behind it, and a flash part
    ("cache.capacity", "64 KiB", "16 TiB", "16 pages at least; less than device.capacity"),
    ("cache.line", "64 B", "64 KiB", "a line of the host; the largest page of flash"),
    ("cache.ways", "1", "64", WAYS),
    ("cache.prefetch", "1 character", "64 characters", "a prefetcher's name"),
    ("cache.mshrs", "1", "4096", ENTRIES),
    ("cache.look_up", "0 ns", "100 us", WIRE),
    ("write_log.capacity", "128 B", "256 GiB", "two halves of a line each; 2^32 slots"),
    ("write_log.look_up", "0 ns", "100 us", WIRE),
    ("write_log.merge_buffer", "1", "4096", "compaction needs a place for a page; as the most dies of a drive"),
    ("drive.capacity", "1 GiB", "1024 TiB", "a swap disk of a GiB; ten times the largest drive"),
    ("drive.link", "10 MB/s", "1000 GB/s", "a drive of a phone; eight times x16 of PCIe 6.0"),
    ("flash.part", "1 character", "4096 characters", "a part's name, or a path"),
    ("flash.channels", "1", "64", "a drive has a channel; 64 are twice the most of a drive"),
    ("flash.dies", "1", "64", "a channel has a die; 64 are eight times what a bus drives"),
    ("flash.over_provisioning", "0.01", "10.0", "collection needs spare blocks; more than ten times the capacity is no drive"),
    ("flash.free_blocks", "2", "1024", "one erased block is for the host, one for collection"),
    ("flash.controller_latency", "0 ns", "1 ms", "0 where it is counted elsewhere; 1 ms is a disk"),
    ("flash_part.description", "1 character", "400 characters", TOLD),
    ("flash_part.planes", "1", "16", "a die has an array; 16 are four times the most that is sold"),
    ("flash_part.pages", "4", "16384", "a block has pages; 16,384 are four times the largest block"),
    ("flash_part.page", "512 B", "64 KiB", "a sector; four times the largest page"),
    ("flash_part.read", "100 ns", "10 ms", "no cells are faster; 10 ms are beyond any retry"),
    ("flash_part.program", "1 us", "100 ms", "no cells are faster; 100 ms are beyond any program"),
    ("flash_part.erase", "10 us", "1 s", "no cells are faster; a second is beyond any erase"),
    ("flash_part.suspend", "100 ns", "10 ms", "no cells are faster; 10 ms are beyond any erase's rest"),
    ("flash_part.bus", "10 MB/s", "100 GB/s", "ONFI 1.0 starts at 10 MB/s; 20 times ONFI 5.1"),
    // a DRAM part
    ("dram.rate", "400 MT/s", "20000 MT/s", "DDR4 starts at 1600, DDR5 ends at 8800"),
    ("organisation.sub_channels", "1", "2", "DDR4 has one, DDR5 two"),
    ("organisation.width_bits", "8", "64", "a bus of one device; a DDR4 channel"),
    ("organisation.device_bits", "4", "16", "JESD79-4 and -5: x4, x8, x16"),
    ("organisation.bank_groups", "1", "8", "JESD79-5 has at most 8"),
    ("organisation.banks_per_group", "1", "4", "JESD79-4 and -5 have at most 4"),
    ("organisation.rows", "1", "1048576", "JESD79-5: R0 to R17; four times that"),
    ("organisation.columns", "1", "8192", "JESD79-5: C0 to C10; four times that"),
    ("organisation.burst_length", "8", "64", "a line takes BL8 on 64 bits, BL16 on 32 bits"),
    ("timing.CL", "1nCK", "max(1024nCK, 1us)", JEDEC), ("timing.CWL", "1nCK", "max(1024nCK, 1us)", JEDEC),
    ("timing.tRCD", "1nCK", "max(1024nCK, 1us)", JEDEC), ("timing.tRP", "1nCK", "max(1024nCK, 1us)", JEDEC),
    ("timing.tRAS", "1nCK", "max(1024nCK, 1us)", JEDEC), ("timing.tRC", "1nCK", "max(1024nCK, 1us)", JEDEC),
    ("timing.tRRD_S", "1nCK", "max(1024nCK, 1us)", JEDEC), ("timing.tRRD_L", "1nCK", "max(1024nCK, 1us)", JEDEC),
    ("timing.tFAW", "1nCK", "max(1024nCK, 1us)", JEDEC), ("timing.tCCD_S", "1nCK", "max(1024nCK, 1us)", JEDEC),
    ("timing.tCCD_L", "1nCK", "max(1024nCK, 1us)", JEDEC), ("timing.tCCD_S_WR", "1nCK", "max(1024nCK, 1us)", JEDEC),
    ("timing.tCCD_L_WR", "1nCK", "max(1024nCK, 1us)", JEDEC), ("timing.tWTR_S", "1nCK", "max(1024nCK, 1us)", JEDEC),
    ("timing.tWTR_L", "1nCK", "max(1024nCK, 1us)", JEDEC), ("timing.tRTP", "1nCK", "max(1024nCK, 1us)", JEDEC),
    ("timing.tWR", "1nCK", "max(1024nCK, 1us)", JEDEC), ("timing.tRTW", "0nCK", "max(1024nCK, 1us)", JEDEC),
    ("timing.tCS", "0nCK", "max(1024nCK, 1us)", JEDEC), ("timing.tPPD", "0nCK", "max(1024nCK, 1us)", JEDEC),
    ("timing.tRFC", "1nCK", "max(16384nCK, 10us)", "JESD79-5 ends at 410 ns; 10 us are longer than a tREFI"),
    ("timing.tREFI", "100 ns", "1 ms", "JESD79-4 and -5 have 1.95 to 7.8 us"),
    ("same_bank_refresh.tREFI2", "100 ns", "1 ms", "JESD79-5 has 1.95 us"),
    ("same_bank_refresh.tRFCsb", "1nCK", "max(16384nCK, 10us)", "JESD79-5 ends at 190 ns; 10 us are longer than a tREFI"),
    ("same_bank_refresh.tREFSBRD", "1nCK", "max(1024nCK, 1us)", JEDEC),
];

static TABLE: LazyLock<HashMap<&'static str, Bound>> = LazyLock::new(|| {
    let bound = |&(key, least, most, reason): &(&'static str, &str, &str, &'static str)| {
        let limit = |text| Limit::parse(text).expect("a test reads each row");
        (key, Bound { key, least: limit(least), most: limit(most), reason })
    };
    ROWS.iter().map(bound).collect()
});

/// Every row of the table.
pub fn all() -> impl Iterator<Item = &'static Bound> {
    ROWS.iter().map(|(key, ..)| &TABLE[key])
}

/// The row of the quantity at `path`, such as `host.core.fill_buffers`.
#[must_use]
pub fn of(path: &str) -> Option<&'static Bound> {
    let mut end = path;
    loop {
        if let Some(bound) = TABLE.get(end) {
            return Some(bound);
        }
        end = end.split_once('.')?.1;
    }
}

impl Limit {
    /// Reads a limit as a file writes the quantity.
    fn parse(text: &str) -> Option<Limit> {
        if let Some(number) = text.strip_suffix(" characters").or_else(|| text.strip_suffix(" character")) {
            return number.parse().ok().map(Limit::Length);
        }
        let whole = text.parse().ok().map(Limit::Count);
        let share = || text.parse().ok().map(Limit::Share);
        let minimum = || text.contains("nCK").then(|| minimum(text)).flatten();
        whole
            .or_else(share)
            .or_else(minimum)
            .or_else(|| text.parse().ok().map(|cycles: Cycles| Limit::Cycles(cycles.0)))
            .or_else(|| text.parse().ok().map(Limit::Time))
            .or_else(|| text.parse().ok().map(Limit::Frequency))
            .or_else(|| text.parse().ok().map(Limit::Bandwidth))
            .or_else(|| text.parse().ok().map(Limit::Bytes))
            .or_else(|| rate(text))
    }

    /// Reads a value of a file in the dimension of this limit.
    fn same_dimension(self, tree: &Tree) -> Option<Limit> {
        let text = || tree.text();
        Some(match self {
            Limit::Count(_) => match tree.value {
                Value::Integer(integer) => Limit::Count(u64::try_from(integer).ok()?),
                _ => return None,
            },
            Limit::Share(_) => match tree.value {
                Value::Integer(integer) => Limit::Share(integer as f64),
                Value::Real(real) => Limit::Share(real),
                _ => return None,
            },
            Limit::Cycles(_) => Limit::Cycles(text()?.parse::<Cycles>().ok()?.0),
            Limit::Time(_) => Limit::Time(text()?.parse().ok()?),
            Limit::Frequency(_) => Limit::Frequency(text()?.parse().ok()?),
            Limit::Bandwidth(_) => Limit::Bandwidth(text()?.parse().ok()?),
            Limit::Bytes(_) => Limit::Bytes(text()?.parse().ok()?),
            Limit::Rate(_) => rate(text()?)?,
            Limit::Minimum { .. } => minimum(text()?)?,
            Limit::Length(_) => Limit::Length(text()?.trim().chars().count()),
        })
    }
}

/// Transfers a second, as in `4800 MT/s`.
fn rate(text: &str) -> Option<Limit> {
    text.trim().strip_suffix("MT/s")?.trim().parse().ok().map(Limit::Rate)
}

/// A minimum as JEDEC writes it: `8nCK`, `5ns`, `max(8nCK, 5ns)`.
fn minimum(text: &str) -> Option<Limit> {
    let text = text.trim();
    let terms = text.strip_prefix("max(").and_then(|rest| rest.strip_suffix(')')).unwrap_or(text);
    let (mut cycles, mut time) = (0, Time::ZERO);
    for term in terms.split(',').map(str::trim) {
        match term.strip_suffix("nCK") {
            Some(count) => cycles = count.trim().parse().ok()?,
            None => time = term.parse().ok()?,
        }
    }
    Some(Limit::Minimum { cycles, time })
}

impl Bound {
    /// Whether the value is within; one of another type is left to its own type's message.
    #[must_use]
    pub fn holds(&self, tree: &Tree) -> bool {
        let Some(value) = self.least.same_dimension(tree) else { return true };
        if let (
            Limit::Minimum { cycles, time },
            Limit::Minimum { cycles: least, .. },
            Limit::Minimum { cycles: most, time: longest },
        ) = (value, self.least, self.most)
        {
            let some = least == 0 || cycles > 0 || time > Time::ZERO;
            return some && cycles <= most && time <= longest;
        }
        self.least <= value && value <= self.most
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Limit::Count(count) => write!(f, "{count}"),
            Limit::Share(share) => write!(f, "{share}"),
            Limit::Cycles(cycles) => write!(f, "{cycles} cycles"),
            Limit::Time(time) => write!(f, "{time}"),
            Limit::Frequency(frequency) => write!(f, "{frequency}"),
            Limit::Bandwidth(bandwidth) => write!(f, "{bandwidth}"),
            Limit::Bytes(bytes) => write!(f, "{bytes}"),
            Limit::Rate(rate) => write!(f, "{rate} MT/s"),
            Limit::Minimum { cycles, time } if *time == Time::ZERO => write!(f, "{cycles}nCK"),
            Limit::Minimum { cycles, time } => write!(f, "max({cycles}nCK, {time})"),
            Limit::Length(characters) => write!(f, "{characters} characters"),
        }
    }
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} to {} ({})", self.least, self.most, self.reason)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_read_once_and_its_limits_are_of_one_dimension() {
        assert_eq!(TABLE.len(), ROWS.len(), "a key has one row");
        for bound in all() {
            assert_eq!(std::mem::discriminant(&bound.least), std::mem::discriminant(&bound.most), "{}", bound.key);
            assert!(!bound.reason.is_empty());
        }
    }
}
