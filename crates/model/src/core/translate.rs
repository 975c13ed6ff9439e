//! Translation in a core: an access finds its page in a TLB, or waits for a walk of the page tables.
//!
//! ```text
//!   access --first TLB--> at once      --second TLB--> some cycles later
//!          --neither--> a walk: takes a walker, reads entry after entry through the caches, then all
//!                       accesses that wait for its page go on
//! ```
//!
//! A walk is done in line if all its entries are in L1 and L2. Loads look their line up after it, and stores are
//! complete after it. Not modelled: instruction TLBs. A store that forwards its data to a load has translated for the
//! load.

use std::collections::VecDeque;

use cxlab_kernel::{Time, statistics};

use super::window::{Waiter, Waiters};
use super::{Core, CoreParts, Uncore};
use crate::addr::Hpa;
use crate::check::Translations;
use crate::error::ModelError;
use crate::feed::LineAccess;
use crate::request::Op;
use crate::translation::{Forget, Mapping, Page, PageId, Scope, Tlb};

statistics! {
    /// Statistics of a core's translation.
    pub struct TranslationStats {
        first_misses: Counter [Events] "accesses whose page the first TLB did not know",
        second_hits: Counter [Events] "of these, the second TLB knew the page",
        joined: Counter [Events] "of these, accesses that waited for a walk under way",
        walks: Counter [Events] "walks of the page tables",
        entries_read: Counter [Lines] "page-table entries that walks read, through the caches",
        walker_waits: Counter [Events] "walks that waited for a walker",
        invalidations: Counter [Events] "instructions that made the TLBs forget",
        walk_latency: Latency [Nanoseconds] "from the miss to the translation",
    }
}

/// Next step of an access once its page is known.
#[derive(Clone, Copy, Debug)]
pub enum Then {
    /// look up the access's line
    Fetch { op: Op, waiter: Option<Waiter> },
    /// only wake the waiter
    Wake(Waiter),
}

#[derive(Clone, Copy, Debug)]
struct Parked {
    access: LineAccess,
    /// when the wait began
    asked: Time,
    then: Then,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// the walk has ended, and its place may be taken
    Over,
    /// the walk waits for a walker
    Queued,
    UnderWay,
}

/// Entries of a mapping: the mapping and their places in it.
pub type Entries = (Mapping, std::ops::Range<usize>);

/// A walk, and the accesses that wait for it.
#[derive(Clone, Debug)]
struct Walk {
    state: State,
    page: Page,
    mapping: Mapping,
    /// place of the entry that is read next
    read: usize,
    /// whether the access that began the walk is a store
    store: bool,
    asked: Time,
    parked: Vec<Parked>,
}

/// TLBs and walkers of a core.
#[derive(Clone, Debug)]
pub struct Translation {
    tlb: Tlb,
    second: Time,
    /// times at which the idle walkers became free
    idle: Vec<Time>,
    /// walks by their places; the place of an ended walk is used again
    walks: Vec<Walk>,
    queue: VecDeque<usize>,
    /// comparison of the TLBs with the page tables, in a run that is checked
    checked: Option<Box<Translations>>,
    pub stats: TranslationStats,
}

impl Translation {
    pub fn new(parts: CoreParts<'_>) -> Translation {
        Translation {
            tlb: Tlb::new(parts.tlb),
            second: parts.core.frequency.cycles(parts.tlb.second_latency.0),
            idle: vec![Time::ZERO; *parts.tlb.walkers as usize],
            walks: Vec::new(),
            queue: VecDeque::new(),
            checked: None,
            stats: TranslationStats::default(),
        }
    }

    /// Forgets translations that the guest has invalidated.
    pub fn forget(&mut self, forget: Forget) {
        self.stats.invalidations.increment();
        self.tlb.forget(forget);
        if let Some(checked) = &mut self.checked {
            checked.forget(forget);
        }
    }

    /// An access finds its page, as if at `at`. Returns the page-table entries that it reads, if any.
    pub fn warm(
        &mut self,
        page: Page,
        store: bool,
        mapping: impl FnOnce() -> Option<Mapping>,
        at: Time,
    ) -> Option<Entries> {
        if self.tlb.first(page, store).is_some() {
            return None;
        }
        if let Some((_, scope)) = self.tlb.second(page) {
            self.tlb.promote(page, scope, store, at);
            return None;
        }
        let mapping = mapping()?;
        let entries = self.tlb.first_read(&mapping)..usize::from(mapping.reads);
        for read in entries.clone() {
            self.tlb.has_read(&mapping, read);
        }
        self.tlb.fill(page, Scope::of(&mapping), store, at);
        if let Some(checked) = &mut self.checked {
            checked.walk_ended(page, &mapping);
        }
        Some((mapping, entries))
    }

    /// Checks a translation that a TLB gave to an access, in a run that is checked. `now` is the tables' mapping of the
    /// page.
    #[cold]
    #[inline(never)]
    fn served(&mut self, access: LineAccess, page: Page, now: Option<Mapping>, at: Time) {
        if let Some(checked) = &mut self.checked {
            checked.served(page, access.address.get(), now, at);
        }
    }

    /// Takes the walker that is free first.
    fn take_walker(&mut self) -> Option<Time> {
        let first = (0..self.idle.len()).min_by_key(|walker| self.idle[*walker])?;
        Some(self.idle.swap_remove(first))
    }

    /// Begins a walk for an access that misses both TLBs at `at`. Returns the walk's place.
    fn begin(&mut self, page: Page, mapping: Mapping, store: bool, at: Time) -> usize {
        self.stats.walks.increment();
        let place = self.walks.iter().position(|walk| walk.state == State::Over);
        let parked = place.map_or_else(Vec::new, |place| std::mem::take(&mut self.walks[place].parked));
        let read = self.tlb.first_read(&mapping);
        let walk = Walk { state: State::Queued, page, mapping, read, store, asked: at, parked };
        match place {
            Some(place) => {
                self.walks[place] = walk;
                place
            }
            None => {
                self.walks.push(walk);
                self.walks.len() - 1
            }
        }
    }

    /// Ends the walk at this place at `at`. Its waiters are still parked there.
    fn end(&mut self, place: usize, at: Time) {
        let Walk { page, ref mapping, store, asked, ref mut state, .. } = self.walks[place];
        *state = State::Over;
        self.tlb.fill(page, Scope::of(mapping), store, at);
        if let Some(checked) = &mut self.checked {
            checked.walk_ended(page, mapping);
        }
        self.stats.walk_latency.record(at - asked);
    }
}

impl Core {
    /// The number of the next row, which no dispatched instruction has. `None` while a step is partly dispatched.
    #[must_use]
    pub fn dispatched(&self) -> Option<u64> {
        self.in_hand.is_none().then(|| self.window.next())
    }

    /// Rows committed since the beginning. A row's accesses are translated before it is committed.
    #[must_use]
    pub fn committed(&self) -> u64 {
        self.window.committed()
    }

    /// Begins to compare the translations of the TLBs. The TLBs know no page yet.
    pub(crate) fn check_translations(&mut self) {
        self.translation.checked = Some(Box::new(Translations::new(format!("core {}", self.id.0))));
    }

    /// Comparison of the TLBs so far, in a run that is checked.
    pub(crate) fn checked_translations(&self) -> Option<&Translations> {
        self.translation.checked.as_deref()
    }

    /// Tells the checker that the tables have replaced these pages.
    pub(crate) fn pages_replaced(&mut self, pages: &[PageId]) {
        if let Some(checked) = &mut self.translation.checked {
            checked.replaced(pages);
        }
    }

    /// Statistics of the translation.
    #[must_use]
    pub fn translation_stats(&self) -> &TranslationStats {
        &self.translation.stats
    }

    /// When the access's page is known. `None` if the access waits for a walk; `then` is its next step.
    #[inline(always)]
    pub(super) fn translate<U: Uncore>(
        &mut self,
        access: LineAccess,
        at: Time,
        then: Then,
        uncore: &mut U,
    ) -> Result<Option<Time>, ModelError> {
        let Some(page) = access.page else { return Ok(Some(at)) };
        match self.translation.tlb.first(page, access.store) {
            Some(since) => {
                if self.translation.checked.is_some() {
                    self.translation.served(access, page, uncore.mapping(page.id), at);
                }
                Ok(Some(at.max(since)))
            }
            None => self.translate_further(access, page, at, then, uncore),
        }
    }

    #[inline(never)]
    fn translate_further<U: Uncore>(
        &mut self,
        access: LineAccess,
        page: Page,
        at: Time,
        then: Then,
        uncore: &mut U,
    ) -> Result<Option<Time>, ModelError> {
        let translation = &mut self.translation;
        translation.stats.first_misses.increment();
        let parked = Parked { access, asked: at, then };
        let under_way = |walk: &&mut Walk| walk.state != State::Over && walk.page == page;
        if let Some(walk) = translation.walks.iter_mut().find(under_way) {
            translation.stats.joined.increment();
            walk.parked.push(parked);
            return Ok(None);
        }
        if let Some((since, scope)) = translation.tlb.second(page) {
            translation.stats.second_hits.increment();
            if translation.checked.is_some() {
                translation.served(access, page, uncore.mapping(page.id), at);
            }
            let known = at.max(since) + translation.second;
            translation.tlb.promote(page, scope, access.store, known);
            return Ok(Some(known));
        }
        let mapping = uncore.mapping(page.id).ok_or_else(|| ModelError::replaced(page.id))?;
        let walk = translation.begin(page, mapping, access.store, at);
        let Some(free) = translation.take_walker() else {
            translation.stats.walker_waits.increment();
            translation.queue.push_back(walk);
            translation.walks[walk].parked.push(parked);
            return Ok(None);
        };
        translation.walks[walk].state = State::UnderWay;
        let done = self.walk_on(walk, at.max(free), uncore)?;
        match done {
            Some(done) => {
                self.translation.end(walk, done);
                self.translation.idle.push(done);
            }
            None => self.translation.walks[walk].parked.push(parked),
        }
        Ok(done)
    }

    /// Reads entries from `at` on. Returns when the last one is there; `None` if an entry is not in the core's caches.
    fn walk_on<U: Uncore>(&mut self, place: usize, at: Time, uncore: &mut U) -> Result<Option<Time>, ModelError> {
        let mut at = at;
        loop {
            let Walk { mapping, read, .. } = self.translation.walks[place];
            if read == usize::from(mapping.reads) {
                return Ok(Some(at));
            }
            self.translation.stats.entries_read.increment();
            let address = Hpa::new(mapping.entries[read]);
            let access = LineAccess { address, store: false, place: 0, device: false, page: None };
            let Some(ready) = self.fetch(access, Op::Walk, Some(Waiter::Walk(place)), at, at, uncore)? else {
                return Ok(None);
            };
            at = ready;
            self.has_read(place);
        }
    }

    /// An access finds its page, as if at `at`. Returns the page-table entries that are read for it, if any.
    pub fn warm_translation(
        &mut self,
        page: Page,
        store: bool,
        mapping: impl FnOnce() -> Option<Mapping>,
        at: Time,
    ) -> Option<Entries> {
        self.translation.warm(page, store, mapping, at)
    }

    /// Forgets translations that the guest has invalidated.
    pub fn forget_translations(&mut self, forget: Forget) {
        self.translation.forget(forget);
    }

    fn has_read(&mut self, place: usize) {
        let Translation { walks, tlb, .. } = &mut self.translation;
        tlb.has_read(&walks[place].mapping, walks[place].read);
        walks[place].read += 1;
    }

    /// Continues a walk whose entry has come at `at`. Accesses whose translation is complete go on `awake`. A walk that
    /// joined a miss under way may be called before its own beginning. It then reads on from its beginning.
    pub(super) fn entry_came<U: Uncore>(
        &mut self,
        place: usize,
        at: Time,
        awake: &mut Vec<(Waiters, Time)>,
        uncore: &mut U,
    ) -> Result<(), ModelError> {
        self.has_read(place);
        let (mut place, mut begins) = (place, at.max(self.translation.walks[place].asked));
        while let Some(done) = self.walk_on(place, begins, uncore)? {
            self.translation.end(place, done);
            self.go_on_behind(place, done, awake, uncore)?;
            let Some(next) = self.translation.queue.pop_front() else {
                self.translation.idle.push(done);
                return Ok(());
            };
            let walk = &mut self.translation.walks[next];
            walk.state = State::UnderWay;
            (place, begins) = (next, done.max(walk.asked));
        }
        Ok(())
    }

    /// Resumes the accesses that waited for a walk.
    fn go_on_behind<U: Uncore>(
        &mut self,
        place: usize,
        done: Time,
        awake: &mut Vec<(Waiters, Time)>,
        uncore: &mut U,
    ) -> Result<(), ModelError> {
        let mut parked = std::mem::take(&mut self.translation.walks[place].parked);
        for Parked { access, asked, then } in parked.drain(..) {
            let at = done.max(asked);
            let (waiter, ready) = match then {
                Then::Wake(waiter) => (Some(waiter), Some(at)),
                Then::Fetch { op, waiter } => (waiter, self.fetch(access, op, waiter, asked, at, uncore)?),
            };
            if let (Some(waiter), Some(ready)) = (waiter, ready) {
                awake.push((self.window.link(waiter, Waiters::default()), ready));
            }
        }
        self.translation.walks[place].parked = parked;
        Ok(())
    }
}
