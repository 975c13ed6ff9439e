//! The TLBs of a core, and its caches of the upper page tables.

use cxlab_kernel::Time;

use super::{Array, Forget, Mapping, Page, PageId, PageSize, Scope, TlbSpec};

/// First level: one array, or one more for large pages.
#[derive(Clone, Debug)]
struct First {
    small: Array,
    large: Option<Array>,
    /// the page found last, which is the one used last: from when on it is known
    last: Option<(PageId, Time)>,
}

/// Entries of one level of the tables, the one used last first.
#[derive(Clone, Debug)]
struct Known {
    entries: Vec<u64>,
    most: usize,
}

/// First level, second level, structure caches.
#[derive(Clone, Debug)]
pub struct Tlb {
    loads: First,
    stores: Option<First>,
    second: Array,
    /// entries that map 2 MiB, 1 GiB, more
    known: [Known; 3],
}

impl First {
    fn new(small: Array, large: Option<Array>) -> First {
        First { small, large, last: None }
    }

    #[inline]
    fn array(&mut self, page: Page) -> &mut Array {
        match &mut self.large {
            Some(large) if page.size() != PageSize::Kib4 => large,
            _ => &mut self.small,
        }
    }

    #[inline]
    fn find(&mut self, page: Page) -> Option<Time> {
        if let Some((last, since)) = self.last
            && last == page.id
        {
            return Some(since);
        }
        self.find_again(page)
    }

    #[inline(never)]
    fn find_again(&mut self, page: Page) -> Option<Time> {
        let (since, _) = self.array(page).find(page)?;
        self.last = Some((page.id, since));
        Some(since)
    }

    fn insert(&mut self, page: Page, scope: Scope, since: Time) {
        self.array(page).insert(page, scope, since);
        self.last = Some((page.id, since));
    }

    fn retain(&mut self, keep: impl Fn(PageId, Scope) -> bool) {
        self.small.retain(&keep);
        if let Some(large) = &mut self.large {
            large.retain(keep);
        }
        self.last = None;
    }
}

impl Known {
    fn new(most: u32) -> Known {
        Known { entries: Vec::with_capacity(most as usize + 1), most: most as usize }
    }

    /// Whether the entry is known; it becomes the one used last.
    fn touch(&mut self, entry: u64) -> bool {
        let Some(place) = self.entries.iter().position(|known| *known == entry) else { return false };
        self.entries[..=place].rotate_right(1);
        true
    }

    fn insert(&mut self, entry: u64) {
        if !self.touch(entry) {
            self.entries.insert(0, entry);
            self.entries.truncate(self.most);
        }
    }
}

impl Tlb {
    #[must_use]
    pub fn new(spec: &TlbSpec) -> Tlb {
        Tlb {
            loads: First::new(Array::new(&spec.load), spec.load_large.as_ref().map(Array::new)),
            stores: spec.store.as_ref().map(|store| First::new(Array::new(store), None)),
            second: Array::new(&spec.second),
            known: [*spec.directory_entries, *spec.pointer_entries, *spec.top_entries].map(Known::new),
        }
    }

    #[inline]
    fn first_level(&mut self, store: bool) -> &mut First {
        match &mut self.stores {
            Some(stores) if store => stores,
            _ => &mut self.loads,
        }
    }

    /// From when on the first level knows the page, if it does.
    #[inline]
    pub fn first(&mut self, page: Page, store: bool) -> Option<Time> {
        self.first_level(store).find(page)
    }

    /// From when on the second level knows the page, if it does, and its scope.
    pub fn second(&mut self, page: Page) -> Option<(Time, Scope)> {
        self.second.find(page)
    }

    /// The second level's answer comes into the first.
    pub fn promote(&mut self, page: Page, scope: Scope, store: bool, since: Time) {
        self.first_level(store).insert(page, scope, since);
    }

    /// A walk for the page has ended.
    pub fn fill(&mut self, page: Page, scope: Scope, store: bool, since: Time) {
        self.second.insert(page, scope, since);
        self.promote(page, scope, store, since);
    }

    /// Level of the structure caches that an entry of a walk belongs to. `None` for the last, which maps the page.
    fn level(mapping: &Mapping, read: usize) -> Option<usize> {
        let below = usize::from(mapping.reads).checked_sub(read + 2)?;
        let last = match mapping.size {
            PageSize::Kib4 => 0,
            PageSize::Mib2 => 1,
            PageSize::Gib1 => 2,
        };
        Some((below + last).min(2))
    }

    /// The entry that a walk reads first: the one below what is known of the tables.
    pub fn first_read(&mut self, mapping: &Mapping) -> usize {
        for read in (0..usize::from(mapping.reads)).rev() {
            let known = |level: usize| self.known[level].touch(mapping.entries[read]);
            if Self::level(mapping, read).is_some_and(known) {
                return read + 1;
            }
        }
        0
    }

    /// A walk has read an entry.
    pub fn has_read(&mut self, mapping: &Mapping, read: usize) {
        if let Some(level) = Self::level(mapping, read) {
            self.known[level].insert(mapping.entries[read]);
        }
    }

    /// Forget what the guest has invalidated. What is cached of tables goes with every kind of it.
    pub fn forget(&mut self, forget: Forget) {
        for known in &mut self.known {
            known.entries.clear();
        }
        match forget {
            Forget::Tables => {}
            Forget::Page(page) => self.retain(|held, _| held != page),
            Forget::Space { pcid } => self.retain(|_, scope| scope.global || scope.pcid != pcid),
            Forget::Spaces => self.retain(|_, scope| scope.global),
            Forget::Everything => self.retain(|_, _| false),
        }
    }

    fn retain(&mut self, keep: impl Fn(PageId, Scope) -> bool) {
        self.loads.retain(&keep);
        if let Some(stores) = &mut self.stores {
            stores.retain(&keep);
        }
        self.second.retain(keep);
    }
}
