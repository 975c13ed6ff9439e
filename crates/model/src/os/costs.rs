//! Costs of kernel work, without the lines that it moves.
//!
//! Copying is no cost here: its loads and stores go through the core and the channels. Each cost names its source.
//! Most have the right order only, and are marked as assumptions.

use cxlab_kernel::Time;

/// Times of kernel work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CostSpec {
    /// exception, look-up of the mapping, and return
    pub fault: Time,
    /// of a migration: isolate, lock, rmap walk, migration entry, and mapping again
    pub unmap_and_map: Time,
    /// one page-table entry changed or looked at by a scan or by the LRU
    pub entry: Time,
    /// invalidation of the own TLB
    pub local_flush: Time,
    /// a shoot-down of other cores' TLBs until the first has answered
    pub shootdown: Time,
    /// and for each core that answers
    pub shootdown_each: Time,
    /// on a core that is interrupted for it
    pub flush_handler: Time,
    /// of a request to the SSD: block layer, submission, completion
    pub block_request: Time,
    /// between two looks at a page that is away
    pub poll: Time,
    /// between two looks of kswapd where nothing is to do
    pub kswapd_poll: Time,
}

/// Costs of a server core at 2 to 3 GHz.
pub const COSTS: CostSpec = CostSpec {
    // Assumption: about 1000 cycles of exception and return (Torvalds, 2014, on Haswell) and as many again of handling.
    fault: Time::from_ns(700),
    // Assumption: of the order of Nimble (Yan et al., ASPLOS 2019, figure 3): software is half and more of a 4 KiB migration.
    unmap_and_map: Time::from_ns(2000),
    // Assumption: a cache miss and some tens of instructions.
    entry: Time::from_ns(50),
    // Assumption: invlpg or invpcid, about 200 cycles.
    local_flush: Time::from_ns(100),
    // Assumption: of the order of Amit, "Optimizing the TLB shootdown algorithm" (ATC 2017): one to a few microseconds.
    shootdown: Time::from_ns(1500),
    shootdown_each: Time::from_ns(200),
    // Assumption: an interrupt's entry and exit and the invalidation.
    flush_handler: Time::from_ns(800),
    // Assumption: of the order of an NVMe request's time in Linux's block layer.
    block_request: Time::from_ns(3000),
    poll: Time::from_ns(500),
    kswapd_poll: Time::from_ns(5000),
};
