//! A cache of DRAM in a device, before its flash: a station of the graph that sends accesses of its own.
//!
//! ```text
//!   device queue -> [look-up] -- hit ---------------------------> DRAM -> response
//!                       |                                          ^ |
//!                       '- miss -> [MSHR] -> flash -- page --------' '- changed page that leaves -> flash
//!                                     ^ requests of the same page wait here: reads are answered when the page has come
//! ```
//!
//! A page that comes is written to the DRAM line by line. A page that leaves and is newer than the flash is read line
//! by line. Both load the channels that hits need. The entry is free when the flash has taken the page that left. A
//! cache with a write log (`write_log.rs`) puts written lines there, and fetches no page for them (`logging.rs`).
//! Not modelled: pages of which only parts are there, and a first line that comes before the rest of its page.

mod directory;
mod line;
mod logging;
mod policy;
mod prefetch;
mod state;
mod write_log;

use cxlab_kernel::{Bytes, Key, Time};

pub use directory::{Directory, Found, Index, Inserted, Start};
pub use policy::CachePolicy;
pub use prefetch::CachePrefetch;
pub use state::{DeviceCacheSpec, DeviceCacheStats};
pub use write_log::{WriteLog, WriteLogReport, WriteLogSpec, WriteLogStats};

use state::{DeviceCache, Fill};

use super::{Due, Fabric, Flight, Station, WayId, key};
use crate::addr::{Dpa, LINE_BYTES};
use crate::cxl::CxlError;
use crate::mem::{Access, AccessKind, Driver, Extent, Media, Owner, Stage, Tag, Wake};

/// A cache, and the media on both of its sides.
#[derive(Clone, Debug)]
pub struct Cached {
    pub cache: DeviceCache,
    dram: u16,
    flash: u16,
}

/// Building and warming.
impl<M: Media> Fabric<M> {
    /// Puts a cache and its flash into the way's device. The media that the device had are the cache's DRAM from now on.
    ///
    /// # Errors
    /// The rule that [`DeviceCacheSpec::check`] finds broken.
    ///
    /// # Panics
    /// The way has no device.
    pub fn put_cache(&mut self, way: WayId, spec: &DeviceCacheSpec, device: Bytes, flash: M) -> Result<(), CxlError> {
        spec.check(device)?;
        let dram = self.ways[usize::from(way.0)].media;
        let at = self.behind[usize::from(dram)].expect("a cache is in a device");
        self.media.push(flash);
        self.behind.push(Some(at));
        let flash = self.media.len() as u16 - 1;
        self.devices[usize::from(at)].cache = Some(self.caches.len() as u16);
        self.caches.push(Cached { cache: DeviceCache::new(spec, device), dram, flash });
        Ok(())
    }
}

/// Queries of a way's cache.
impl<M> Fabric<M> {
    /// The cache of the way's device, if it has one.
    pub(super) fn cache_of(&self, way: WayId) -> Option<&Cached> {
        let media = self.ways[usize::from(way.0)].media;
        let device = self.behind[usize::from(media)]?;
        Some(&self.caches[usize::from(self.devices[usize::from(device)].cache?)])
    }

    /// The flash of the way's device, if it has some.
    #[must_use]
    pub fn flash(&self, way: WayId) -> Option<&M> {
        Some(&self.media[usize::from(self.cache_of(way)?.flash)])
    }

    /// Whether an event is one of flash behind a cache, which works on when nobody waits for it.
    #[must_use]
    pub fn is_of_flash(&self, due: Due) -> bool {
        let Due::At(Station::Media(media), _) = due else { return false };
        self.caches.iter().any(|cache| cache.flash == media)
    }

    /// Whether any device has a cache.
    #[must_use]
    pub fn has_caches(&self) -> bool {
        !self.caches.is_empty()
    }

    /// Uses the page of this address in no time. Returns whether a write log has taken the line.
    pub fn warm_cache(&mut self, way: WayId, dpa: Dpa, changes: bool) -> bool {
        let media = self.ways[usize::from(way.0)].media;
        let device = self.behind[usize::from(media)].map(|device| &self.devices[usize::from(device)]);
        let Some(at) = device.and_then(|device| device.cache) else { return false };
        let cache = &mut self.caches[usize::from(at)].cache;
        let (page, line) = (cache.page(dpa), logging::line_of(cache, dpa));
        if let Some(log) = &mut cache.log
            && changes
        {
            log.warm(page, line);
            cache.directory.touch(page, false);
            return true;
        }
        if cache.directory.touch(page, changes) == Found::Miss {
            cache.directory.insert(page, changes, false);
        }
        false
    }
}

/// The way of a request through the cache.
impl<M: Media> Fabric<M> {
    /// Sends a request with an entry of the device's queue to the cache, or to the media if there is no cache.
    pub(super) fn hand_on<D: Driver<Due>>(&mut self, now: Time, at: u16, tag: Tag, driver: &mut D) {
        let device = &self.devices[usize::from(at)];
        match device.cache {
            None => driver.wake(now, Due::At(Station::Media(device.media), Wake::Out(tag))),
            Some(cache) => {
                let look_up = self.caches[usize::from(cache)].cache.look_up;
                driver.wake(now + look_up, Due::At(Station::DeviceCache(cache), Wake::Out(tag)));
            }
        }
    }

    /// Handles a request that has been looked up.
    pub(super) fn looked_up<D: Driver<Due>>(&mut self, now: Time, at: u16, tag: Tag, driver: &mut D) {
        let Flight { dpa, kind, .. } = self.flights[key(tag)];
        let Cached { cache, .. } = &mut self.caches[usize::from(at)];
        let (page, logs) = (cache.page(dpa), cache.log.is_some());
        match cache.directory.touch(page, kind == AccessKind::Write && !logs) {
            Found::Hit { place, ahead } => {
                cache.stats.hits.increment();
                self.present(now, at, tag, place, driver);
                if ahead {
                    self.caches[usize::from(at)].cache.stats.prefetches_used.increment();
                    self.fetch_ahead(now, at, page, driver);
                }
            }
            Found::Miss if !logs => self.miss(now, at, tag, page, driver),
            Found::Miss if kind == AccessKind::Write => self.write_to_log(now, at, tag, driver),
            Found::Miss => self.ask_log(now, at, tag, driver),
        }
    }

    /// Sends a request to its page's place in the cache's DRAM.
    fn hit<D: Driver<Due>>(&mut self, now: Time, at: u16, tag: Tag, place: u64, driver: &mut D) {
        let Cached { cache, dram, .. } = &self.caches[usize::from(at)];
        let (line, dram) = (cache.line, *dram);
        let flight = &mut self.flights[key(tag)];
        flight.stamp(Stage::DeviceCache, now, driver);
        flight.dpa = Dpa::new(place * line + flight.dpa.get() % line);
        self.store(now, dram, tag, driver);
    }

    fn miss<D: Driver<Due>>(&mut self, now: Time, at: u16, tag: Tag, page: u32, driver: &mut D) {
        let Cached { cache, .. } = &mut self.caches[usize::from(at)];
        if let Some(fill) = cache.coming.get(&page) {
            cache.stats.merged.increment();
            cache.fills[Key::from_index(*fill)].waiters.push((tag, now));
        } else if cache.is_merging(page) {
            cache.stats.merged.increment();
            self.wait_for_merge(now, at, (tag, now), page, driver);
        } else if cache.waiting.is_empty() && cache.fills.len() < cache.mshrs {
            cache.stats.misses.increment();
            self.fetch(now, at, page, Some((tag, now)), driver);
            self.fetch_ahead(now, at, page, driver);
        } else {
            cache.stats.misses.increment();
            cache.stats.mshrs_full.increment();
            cache.waiting.push_back((tag, now));
        }
    }

    /// Requests a page from the flash.
    fn fetch<D: Driver<Due>>(&mut self, now: Time, at: u16, page: u32, waiter: Option<(Tag, Time)>, driver: &mut D) {
        let Cached { cache, flash, .. } = &mut self.caches[usize::from(at)];
        cache.stats.fills.increment();
        let ahead = waiter.is_none();
        let waiters = waiter.into_iter().collect();
        let fill = cache.fills.insert(Fill { page, since: now, ahead, waiters, victim: None, left: 0 }).index();
        cache.coming.insert(page, fill);
        let (dpa, flash) = (Dpa::new(u64::from(page) * cache.line), *flash);
        self.access(now, flash, dpa, AccessKind::Read, fill, driver);
    }

    /// Fetches the pages that the prefetcher wants after this page. The last entry is left for requests.
    fn fetch_ahead<D: Driver<Due>>(&mut self, now: Time, at: u16, page: u32, driver: &mut D) {
        let Cached { cache, .. } = &mut self.caches[usize::from(at)];
        let mut pages = std::mem::take(&mut cache.ahead);
        cache.prefetcher.asked(page, &mut pages);
        for page in pages.drain(..) {
            let Cached { cache, .. } = &mut self.caches[usize::from(at)];
            let known =
                cache.coming.contains_key(&page) || cache.directory.place(page).is_some() || cache.is_merging(page);
            if u64::from(page) < cache.pages && !known && cache.fills.len() + 1 < cache.mshrs {
                cache.stats.prefetches.increment();
                self.fetch(now, at, page, None, driver);
            }
        }
        self.caches[usize::from(at)].cache.ahead = pages;
    }

    /// Sends an access of the cache's own, for a fill.
    fn access<D: Driver<Due>>(&mut self, now: Time, media: u16, dpa: Dpa, kind: AccessKind, fill: u32, driver: &mut D) {
        self.own(now, media, (dpa, kind), Owner::Cache(Tag(fill)), driver);
    }

    /// Sends an access of the device's own.
    fn own<D: Driver<Due>>(
        &mut self,
        now: Time,
        media: u16,
        (dpa, kind): (Dpa, AccessKind),
        owner: Owner,
        driver: &mut D,
    ) {
        // The way is never used, because the access goes back to its owner.
        let own = Flight::new(dpa, kind, Extent::Line, owner, WayId(0), now);
        let tag = Tag(self.flights.insert(own).index());
        let (memory, mut outlet) = self.outlet(media, driver);
        memory.arrive(now, Access { dpa, kind, tag }, &mut outlet);
    }

    /// Handles a cache's access for a fill that a media has finished.
    pub(super) fn cache_served<D: Driver<Due>>(
        &mut self,
        now: Time,
        media: u16,
        kind: AccessKind,
        fill: Tag,
        driver: &mut D,
    ) {
        let device = self.behind[usize::from(media)].expect("a cache is in a device");
        let at = self.devices[usize::from(device)].cache.expect("what a cache asks for comes back to it");
        let Cached { cache, flash, .. } = &self.caches[usize::from(at)];
        match (*flash == media, kind) {
            (true, AccessKind::Read) => self.filled(now, at, fill, driver),
            (true, AccessKind::Write) => self.release(now, at, fill, driver),
            // This is a line of the log, for a page that has come. A cache with a log writes no page back.
            (false, AccessKind::Read) if cache.log.is_some() => {}
            (false, AccessKind::Read) => self.victim_read(now, at, fill, driver),
            // This line of the page that has come is in the DRAM.
            (false, AccessKind::Write) => {}
        }
    }

    /// Puts a page that has come into its place. Its waiters go on.
    fn filled<D: Driver<Due>>(&mut self, now: Time, at: u16, tag: Tag, driver: &mut D) {
        let Cached { cache, dram, .. } = &mut self.caches[usize::from(at)];
        let (lines, bytes, dram) = (cache.lines(), cache.line, *dram);
        let fill = &mut cache.fills[Key::from_index(tag.0)];
        let (page, ahead, waiters) = (fill.page, fill.ahead, std::mem::take(&mut fill.waiters));
        cache.stats.fill_latency.record(now - fill.since);
        cache.coming.remove(&page);
        let is_write = |(tag, _): &(Tag, Time)| self.flights[key(*tag)].kind == AccessKind::Write;
        let changes = cache.log.is_none() && waiters.iter().any(is_write);
        let Inserted { place, changed, evicted } = cache.directory.insert(page, changes, ahead && waiters.is_empty());
        (fill.victim, fill.left) = (changed, if changed.is_some() { lines } else { 0 });
        if ahead && !waiters.is_empty() {
            cache.stats.prefetches_used.increment();
        }
        if evicted {
            cache.stats.evictions.increment();
        }
        cache.prefetcher.filled(page, ahead);
        let each = |line: u32| Dpa::new(place * bytes + u64::from(line) * LINE_BYTES);
        if changed.is_some() {
            (0..lines).for_each(|line| self.access(now, dram, each(line), AccessKind::Read, tag.0, driver));
        }
        (0..lines).for_each(|line| self.access(now, dram, each(line), AccessKind::Write, tag.0, driver));
        self.filled_with_log(now, at, (page, place), tag, driver);
        for (waiter, since) in waiters {
            self.serve(now, at, waiter, since, place, driver);
        }
        if changed.is_none() {
            self.release(now, at, tag, driver);
        }
    }

    /// Serves a request whose page has come. A read takes its line from the page, and a write goes to the DRAM.
    fn serve<D: Driver<Due>>(&mut self, now: Time, at: u16, tag: Tag, since: Time, place: u64, driver: &mut D) {
        let Cached { cache, dram, .. } = &mut self.caches[usize::from(at)];
        cache.stats.miss_latency.record(now - since);
        let dram = *dram;
        match self.flights[key(tag)].kind {
            AccessKind::Read => {
                self.flights[key(tag)].stamp(Stage::DeviceCache, now, driver);
                self.answer(now, dram, tag, driver);
            }
            AccessKind::Write => self.present(now, at, tag, place, driver),
        }
    }

    /// Counts a line of the victim that was read. After the last line the flash takes the page.
    fn victim_read<D: Driver<Due>>(&mut self, now: Time, at: u16, tag: Tag, driver: &mut D) {
        let Cached { cache, flash, .. } = &mut self.caches[usize::from(at)];
        let fill = &mut cache.fills[Key::from_index(tag.0)];
        fill.left -= 1;
        if fill.left > 0 {
            return;
        }
        let victim = fill.victim.expect("lines are read of a page that leaves");
        cache.stats.write_backs.increment();
        let (dpa, flash) = (Dpa::new(u64::from(victim) * cache.line), *flash);
        self.access(now, flash, dpa, AccessKind::Write, tag.0, driver);
    }

    /// Frees an entry and gives free entries to the waiting misses.
    fn release<D: Driver<Due>>(&mut self, now: Time, at: u16, tag: Tag, driver: &mut D) {
        self.caches[usize::from(at)].cache.fills.remove(Key::from_index(tag.0));
        loop {
            let Cached { cache, .. } = &mut self.caches[usize::from(at)];
            if cache.fills.len() >= cache.mshrs {
                return;
            }
            let Some((waiter, since)) = cache.waiting.pop_front() else { return };
            let Flight { dpa, kind, .. } = self.flights[key(waiter)];
            let (page, changes) = (cache.page(dpa), kind == AccessKind::Write && cache.log.is_none());
            // The page may have come, or be on its way, for another request.
            if let Some(fill) = cache.coming.get(&page) {
                cache.fills[Key::from_index(*fill)].waiters.push((waiter, since));
            } else if let Found::Hit { place, .. } = cache.directory.touch(page, changes) {
                cache.stats.miss_latency.record(now - since);
                self.present(now, at, waiter, place, driver);
            } else if cache.is_merging(page) {
                self.wait_for_merge(now, at, (waiter, since), page, driver);
            } else {
                self.fetch(now, at, page, Some((waiter, since)), driver);
            }
        }
    }
}
