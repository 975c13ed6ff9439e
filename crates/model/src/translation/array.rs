//! An array of translations in sets of ways. The translation that was unused longest leaves.

use cxlab_kernel::Time;

use super::{ArraySpec, Page, PageId, PageSize, Scope};

/// Pages whose ways are remembered.
const HINTS: usize = 64;

/// Pages held, and since when.
#[derive(Clone, Debug)]
pub struct Array {
    /// id of each way's page, set by set; `None` if it is empty
    pages: Box<[Option<PageId>]>,
    /// when each was used last, counted in uses; 0 if it is empty
    used: Box<[u64]>,
    /// from when on each is known: a walk's end may lie ahead
    since: Box<[Time]>,
    scopes: Box<[Scope]>,
    /// the way in which a page was found last, by the page's low bits
    found: Box<[u16; HINTS]>,
    uses: u64,
    ways: usize,
    large_ways: usize,
    /// sets - 1
    mask: usize,
}

impl Array {
    #[must_use]
    pub fn new(spec: &ArraySpec) -> Array {
        let (entries, ways) = (*spec.entries as usize, *spec.ways as usize);
        Array {
            pages: vec![None; entries].into(),
            used: vec![0; entries].into(),
            since: vec![Time::ZERO; entries].into(),
            scopes: vec![Scope::default(); entries].into(),
            found: Box::new([0; HINTS]),
            uses: 0,
            ways,
            large_ways: *spec.large_ways as usize,
            mask: entries / ways - 1,
        }
    }

    /// The ways in which the page may be.
    #[inline]
    fn row(&self, page: Page) -> std::ops::Range<usize> {
        let first = (page.low() & self.mask) * self.ways;
        let ways = if page.size() == PageSize::Kib4 { self.ways } else { self.large_ways };
        first..first + ways
    }

    /// From when on the page is known, if it is, and its scope; it becomes the one used last.
    #[inline]
    pub fn find(&mut self, page: Page) -> Option<(Time, Scope)> {
        // A page is in one way at most, so the way where it was found last needs no search.
        let hint = page.low() % HINTS;
        let mut way = usize::from(self.found[hint]);
        if self.pages[way] != Some(page.id) {
            let row = self.row(page);
            way = row.start + self.pages[row].iter().position(|held| *held == Some(page.id))?;
            self.found[hint] = way as u16;
        }
        self.uses += 1;
        self.used[way] = self.uses;
        Some((self.since[way], self.scopes[way]))
    }

    /// Let a page in that is not here; the one unused longest leaves.
    pub fn insert(&mut self, page: Page, scope: Scope, since: Time) {
        let row = self.row(page);
        let Some(way) = row.min_by_key(|way| self.used[*way]) else { return };
        self.uses += 1;
        (self.pages[way], self.used[way], self.since[way]) = (Some(page.id), self.uses, since);
        self.scopes[way] = scope;
    }

    /// Forget all pages but those to keep.
    pub fn retain(&mut self, keep: impl Fn(PageId, Scope) -> bool) {
        for ((held, used), scope) in self.pages.iter_mut().zip(&mut self.used).zip(&self.scopes) {
            if held.is_some_and(|page| !keep(page, *scope)) {
                (*held, *used) = (None, 0);
            }
        }
    }
}
