//! The state of a device cache: its directory, the fills under way, and their waiters.

use std::collections::VecDeque;

use cxlab_kernel::{Bytes, Slab, Time, statistics};
use rustc_hash::FxHashMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::directory::{Directory, Index, Start};
use super::line::MOST_PAGES;
use super::policy::CachePolicy;
use super::prefetch::{CachePrefetch, Prefetcher};
use super::write_log::{WriteLog, WriteLogSpec, WriteLogStats};
use crate::addr::{Dpa, LINE_BYTES};
use crate::cxl::{CxlError, not_zero};
use crate::fact::Sourced;
use crate::mem::Tag;

/// A cache of DRAM before flash.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeviceCacheSpec {
    /// bytes of DRAM that hold pages of the flash `[B]`
    pub capacity: Sourced<Bytes>,
    /// bytes of a page, which is fetched, replaced and written back as a whole `[B]`
    pub line: Sourced<Bytes>,
    /// pages of a set
    pub ways: Sourced<u32>,
    pub index: Sourced<Index>,
    pub policy: Sourced<CachePolicy>,
    pub prefetch: Sourced<CachePrefetch>,
    /// pages that are fetched or written back at once; requests of one page share an entry
    pub mshrs: Sourced<u32>,
    /// look-up of a request in the directory `[ns]`
    pub look_up: Sourced<Time>,
    /// contents of the cache when a run begins
    pub start: Sourced<Start>,
    /// a log of written lines beside the pages; without it, a write to a page that is not there fetches the page
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_log: Option<WriteLogSpec>,
}

impl DeviceCacheSpec {
    /// Whether a device of this capacity can have the cache.
    ///
    /// # Errors
    /// The first rule that is broken, with the valid values.
    pub fn check(&self, device: Bytes) -> Result<(), CxlError> {
        not_zero(&[("cache.ways", *self.ways), ("cache.mshrs", *self.mshrs)])?;
        let wrong = |key, value: String, valid| Err(CxlError::DeviceCache { key, value, valid });
        let line = self.line.get();
        if !line.is_power_of_two() || !(LINE_BYTES..=65_536).contains(&line) {
            return wrong("cache.line", self.line.to_string(), "a power of two, 64 B to 64 KiB");
        }
        let set = line * u64::from(*self.ways);
        if self.capacity.get() < set || !self.capacity.get().is_multiple_of(set) {
            return wrong("cache.capacity", self.capacity.to_string(), "a multiple of ways x line, one at least");
        }
        if *self.capacity >= device {
            return wrong("cache.capacity", self.capacity.to_string(), "less than device.capacity");
        }
        if device.get() / line > MOST_PAGES {
            return wrong("cache.line", self.line.to_string(), "such that the device has fewer than 2^30 pages");
        }
        self.write_log.as_ref().map_or(Ok(()), WriteLogSpec::check)
    }
}

statistics! {
    /// Statistics of a device cache.
    pub struct DeviceCacheStats {
        hits: Counter [Requests] "requests whose page was there",
        misses: Counter [Requests] "requests that made their page come",
        merged: Counter [Requests] "requests that found their page on its way",
        mshrs_full: Counter [Events] "misses that waited for an entry",
        fills: Counter [Pages] "pages fetched from the flash, prefetches included",
        write_backs: Counter [Pages] "pages written back to the flash",
        evictions: Counter [Pages] "pages that have left",
        prefetches: Counter [Pages] "pages fetched ahead",
        prefetches_used: Counter [Pages] "pages fetched ahead that were used",
        fill_latency: Latency [Nanoseconds] "a fetch, from its entry to its page",
        miss_latency: Latency [Nanoseconds] "a request without its page, from its look-up to its data",
    }
}

/// A page under way.
#[derive(Clone, Debug)]
pub struct Fill {
    pub page: u32,
    pub since: Time,
    pub ahead: bool,
    /// requests with the times at which their waits began
    pub waiters: Vec<(Tag, Time)>,
    /// the page that leaves and has to be written back
    pub victim: Option<u32>,
    /// number of the victim's lines that are still to be read
    pub left: u32,
}

/// State of a device cache.
#[derive(Clone, Debug)]
pub struct DeviceCache {
    pub line: u64,
    pub look_up: Time,
    pub directory: Directory,
    pub fills: Slab<Fill>,
    /// the fill that brings each page, by page
    pub coming: FxHashMap<u32, u32>,
    pub mshrs: usize,
    /// misses that wait for an entry, with the times at which their waits began
    pub waiting: VecDeque<(Tag, Time)>,
    pub prefetcher: Prefetcher,
    /// pages to fetch ahead; the allocation is reused for each miss
    pub ahead: Vec<u32>,
    /// number of pages of the device
    pub pages: u64,
    pub log: Option<Box<WriteLog>>,
    pub stats: DeviceCacheStats,
}

impl DeviceCache {
    pub fn new(spec: &DeviceCacheSpec, device: Bytes) -> DeviceCache {
        let line = spec.line.get();
        let ways = *spec.ways as usize;
        let directory = Directory::new(spec.capacity.get() / line, ways, *spec.policy, *spec.index, *spec.start);
        DeviceCache {
            line,
            look_up: *spec.look_up,
            directory,
            fills: Slab::new(),
            coming: FxHashMap::default(),
            mshrs: *spec.mshrs as usize,
            waiting: VecDeque::new(),
            prefetcher: Prefetcher::new(*spec.prefetch),
            ahead: Vec::new(),
            pages: device.get() / line,
            log: spec.write_log.as_ref().map(|log| Box::new(WriteLog::new(log, *spec.capacity, *spec.look_up))),
            stats: DeviceCacheStats::default(),
        }
    }

    /// Starts all counts again at zero.
    pub fn clear_stats(&mut self) {
        self.stats = DeviceCacheStats::default();
        if let Some(log) = &mut self.log {
            log.stats = WriteLogStats::default();
        }
    }

    /// Page of an address of the device.
    pub fn page(&self, dpa: Dpa) -> u32 {
        (dpa.get() / self.line) as u32
    }

    /// Whether the write log is compacting this page.
    pub fn is_merging(&self, page: u32) -> bool {
        self.log.as_ref().is_some_and(|log| log.merging.contains_key(&page))
    }

    /// Number of lines of 64 B in a page.
    pub fn lines(&self) -> u32 {
        (self.line / LINE_BYTES) as u32
    }
}
