//! The write log of a device cache. It appends written lines to DRAM beside the pages, until they are compacted into
//! the flash.
//!
//! ```text
//!                 half that is filled          half that is compacted, page by page
//!   append --> [ line | line | ... tail ]      [ line | line | line | ... full ] --> page + its lines --> flash
//!                 index: page -> (line of the page, slot), the newest of each; a look-up asks both, the filled one first
//! ```
//!
//! A line that is written again is appended again, and the index forgets its old slot. A full half is compacted while
//! the other half is filled. If both are full, writers wait (SkyByte: Zhang et al., HPCA 2025, III-B).
//!
//! Not modelled: the DRAM that the index itself takes.

use std::collections::VecDeque;

use cxlab_kernel::statistic::{Entry, Group, Unit, Value};
use cxlab_kernel::{Bytes, Slab, Time, statistics};
use rustc_hash::FxHashMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::addr::{Dpa, LINE_BYTES};
use crate::cxl::{CxlError, not_zero};
use crate::fact::Sourced;
use crate::mem::Tag;

/// A log of written lines in the cache's DRAM.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WriteLogSpec {
    /// bytes of DRAM beyond `cache.capacity` that hold lines: one half is filled while the other is compacted `[B]`
    pub capacity: Sourced<Bytes>,
    /// look-up in the index, beside that in the directory; a read whose page is there does not wait for it `[ns]`
    pub look_up: Sourced<Time>,
    /// pages that compaction reads, merges and programs at once
    pub merge_buffer: Sourced<u32>,
}

impl WriteLogSpec {
    /// Checks whether a log of this kind is possible.
    ///
    /// # Errors
    /// The first rule that is broken, with the valid values.
    pub fn check(&self) -> Result<(), CxlError> {
        not_zero(&[("cache.write_log.merge_buffer", *self.merge_buffer)])?;
        let lines = self.capacity.get() / LINE_BYTES;
        if !self.capacity.get().is_multiple_of(2 * LINE_BYTES) || !(2..=1 << 32).contains(&lines) {
            let valid = "two halves of whole lines: a multiple of 128 B, 128 B to 256 GiB";
            return Err(CxlError::DeviceCache {
                key: "cache.write_log.capacity",
                value: self.capacity.to_string(),
                valid,
            });
        }
        Ok(())
    }
}

statistics! {
    /// Statistics of a write log.
    pub struct WriteLogStats {
        appended: Counter [Lines] "lines appended, by writes whose page was there or not",
        hits: Counter [Requests] "reads without their page whose line was in the log",
        compactions: Counter [Events] "halves that were compacted",
        merged_pages: Counter [Pages] "pages that compaction has given to the flash",
        merged_lines: Counter [Lines] "lines in those pages that were newer than the flash",
        page_reads: Counter [Pages] "pages that compaction has read from the flash",
        compaction_time: Latency [Nanoseconds] "a compaction, from the full half to the empty one",
        writers_waited: Latency [Nanoseconds] "a write that found both halves full, until there was room",
    }
}

/// Counts of a log, with the figures that follow from several of them.
#[derive(Clone, Debug)]
pub struct WriteLogReport(pub WriteLogStats);

impl Group for WriteLogReport {
    fn visit(&self, visitor: &mut dyn FnMut(Entry)) {
        self.0.visit(visitor);
        let (lines, pages) = (self.0.merged_lines.get() as f64, self.0.merged_pages.get() as f64);
        visitor(Entry {
            name: "lines_per_merged_page",
            unit: Unit::Ratio,
            description: "lines that were newer than the flash in a page that compaction has given to it",
            value: Value::Real(if pages > 0.0 { lines / pages } else { 0.0 }),
        });
    }
}

/// The newest slot of a line.
#[derive(Clone, Copy, Debug)]
struct Logged {
    /// number of the line in its page
    line: u16,
    slot: u32,
}

/// One of two buffers.
#[derive(Clone, Debug, Default)]
struct Half {
    used: u32,
    /// first level: the page; second level: its lines
    index: FxHashMap<u32, Vec<Logged>>,
    /// pages, in the order of their first line
    pages: Vec<u32>,
}

/// Remaining work on the half that is compacted.
#[derive(Clone, Copy, Debug)]
struct Compaction {
    since: Time,
    /// number of pages whose compaction has begun
    begun: usize,
    /// number of pages that the flash does not have yet
    left: usize,
}

/// Progress of a page's compaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// the cache is fetching the page; compaction reads it there when it has come
    AwaitsFill,
    /// the page or its lines are being read
    Reading,
    /// the whole page is in the merge buffer, and on its way to the flash
    Merged,
}

/// A page that is being compacted.
#[derive(Clone, Debug)]
pub struct Merge {
    pub page: u32,
    pub phase: Phase,
    /// number of lines that are still to be read from the DRAM
    pub left: u32,
    /// requests whose line is neither in the cache nor in the log, with the times at which their waits began
    pub waiters: Vec<(Tag, Time)>,
}

/// State of a write log.
#[derive(Clone, Debug)]
pub struct WriteLog {
    /// start of the log in the DRAM `[B]`
    base: u64,
    /// number of slots of a half
    slots: u32,
    /// number of the half that is filled
    filled: usize,
    halves: [Half; 2],
    compaction: Option<Compaction>,
    /// empty second levels; their allocations are reused for new pages
    spare: Vec<Vec<Logged>>,
    /// time that the index takes beyond the directory's
    pub look_up_after: Time,
    pub merges: Slab<Merge>,
    /// the merge of each page, by page
    pub merging: FxHashMap<u32, u32>,
    most_merges: usize,
    /// writes that wait for room, with the times at which their waits began
    pub writers: VecDeque<(Tag, Time)>,
    pub stats: WriteLogStats,
}

impl WriteLog {
    /// A log behind `base` bytes of pages. A look-up of its directory takes `directory`.
    #[must_use]
    pub fn new(spec: &WriteLogSpec, base: Bytes, directory: Time) -> WriteLog {
        WriteLog {
            base: base.get(),
            slots: (spec.capacity.get() / LINE_BYTES / 2) as u32,
            filled: 0,
            halves: Default::default(),
            compaction: None,
            spare: Vec::new(),
            look_up_after: (*spec.look_up).max(directory) - directory,
            merges: Slab::new(),
            merging: FxHashMap::default(),
            most_merges: *spec.merge_buffer as usize,
            writers: VecDeque::new(),
            stats: WriteLogStats::default(),
        }
    }

    fn dpa(&self, half: usize, slot: u32) -> Dpa {
        Dpa::new(self.base + (half as u64 * u64::from(self.slots) + u64::from(slot)) * LINE_BYTES)
    }

    /// Whether a line can be appended.
    #[must_use]
    pub fn has_room(&self) -> bool {
        self.halves[self.filled].used < self.slots
    }

    /// Appends a line of a page. Returns its address in the DRAM. The log must have room.
    pub fn append(&mut self, now: Time, page: u32, line: u16) -> Dpa {
        let slot = self.note(page, line);
        let dpa = self.dpa(self.filled, slot);
        self.stats.appended.increment();
        self.turn(now);
        dpa
    }

    /// Writes a line in no time, and compacts a full half in no time.
    pub fn warm(&mut self, page: u32, line: u16) {
        self.empty_if_full();
        self.note(page, line);
        self.empty_if_full();
    }

    fn empty_if_full(&mut self) {
        let WriteLog { halves, filled, spare, slots, .. } = self;
        if halves[*filled].used == *slots {
            halves[*filled].clear(spare);
        }
    }

    fn note(&mut self, page: u32, line: u16) -> u32 {
        let WriteLog { halves, filled, spare, slots, .. } = self;
        let Half { used, index, pages } = &mut halves[*filled];
        assert!(*used < *slots, "a line is appended only if there is room");
        let slot = *used;
        *used += 1;
        let lines = index.entry(page).or_insert_with(|| {
            pages.push(page);
            spare.pop().unwrap_or_default()
        });
        match lines.iter_mut().find(|logged| logged.line == line) {
            Some(logged) => logged.slot = slot,
            None => lines.push(Logged { line, slot }),
        }
        slot
    }

    /// The newest copy of a line, if the log has one.
    #[must_use]
    pub fn find(&self, page: u32, line: u16) -> Option<Dpa> {
        [self.filled, 1 - self.filled].into_iter().find_map(|half| {
            let lines = self.halves[half].index.get(&page)?;
            let logged = lines.iter().find(|logged| logged.line == line)?;
            Some(self.dpa(half, logged.slot))
        })
    }

    /// The newest copy of each line of a page that the log has.
    pub fn lines_of(&self, page: u32) -> impl Iterator<Item = Dpa> {
        let newer = self.halves[self.filled].index.get(&page);
        let only_older = move |logged: &&Logged| newer.is_none_or(|lines| lines.iter().all(|l| l.line != logged.line));
        let older = self.halves[1 - self.filled].index.get(&page);
        let of = |half: usize| move |logged: &Logged| self.dpa(half, logged.slot);
        let newest = newer.into_iter().flatten().map(of(self.filled));
        newest.chain(older.into_iter().flatten().filter(only_older).map(of(1 - self.filled)))
    }

    /// Addresses of the lines of a page that compaction merges.
    pub fn old_lines_of(&self, page: u32) -> impl Iterator<Item = Dpa> {
        let half = 1 - self.filled;
        self.halves[half].index[&page].iter().map(move |logged| self.dpa(half, logged.slot))
    }

    /// Exchanges the halves if one is full and the other is empty.
    fn turn(&mut self, now: Time) {
        if self.has_room() || self.compaction.is_some() {
            return;
        }
        self.compaction = Some(Compaction { since: now, begun: 0, left: self.halves[self.filled].pages.len() });
        self.filled = 1 - self.filled;
    }

    /// The next page to compact, if the merge buffer has a place for one.
    pub fn next_page(&mut self) -> Option<u32> {
        let compaction = self.compaction.as_mut().filter(|_| self.merges.len() < self.most_merges)?;
        let page = self.halves[1 - self.filled].pages.get(compaction.begun).copied()?;
        compaction.begun += 1;
        Some(page)
    }

    /// Notes that the flash has taken a page of the half that is compacted. After the last page the half is empty.
    pub fn taken(&mut self, now: Time, page: u32) {
        let WriteLog { halves, filled, spare, stats, compaction, .. } = self;
        let old = &mut halves[1 - *filled];
        let mut lines = old.index.remove(&page).expect("a page is compacted once");
        stats.merged_pages.increment();
        stats.merged_lines.add(lines.len() as u64);
        lines.clear();
        spare.push(lines);
        let under_way = compaction.as_mut().expect("a page is taken during a compaction");
        under_way.left -= 1;
        if under_way.left == 0 {
            stats.compactions.increment();
            stats.compaction_time.record(now - under_way.since);
            old.clear(spare);
            *compaction = None;
            self.turn(now);
        }
    }
}

impl Half {
    fn clear(&mut self, spare: &mut Vec<Vec<Logged>>) {
        self.used = 0;
        self.pages.clear();
        spare.extend(self.index.drain().map(|(_, mut lines)| {
            lines.clear();
            lines
        }));
    }
}
