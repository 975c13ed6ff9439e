//! Logging: how requests use the write log of a device cache, and how the log is compacted.
//!
//! ```text
//!   write:  look-up -> [room?] -> slot of the log (and the page, if it is there)       no read of the flash
//!   read:   look-up -- page ----------------------------------------------> DRAM
//!                  '-- index of the log -- line ------------------------> DRAM
//!                                      '-- neither: the page comes, and takes in the lines of the log
//!   compaction, of each page:  cache or flash -> merge buffer <- its lines in the log;  merge buffer -> flash
//! ```
//!
//! With a log, no page of the cache is newer than the flash and the log together. So pages leave without being written
//! back. While a page is compacted, no request fetches it. The fetched page could be older than the log that has just
//! been emptied.

use cxlab_kernel::{Key, Time};

use super::directory::Found;
use super::write_log::{Merge, Phase, WriteLog};
use super::{Cached, DeviceCache};
use crate::addr::{Dpa, LINE_BYTES};
use crate::fabric::{Due, Fabric, Flight, Station, key};
use crate::mem::{AccessKind, Driver, Extent, Media, Owner, Stage, Tag, Wake};

/// Requests.
impl<M: Media> Fabric<M> {
    fn log(&mut self, at: u16) -> &mut WriteLog {
        self.caches[usize::from(at)].cache.log.as_mut().expect("only a cache with a log asks for it")
    }

    /// Asks the log for a read whose page is not in the cache. The answer comes after the log's own look-up.
    pub(super) fn ask_log<D: Driver<Due>>(&mut self, now: Time, at: u16, tag: Tag, driver: &mut D) {
        let after = self.log(at).look_up_after;
        if after == Time::ZERO {
            return self.indexed(now, at, tag, driver);
        }
        driver.wake(now + after, Due::At(Station::DeviceCache(at), Wake::Back(tag)));
    }

    /// Handles the answer of the log's index.
    pub(in crate::fabric) fn indexed<D: Driver<Due>>(&mut self, now: Time, at: u16, tag: Tag, driver: &mut D) {
        let Flight { dpa, kind, .. } = self.flights[key(tag)];
        let Cached { cache, dram, .. } = &mut self.caches[usize::from(at)];
        let (page, line, dram) = (cache.page(dpa), line_of(cache, dpa), *dram);
        // The page may have come during the look-up of the index.
        if let Found::Hit { place, .. } = cache.directory.touch(page, false) {
            cache.stats.hits.increment();
            return self.present(now, at, tag, place, driver);
        }
        if kind == AccessKind::Write {
            return self.write_to_log(now, at, tag, driver);
        }
        match self.log(at).find(page, line) {
            None => self.miss(now, at, tag, page, driver),
            Some(slot) => {
                self.log(at).stats.hits.increment();
                let flight = &mut self.flights[key(tag)];
                flight.stamp(Stage::DeviceCache, now, driver);
                flight.dpa = slot;
                self.store(now, dram, tag, driver);
            }
        }
    }

    /// Serves a request whose page is at this place of the cache's DRAM.
    pub(super) fn present<D: Driver<Due>>(&mut self, now: Time, at: u16, tag: Tag, place: u64, driver: &mut D) {
        let logs = self.caches[usize::from(at)].cache.log.is_some();
        if logs && self.flights[key(tag)].kind == AccessKind::Write {
            self.write_to_log(now, at, tag, driver);
        } else {
            self.hit(now, at, tag, place, driver);
        }
    }

    /// Writes to the log, after the writes that wait for room.
    pub(super) fn write_to_log<D: Driver<Due>>(&mut self, now: Time, at: u16, tag: Tag, driver: &mut D) {
        let log = self.log(at);
        if !log.writers.is_empty() || !log.has_room() {
            return log.writers.push_back((tag, now));
        }
        self.append(now, at, tag, driver);
        self.compact(now, at, driver);
    }

    /// Appends a write, for which there is room.
    fn append<D: Driver<Due>>(&mut self, now: Time, at: u16, tag: Tag, driver: &mut D) {
        let Flight { dpa, extent, .. } = self.flights[key(tag)];
        let Cached { cache, dram, .. } = &self.caches[usize::from(at)];
        let (page, line, bytes, dram) = (cache.page(dpa), line_of(cache, dpa), cache.line, *dram);
        let in_page = cache.directory.place(page).map(|place| Dpa::new(place * bytes + dpa.get() % bytes));
        let old = in_page.or_else(|| self.log(at).find(page, line));
        if extent == Extent::Part && old.is_none() {
            // The rest of the line is only in the flash.
            return self.miss(now, at, tag, page, driver);
        }
        let slot = self.log(at).append(now, page, line);
        let flight = &mut self.flights[key(tag)];
        flight.stamp(Stage::DeviceCache, now, driver);
        flight.dpa = slot;
        match (extent, old) {
            (Extent::Part, Some(old)) => {
                self.own(now, dram, (old, AccessKind::Read), Owner::Device(tag), driver);
            }
            _ => self.store(now, dram, tag, driver),
        }
        if let Some(in_page) = in_page {
            // No request waits for the write to the page's own copy.
            self.access(now, dram, in_page, AccessKind::Write, tag.0, driver);
        }
    }

    /// Serves a request whose page is being compacted. It waits, or takes its line from the merge buffer.
    pub(super) fn wait_for_merge<D: Driver<Due>>(
        &mut self,
        now: Time,
        at: u16,
        waiter: (Tag, Time),
        page: u32,
        driver: &mut D,
    ) {
        let is_read = self.flights[key(waiter.0)].kind == AccessKind::Read;
        let log = self.log(at);
        let merge = &mut log.merges[Key::from_index(log.merging[&page])];
        if merge.phase == Phase::Merged && is_read {
            self.answer_from_merge_buffer(now, at, waiter, driver);
        } else {
            merge.waiters.push(waiter);
        }
    }

    fn answer_from_merge_buffer<D: Driver<Due>>(
        &mut self,
        now: Time,
        at: u16,
        (tag, since): (Tag, Time),
        driver: &mut D,
    ) {
        let Cached { cache, dram, .. } = &mut self.caches[usize::from(at)];
        cache.stats.miss_latency.record(now - since);
        let dram = *dram;
        self.flights[key(tag)].stamp(Stage::DeviceCache, now, driver);
        self.answer(now, dram, tag, driver);
    }
}

/// Compaction.
impl<M: Media> Fabric<M> {
    /// Begins to compact as many pages as the merge buffer has places for.
    fn compact<D: Driver<Due>>(&mut self, now: Time, at: u16, driver: &mut D) {
        while let Some(page) = self.log(at).next_page() {
            let Cached { cache, flash, .. } = &mut self.caches[usize::from(at)];
            let (is_coming, place) = (cache.coming.contains_key(&page), cache.directory.place(page));
            let (from_flash, flash) = (Dpa::new(u64::from(page) * cache.line), *flash);
            let phase = if is_coming { Phase::AwaitsFill } else { Phase::Reading };
            let log = self.log(at);
            let merge = log.merges.insert(Merge { page, phase, left: 0, waiters: Vec::new() }).index();
            log.merging.insert(page, merge);
            match place {
                _ if is_coming => {}
                Some(place) => self.read_page(now, at, merge, place, driver),
                None => {
                    log.stats.page_reads.increment();
                    self.own(now, flash, (from_flash, AccessKind::Read), Owner::Log(Tag(merge)), driver);
                }
            }
        }
    }

    /// Reads a page from the cache, which has its newest lines, into the merge buffer.
    fn read_page<D: Driver<Due>>(&mut self, now: Time, at: u16, merge: u32, place: u64, driver: &mut D) {
        let Cached { cache, dram, .. } = &mut self.caches[usize::from(at)];
        let (lines, bytes, dram) = (cache.lines(), cache.line, *dram);
        let entry = &mut self.log(at).merges[Key::from_index(merge)];
        (entry.phase, entry.left) = (Phase::Reading, lines);
        for line in 0..lines {
            let dpa = Dpa::new(place * bytes + u64::from(line) * LINE_BYTES);
            self.own(now, dram, (dpa, AccessKind::Read), Owner::Log(Tag(merge)), driver);
        }
    }

    /// Reads the lines of the log for a page that has come into the cache. Compaction of the page may also have waited
    /// for it.
    pub(super) fn filled_with_log<D: Driver<Due>>(
        &mut self,
        now: Time,
        at: u16,
        (page, place): (u32, u64),
        fill: Tag,
        driver: &mut D,
    ) {
        let Cached { cache: DeviceCache { log, .. }, dram, .. } = &self.caches[usize::from(at)];
        let Some(log) = log else { return };
        let (logged, dram): (Vec<Dpa>, u16) = (log.lines_of(page).collect(), *dram);
        let waiting = log.merging.get(&page).copied();
        for dpa in logged {
            self.access(now, dram, dpa, AccessKind::Read, fill.0, driver);
        }
        if let Some(merge) = waiting {
            self.read_page(now, at, merge, place, driver);
        }
    }

    /// Handles compaction's access for a page that a media has finished.
    pub(in crate::fabric) fn log_served<D: Driver<Due>>(
        &mut self,
        now: Time,
        media: u16,
        kind: AccessKind,
        merge: Tag,
        driver: &mut D,
    ) {
        let device = self.behind[usize::from(media)].expect("a log is in a device");
        let at = self.devices[usize::from(device)].cache.expect("what a log asks for comes back to it");
        let (is_flash, dram) = (self.caches[usize::from(at)].flash == media, self.caches[usize::from(at)].dram);
        match (is_flash, kind) {
            (true, AccessKind::Read) => {
                let log = self.log(at);
                let page = log.merges[Key::from_index(merge.0)].page;
                let lines: Vec<Dpa> = log.old_lines_of(page).collect();
                log.merges[Key::from_index(merge.0)].left = lines.len() as u32;
                for line in lines {
                    self.own(now, dram, (line, AccessKind::Read), Owner::Log(merge), driver);
                }
            }
            (false, AccessKind::Read) => {
                let entry = &mut self.log(at).merges[Key::from_index(merge.0)];
                entry.left -= 1;
                if entry.left == 0 {
                    self.merged(now, at, merge, driver);
                }
            }
            (true, AccessKind::Write) => self.taken(now, at, merge, driver),
            (false, AccessKind::Write) => unreachable!("compaction writes to the flash alone"),
        }
    }

    /// Handles a page that is whole in the merge buffer. Reads take their lines, and the page goes to the flash.
    fn merged<D: Driver<Due>>(&mut self, now: Time, at: u16, merge: Tag, driver: &mut D) {
        let Cached { cache: DeviceCache { log, line, .. }, flash, .. } = &mut self.caches[usize::from(at)];
        let entry = &mut log.as_mut().expect("it has a log").merges[Key::from_index(merge.0)];
        entry.phase = Phase::Merged;
        let (dpa, flash) = (Dpa::new(u64::from(entry.page) * *line), *flash);
        let is_read = |waiter: &(Tag, Time)| self.flights[key(waiter.0)].kind == AccessKind::Read;
        let (reads, writes): (Vec<_>, Vec<_>) = std::mem::take(&mut entry.waiters).into_iter().partition(is_read);
        entry.waiters = writes;
        for read in reads {
            self.answer_from_merge_buffer(now, at, read, driver);
        }
        self.own(now, flash, (dpa, AccessKind::Write), Owner::Log(merge), driver);
    }

    /// Handles a page that the flash has taken. Its waiters are looked up anew, and writers may have room.
    fn taken<D: Driver<Due>>(&mut self, now: Time, at: u16, merge: Tag, driver: &mut D) {
        let log = self.log(at);
        let Merge { page, waiters, .. } = log.merges.remove(Key::from_index(merge.0));
        log.merging.remove(&page);
        log.taken(now, page);
        for (waiter, _) in waiters {
            self.indexed(now, at, waiter, driver);
        }
        self.admit_writers(now, at, driver);
        self.compact(now, at, driver);
    }

    fn admit_writers<D: Driver<Due>>(&mut self, now: Time, at: u16, driver: &mut D) {
        while self.log(at).has_room() {
            let Some((writer, since)) = self.log(at).writers.pop_front() else { return };
            self.log(at).stats.writers_waited.record(now - since);
            self.append(now, at, writer, driver);
        }
    }
}

/// Number of an address's line in its page.
pub(super) fn line_of(cache: &DeviceCache, dpa: Dpa) -> u16 {
    (dpa.get() % cache.line / LINE_BYTES) as u16
}
