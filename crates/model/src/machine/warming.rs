//! Functional warming: caches, TLBs and predictor see what a program does while the machine's time stands still.
//!
//! Hits and misses are not counted. A changed line that leaves the LLC is written in no time. Prefetchers read ahead as
//! in detail, and as many of their lines are refused. Not modelled: warming has no wrong path either. It touches a line
//! in program order, not when its miss returns.

use super::Machine;
use crate::addr::{Hpa, LINE_BYTES};
use crate::cache::{Hit, Nearest, ProgramCounter, Reference, ReferenceKind, Victim, Wanted};
use crate::feed::{Branch, LineAccess, Outcome, Touch};
use crate::request::CoreId;
use crate::translation::{Forget, Page, PageId};

/// The line of a stream that this host fetches the tags for, behind the one that is read ahead `[B]`.
const NEXT_OF_STREAM: u64 = 8 * LINE_BYTES;

impl Machine {
    /// An instruction of `core` touches a line, in the way that its kind does.
    #[inline]
    pub fn touch(&mut self, core: usize, access: LineAccess, touch: Touch) {
        if let Some(page) = access.page {
            self.translate(core, page, access.store);
        }
        let (line, store) = (access.line(), access.store);
        // An address without memory is not kept. If a program touches it in a window, the window says so.
        let Some(at) = self.shared.home.of(line) else { return };
        let home = &mut self.shared.home;
        match touch {
            Touch::NonTemporal if store => {
                self.forget(line);
                self.warm_device_cache(line, true);
            }
            Touch::Flush => {
                if self.forget(line) {
                    self.warm_device_cache(line, true);
                }
            }
            Touch::Clean => {
                if self.cores[core].clean(line) | home.clean(at, line) {
                    self.warm_device_cache(line, true);
                }
            }
            Touch::Plain | Touch::Locked | Touch::NonTemporal | Touch::Prefetch | Touch::PrefetchToOwn => {
                let kind = match touch {
                    Touch::Prefetch | Touch::PrefetchToOwn => ReferenceKind::Prefetch,
                    _ => ReferenceKind::of(store),
                };
                let instruction = Some(ProgramCounter::new(access.place));
                let by = Reference { kind, core: CoreId(core as u16), instruction };
                let found = self.cores[core].finds(line, store, by);
                if found == Hit::Neither {
                    self.bring_from_beyond(line, store, by, Nearest::L1);
                }
                if found != Hit::L1 {
                    self.read_ahead(line, found == Hit::L2, by.core);
                }
                if kind == ReferenceKind::Load {
                    for line in self.cores[core].wants_near(line, access.place).into_iter().flatten() {
                        self.bring_near(line, by.core);
                    }
                }
            }
        }
    }

    /// Lets this host fetch what a touch of the line will look at, if the core's caches lack it.
    #[inline]
    pub fn expect_touch(&self, core: usize, line: Hpa) {
        if !self.cores[core].holds(line) {
            self.cores[core].expect_victim(line, &self.shared);
            self.shared.home.expect(line);
        }
    }

    /// A walk of the page tables of `core` reads an entry. No prefetcher sees it.
    fn walk(&mut self, core: usize, line: Hpa) {
        let by = Reference::of_core(CoreId(core as u16), ReferenceKind::Walk);
        if self.shared.home.of(line).is_some() && !self.cores[core].touches(line, false, by) {
            self.bring_from_beyond(line, false, by, Nearest::L1);
        }
    }

    /// A prefetcher of L1 wants a line. Want of room takes time: as many are refused as in detail.
    fn bring_near(&mut self, line: Hpa, core: CoreId) {
        let wanting = &mut self.cores[usize::from(core.0)];
        if wanting.is_near(line) || self.shared.home.of(line).is_none() || wanting.refuses_near() {
            return;
        }
        let by = Reference::of_core(core, ReferenceKind::Prefetch);
        let in_l2 = wanting.brings_near(line, by);
        if !in_l2 {
            self.bring_from_beyond(line, false, by, Nearest::L1);
        }
        self.read_ahead(line, in_l2, core);
    }

    /// L2 was looked into for a line: its prefetchers want others.
    fn read_ahead(&mut self, looked_up: Hpa, hit: bool, core: CoreId) {
        let [pair, streamed] = self.cores[usize::from(core.0)].wants(looked_up, hit);
        self.bring_ahead(pair, core);
        let refused = self.bring_ahead(streamed, core);
        self.cores[usize::from(core.0)].was_refused(refused);
    }

    /// Prefetchers of L2 want these lines. Want of room takes time: as many are refused as in detail. Returns the number of
    /// those that are not brought for that.
    fn bring_ahead(&mut self, mut wanted: Wanted, core: CoreId) -> u32 {
        let number = usize::from(core.0);
        while let Some(line) = wanted.next() {
            if self.cores[number].holds(line) || self.shared.home.of(line).is_none() {
                continue;
            }
            if self.cores[number].refuses_ahead() {
                return wanted.left() + 1;
            }
            let by = Reference::of_core(core, ReferenceKind::Prefetch);
            self.bring_from_beyond(line, false, by, Nearest::L2);
            // A stream goes on: its next lines are wanted soon.
            self.expect_touch(number, Hpa::new(line.get() + NEXT_OF_STREAM));
        }
        0
    }

    /// A line that its core lacks comes from another core, the LLC or its memory.
    fn bring_from_beyond(&mut self, line: Hpa, store: bool, by: Reference, to: Nearest) {
        if !self.shared.home.touch(line, by) {
            self.warm_device_cache(line, false);
        }
        self.bring(line, store, by, to);
    }

    /// An access of `core` finds its page. The entries that a walk reads come through its caches.
    #[inline]
    fn translate(&mut self, core: usize, page: Page, store: bool) {
        let (tables, now) = (&self.shared.tables, self.shared.queue.now());
        let missing = &mut self.missing_page;
        let mapping = || {
            let mapping = tables.mapping(page.id);
            if mapping.is_none() {
                *missing = Some(page.id);
            }
            mapping
        };
        let read = self.cores[core].warm_translation(page, store, mapping, now);
        let Some((mapping, entries)) = read else { return };
        for address in entries.map(|entry| mapping.entries[entry]) {
            self.walk(core, Hpa::new(address).line());
        }
    }

    /// `core` forgets translations that the guest has invalidated.
    pub fn forget_translations(&mut self, core: usize, forget: Forget) {
        self.cores[core].forget_translations(forget);
    }

    /// A page that an access of warming named although it is not there.
    pub fn take_missing_page(&mut self) -> Option<PageId> {
        self.missing_page.take()
    }

    /// The line leaves every cache: whether it was changed in one.
    pub(super) fn forget(&mut self, line: Hpa) -> bool {
        self.shared.touch(line);
        let home = &mut self.shared.home;
        let mut changed = false;
        for (number, core) in self.cores.iter_mut().enumerate() {
            changed |= core.forget(line);
            home.left(line, CoreId(number as u16));
        }
        changed | home.of(line).is_some_and(|at| home.forget(at, line))
    }

    /// Have a line in `core`'s caches, and what leaves for it in the LLC, as if it had been touched before.
    pub fn warm(&mut self, core: usize, line: Hpa, store: bool) {
        let by = Reference::of_core(CoreId(core as u16), ReferenceKind::of(store));
        if !self.cores[core].touches(line, store, by) {
            self.bring(line, store, by, Nearest::L1);
        }
    }

    /// A line that the first core had long ago, changed or not, has come to the LLC since, in no time.
    pub fn warm_llc(&mut self, line: Hpa, changed: bool) {
        let _written_before_time_began = self.shared.home.take_in(Victim { line, changed }, CoreId(0));
    }

    /// All of these lines have come to the LLC in this order, so many times. Its sets know nothing of each other, so each has all
    /// its rounds before the next: that is as quick as the host's caches are.
    pub fn warm_llc_in_rounds(&mut self, mut lines: Vec<(Hpa, bool)>, rounds: u32) {
        let home = &self.shared.home;
        lines.sort_by_cached_key(|(line, _)| home.llc_set(*line));
        let of_one_set = |one: &(Hpa, bool), other: &(Hpa, bool)| home.llc_set(one.0) == home.llc_set(other.0);
        let ends: Vec<usize> = lines.chunk_by(of_one_set).map(<[_]>::len).collect();
        let mut rest = &lines[..];
        for length in ends {
            let (of_set, others) = rest.split_at(length);
            for &(line, changed) in (0..rounds).flat_map(|_| of_set) {
                self.warm_llc(line, changed);
            }
            rest = others;
        }
    }

    /// A line is read from its device, or written to it, in no time: the device's cache knows, if there is one. A changed page
    /// that leaves that cache is as pre-conditioning left it in the flash. Returns whether a write log has taken the line.
    pub fn warm_device_cache(&mut self, line: Hpa, changes: bool) -> bool {
        if !self.shared.fabric.has_caches() {
            return false;
        }
        let (way, dpa) = self.shared.home.way_of(line);
        self.shared.fabric.warm_cache(way, dpa, changes)
    }

    /// A line that its core lacks comes from beyond, in no time.
    fn bring(&mut self, line: Hpa, store: bool, by: Reference, to: Nearest) {
        let id = by.core;
        let (home, mut around) = self.shared.at_home(&mut self.cores);
        let (state, written) = home.claim(line, id, store, &mut around);
        if let Some(written) = written {
            self.warm_device_cache(written, true);
        }
        self.shared.touch(line);
        if let Some(victim) = self.cores[usize::from(id.0)].warm(line, state, by, to) {
            self.shared.touch(victim.line);
            let home = &mut self.shared.home;
            home.left(victim.line, id);
            if let Some(written) = home.take_in(victim, id) {
                self.warm_device_cache(written, true);
            }
        }
        self.check_warmed();
    }

    /// A branch of `core` went there.
    #[inline]
    pub fn learn_branch(&mut self, core: usize, branch: Branch, outcome: Outcome) {
        self.cores[core].learn(branch, outcome);
    }
}
