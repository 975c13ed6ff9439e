//! Counts of a core's work, and of the time that it spent.

use cxlab_kernel::{Time, statistics};

statistics! {
    /// Statistics of a core.
    pub struct CoreStats {
        user_instructions: Counter [Instructions] "committed in user mode",
        kernel_instructions: Counter [Instructions] "committed in the kernel",
        micro_operations: Counter [Events] "committed, as dispatch and commit count them",
        branches: Counter [Instructions] "branches whose way is known",
        mispredictions: Counter [Instructions] "branches that the front end had not guessed",
        loads: Counter [Lines] "lines that loads touched",
        stores: Counter [Lines] "lines that stores touched",
        l1_hits: Counter [Lines] "found in L1",
        l2_hits: Counter [Lines] "found in L2",
        misses: Counter [Lines] "found in neither: a request to the home agent",
        prefetches: Counter [Lines] "read ahead, from beyond L2",
        l1_prefetches: Counter [Lines] "read ahead to L1, from L2 or beyond",
        prefetches_refused: Counter [Lines] "not read ahead: requests queue on the way to their memory",
        snoops: Counter [Events] "asked by the home agent for a line, for another core",
        forwarded: Counter [Lines] "loads that took their data from the store queue",
        merged_misses: Counter [Lines] "found in neither, and on their way already",
        combined_lines: Counter [Lines] "whole lines that left a write-combining buffer",
        partial_lines: Counter [Lines] "lines that left a write-combining buffer in part",
        flushes: Counter [Lines] "lines that clflush, clflushopt and clwb named",
        device_accesses: Counter [Lines] "to a device's registers",
        window_full: Counter [Events] "dispatch waited for the reorder buffer",
        lsq_full: Counter [Events] "dispatch waited for the load or the store queue",
        counter_reads: Counter [Events] "a program asked for the machine's counters",
        miss_latency: Latency [Nanoseconds] "load to use of loads that missed L2",
    }
}

/// Time that is not spent on instructions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TimeSpent {
    /// nothing to do until a timer, or until another core has something
    pub idle: Time,
    /// nothing to do until a request to a device is answered
    pub io: Time,
}
