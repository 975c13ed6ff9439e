//! Pages: which translations the model has been told, and how the guest's page tables make a new one.
//!
//! ```text
//!   access --> slot of its page number: told, same space, same frame --> its id                       nearly always
//!          --> table of all that was told --> its id
//!          --> walk of the guest's page tables (CR3, physical memory) --> Page record, new id
//! ```
//!
//! What the guest invalidates is looked up anew and keeps its id if it is mapped as before. The upper half of the address
//! space is taken to be the same in all spaces, as Linux has it; an access whose frame is another one is looked up anew in
//! any case. Not told: access rights, accessed and dirty bits. Source: Intel SDM vol. 3, 4.5 and 4.10.

use std::num::NonZeroU32;

use cxlab_access::{Forget, Mapping, Page, PageId, PageSize};
use rustc_hash::FxHashMap;

/// Bits of an entry, and of CR3, that hold an address (Intel SDM vol. 3, table 4-12).
const ADDRESS: u64 = 0x000f_ffff_ffff_f000;
const PRESENT: u64 = 1;
/// The entry maps a page of 2 MiB or 1 GiB.
const MAPS_LARGE: u64 = 1 << 7;
const GLOBAL: u64 = 1 << 8;
const PCID: u64 = 0xfff;
/// CR4.LA57: tables of five levels.
const FIVE_LEVELS: u64 = 1 << 12;
/// CR4.PCIDE
const HAS_PCIDS: u64 = 1 << 17;
/// In what is moved to CR3: keep what is cached of the space.
const KEEPS: u64 = 1 << 63;
/// Slots of each size of pages.
const SLOTS: usize = 4096;

/// What selects a vCPU's page tables.
#[derive(Clone, Copy, Debug)]
struct Space {
    /// without [`KEEPS`]
    cr3: u64,
    cr4: u64,
}

/// Whose a page is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Owner {
    /// the kernel's half, the same in all spaces
    All,
    /// by its CR3
    Space(u64),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Key {
    owner: Owner,
    shift: u32,
    /// virtual address above the shift
    number: u64,
}

/// A page that the model knows.
#[derive(Clone, Copy, Debug)]
struct Told {
    key: Key,
    page: Page,
    /// physical address above the shift
    frame: u64,
    /// of the guest's invalidations when it was looked up; `None` after its own
    looked_up: Option<u64>,
}

impl Told {
    /// Whether it still says where `address` leads.
    #[inline]
    fn translates(&self, owner: Owner, address: u64, physical: u64, now: u64) -> bool {
        let shift = self.key.shift;
        self.key.number == address >> shift
            && self.frame == physical >> shift
            && self.key.owner == owner
            && self.looked_up == Some(now)
    }
}

/// What has been told.
pub struct Pages {
    /// of each vCPU; `None` until it is asked for
    spaces: Vec<Option<Space>>,
    /// last pages used, 4 KiB and larger ones, by the low bits of their numbers
    small: Box<[Option<Told>]>,
    large: Box<[Option<Told>]>,
    told: FxHashMap<Key, (Told, Mapping)>,
    /// invalidations of more than a page so far
    invalidations: u64,
    /// ids given
    ids: u32,
}

/// The owner of an address in a space.
#[inline]
fn owner(space: Space, address: u64) -> Owner {
    if address >> 63 == 1 { Owner::All } else { Owner::Space(space.cr3) }
}

fn slot(number: u64) -> usize {
    number as usize & (SLOTS - 1)
}

impl Pages {
    pub fn new(vcpus: usize) -> Pages {
        Pages {
            spaces: vec![None; vcpus],
            small: vec![None; SLOTS].into(),
            large: vec![None; SLOTS].into(),
            told: FxHashMap::default(),
            invalidations: 0,
            ids: 0,
        }
    }

    /// Detail begins: what happened to page tables before was not seen.
    pub fn begin(&mut self) {
        self.spaces.fill(None);
        self.invalidations += 1;
    }

    /// Whether the vCPU's space is not known, and is to be told by [`Pages::enter`].
    #[inline]
    pub fn asks_for_space(&self, vcpu: usize) -> bool {
        self.spaces[vcpu].is_none()
    }

    /// The vCPU's registers select this space.
    pub fn enter(&mut self, vcpu: usize, cr3: u64, cr4: u64) {
        self.spaces[vcpu] = Some(Space { cr3: cr3 & !KEEPS, cr4 });
    }

    /// The page through which `address` led to `physical`, and its mapping if the model has yet to be told. `None` if the
    /// page tables in `memory`, which reads eight bytes, say otherwise by now.
    #[inline]
    pub fn find(
        &mut self,
        vcpu: usize,
        address: u64,
        physical: u64,
        memory: impl Fn(u64) -> u64,
    ) -> Option<(Page, Option<Mapping>)> {
        let space = self.spaces[vcpu]?;
        let owner = owner(space, address);
        for (slots, size) in [(&self.small, PageSize::Kib4), (&self.large, PageSize::Mib2)] {
            if let Some(told) = &slots[slot(address >> size.shift())]
                && told.translates(owner, address, physical, self.invalidations)
            {
                return Some((told.page, None));
            }
        }
        self.look_further(space, address, physical, memory)
    }

    fn look_further(
        &mut self,
        space: Space,
        address: u64,
        physical: u64,
        memory: impl Fn(u64) -> u64,
    ) -> Option<(Page, Option<Mapping>)> {
        let owner = owner(space, address);
        for size in PageSize::ALL {
            let shift = size.shift();
            let key = Key { owner, shift, number: address >> shift };
            if let Some((told, _)) = self.told.get(&key).copied()
                && told.translates(owner, address, physical, self.invalidations)
            {
                self.use_slot(told, address);
                return Some((told.page, None));
            }
        }
        let (mapping, frame) = walk(space, address, memory)?;
        let shift = mapping.size.shift();
        if frame != physical >> shift {
            return None;
        }
        let key = Key { owner, shift, number: address >> shift };
        let before = self.told.get(&key).filter(|(told, before)| *before == mapping && told.frame == frame);
        let (page, news) = match before {
            Some((told, _)) => (told.page, None),
            None => (self.new_page(mapping.size, key.number), Some(mapping)),
        };
        let told = Told { key, page, frame, looked_up: Some(self.invalidations) };
        self.told.insert(key, (told, mapping));
        self.use_slot(told, address);
        Some((page, news))
    }

    fn use_slot(&mut self, told: Told, address: u64) {
        let (slots, size) = match told.page.size() {
            PageSize::Kib4 => (&mut self.small, PageSize::Kib4),
            // A page of 1 GiB takes a slot for each part of it that is used.
            PageSize::Mib2 | PageSize::Gib1 => (&mut self.large, PageSize::Mib2),
        };
        slots[slot(address >> size.shift())] = Some(told);
    }

    fn new_page(&mut self, size: PageSize, number: u64) -> Page {
        self.ids += 1;
        Page::new(PageId(NonZeroU32::new(self.ids).expect("fewer than 2^32 pages")), size, number)
    }

    /// `value` is moved to CR3: what the vCPU forgets, if anything.
    pub fn move_to_cr3(&mut self, vcpu: usize, value: u64) -> Option<Forget> {
        let space = self.spaces[vcpu]?;
        self.spaces[vcpu] = Some(Space { cr3: value & !KEEPS, ..space });
        let has_pcids = space.cr4 & HAS_PCIDS != 0;
        if has_pcids && value & KEEPS != 0 {
            return None;
        }
        self.invalidations += 1;
        Some(if has_pcids { Forget::Space { pcid: (value & PCID) as u16 } } else { Forget::Spaces })
    }

    /// `value` is moved to CR4.
    pub fn move_to_cr4(&mut self, vcpu: usize, value: u64) -> Option<Forget> {
        let space = self.spaces[vcpu]?;
        self.spaces[vcpu] = Some(Space { cr4: value, ..space });
        Some(self.forget_all(Forget::Everything))
    }

    /// More than one page is invalidated.
    pub fn forget_all(&mut self, forget: Forget) -> Forget {
        self.invalidations += 1;
        forget
    }

    /// The page of `address` is invalidated in the vCPU's space.
    pub fn forget_page(&mut self, vcpu: usize, address: u64) -> Option<Forget> {
        let owner = owner(self.spaces[vcpu]?, address);
        self.small[slot(address >> PageSize::Kib4.shift())] = None;
        self.large[slot(address >> PageSize::Mib2.shift())] = None;
        let key = |size: PageSize| Key { owner, shift: size.shift(), number: address >> size.shift() };
        let mut forget = Forget::Tables;
        for size in PageSize::ALL {
            if let Some((told, _)) = self.told.get_mut(&key(size)) {
                told.looked_up = None;
                forget = Forget::Page(told.page.id);
            }
        }
        Some(forget)
    }

    /// Whether `pcid` is that of the space in use.
    pub fn uses(&self, vcpu: usize, pcid: u16) -> bool {
        self.spaces[vcpu].is_some_and(|space| space.cr3 & PCID == u64::from(pcid))
    }
}

/// Walk the tables of a space: how the address is mapped, and the physical address above the size of its page.
fn walk(space: Space, address: u64, memory: impl Fn(u64) -> u64) -> Option<(Mapping, u64)> {
    let levels = if space.cr4 & FIVE_LEVELS == 0 { 4 } else { 5 };
    let pcid = if space.cr4 & HAS_PCIDS == 0 { 0 } else { (space.cr3 & PCID) as u16 };
    let upper = address >> 63 == 1;
    let entries = Default::default();
    let mut mapping = Mapping { size: PageSize::Kib4, pcid, global: false, upper, reads: 0, entries };
    let mut table = space.cr3 & ADDRESS;
    for level in (0..levels).rev() {
        let shift = 12 + 9 * level;
        let place = table + (address >> shift & 0x1ff) * 8;
        let entry = memory(place);
        mapping.entries[usize::from(mapping.reads)] = place;
        mapping.reads += 1;
        if entry & PRESENT == 0 {
            return None;
        }
        if level == 0 || (level <= 2 && entry & MAPS_LARGE != 0) {
            mapping.size = *PageSize::ALL.get(level as usize)?;
            mapping.global = entry & GLOBAL != 0;
            return Some((mapping, (entry & ADDRESS) >> shift));
        }
        table = entry & ADDRESS;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLES: u64 = 0x10_0000;
    const WRITABLE: u64 = 2;

    /// Tables of four levels at 1 MiB, one after the other, for the first GiB of the lower half.
    struct Memory(FxHashMap<u64, u64>);

    impl Memory {
        fn new() -> Memory {
            let next = |level: u64| (TABLES + (level + 1) * 4096) | PRESENT | WRITABLE;
            Memory([(TABLES, next(0)), (TABLES + 4096, next(1))].into_iter().collect())
        }

        fn map_4k(&mut self, address: u64, physical: u64) {
            self.0.insert(TABLES + 2 * 4096 + (address >> 21) * 8, (TABLES + 3 * 4096) | PRESENT);
            self.0.insert(TABLES + 3 * 4096 + (address >> 12 & 511) * 8, physical | PRESENT);
        }

        fn map_2m(&mut self, address: u64, physical: u64) {
            self.0.insert(TABLES + 2 * 4096 + (address >> 21) * 8, physical | PRESENT | MAPS_LARGE);
        }

        fn read(&self, address: u64) -> u64 {
            self.0.get(&address).copied().unwrap_or(0)
        }
    }

    fn pages() -> Pages {
        let mut pages = Pages::new(1);
        pages.enter(0, TABLES, 0);
        pages
    }

    #[test]
    fn a_page_is_told_once_with_what_a_walk_reads() {
        let (mut memory, mut pages) = (Memory::new(), pages());
        memory.map_4k(0x3000, 0x7000);
        let (page, news) = pages.find(0, 0x3008, 0x7008, |at| memory.read(at)).unwrap();
        let mapping = news.unwrap();
        assert_eq!((page.size(), page.low(), mapping.reads), (PageSize::Kib4, 3, 4));
        assert_eq!(mapping.entries[..4], [TABLES, TABLES + 0x1000, TABLES + 0x2000, TABLES + 0x3000 + 3 * 8]);
        assert_eq!(pages.find(0, 0x3ff8, 0x7ff8, |at| memory.read(at)), Some((page, None)));
    }

    #[test]
    fn a_large_page_is_one_page() {
        let (mut memory, mut pages) = (Memory::new(), pages());
        memory.map_2m(0x20_0000, 0x4000_0000);
        let (page, news) = pages.find(0, 0x20_0000, 0x4000_0000, |at| memory.read(at)).unwrap();
        assert_eq!((page.size(), news.unwrap().reads), (PageSize::Mib2, 3));
        assert_eq!(pages.find(0, 0x3f_f000, 0x401f_f000, |at| memory.read(at)), Some((page, None)));
    }

    #[test]
    fn a_page_keeps_its_id_where_it_is_mapped_as_before() {
        let (mut memory, mut pages) = (Memory::new(), pages());
        memory.map_4k(0x3000, 0x7000);
        let (page, _) = pages.find(0, 0x3000, 0x7000, |at| memory.read(at)).unwrap();
        assert_eq!(pages.move_to_cr3(0, TABLES), Some(Forget::Spaces));
        assert_eq!(pages.find(0, 0x3000, 0x7000, |at| memory.read(at)), Some((page, None)));
        assert_eq!(pages.forget_page(0, 0x3000), Some(Forget::Page(page.id)));
        memory.map_4k(0x3000, 0x8000);
        let (other, news) = pages.find(0, 0x3000, 0x8000, |at| memory.read(at)).unwrap();
        assert!(other.id != page.id && news.is_some());
    }

    #[test]
    fn a_large_page_that_is_split_is_another_one() {
        let (mut memory, mut pages) = (Memory::new(), pages());
        memory.map_2m(0, 0x4000_0000);
        let (large, _) = pages.find(0, 0x3000, 0x4000_3000, |at| memory.read(at)).unwrap();
        assert_eq!(pages.forget_page(0, 0), Some(Forget::Page(large.id)));
        memory.map_4k(0x3000, 0x4000_3000);
        let (small, news) = pages.find(0, 0x3000, 0x4000_3000, |at| memory.read(at)).unwrap();
        assert_eq!((small.size(), news.is_some()), (PageSize::Kib4, true));
    }

    #[test]
    fn spaces_with_identifiers_are_kept_apart_and_kept() {
        let (mut memory, mut pages) = (Memory::new(), pages());
        pages.enter(0, TABLES | 1, HAS_PCIDS);
        memory.map_4k(0x3000, 0x7000);
        let (first, news) = pages.find(0, 0x3000, 0x7000, |at| memory.read(at)).unwrap();
        assert_eq!(news.unwrap().pcid, 1);
        assert_eq!(pages.move_to_cr3(0, TABLES | 2 | KEEPS), None);
        let (second, _) = pages.find(0, 0x3000, 0x7000, |at| memory.read(at)).unwrap();
        assert!(first.id != second.id);
        assert_eq!(pages.move_to_cr3(0, TABLES | 1), Some(Forget::Space { pcid: 1 }));
        assert_eq!(pages.find(0, 0x3000, 0x7000, |at| memory.read(at)), Some((first, None)));
    }
}
