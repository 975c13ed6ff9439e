//! Pages: which translations the model has been told, and how the guest's page tables make a new one.
//!
//! ```text
//!   access --> slot of its page number: told, same space, same frame --> its id                       nearly always
//!          --> table of all that was told --> its id
//!          --> walk of the guest's page tables (CR3, physical memory) --> Page record, new id
//! ```
//!
//! A page that the guest invalidates is looked up anew. It keeps its id if it is mapped as before. The upper half of the
//! address space is taken to be the same in all spaces, as Linux has it. If the frame of an access differs, the page
//! is looked up anew in any case. The table keeps [`MOST_TOLD`] pages: memory does not grow with the pages that a
//! guest has ever mapped, neither here nor in the model. Not told: access rights, accessed and dirty bits. Source:
//! Intel SDM vol. 3, 4.5 and 4.10.

mod slots;
mod table;
mod told;

use std::num::NonZeroU32;

use cxlab_access::{Forget, Mapping, Page, PageId, PageSize};

use self::slots::Slots;
use self::table::Table;
use self::told::{Key, Owner, Told};

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
/// Pages that the model knows at most: 1 GiB in pages of 4 KiB, more than a hundred times what a TLB holds.
const MOST_TOLD: usize = 1 << 18;

/// Registers that select a vCPU's page tables.
#[derive(Clone, Copy, Debug)]
struct Space {
    /// without [`KEEPS`]
    cr3: u64,
    cr4: u64,
}

/// A page that the model has yet to be told of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct News {
    pub mapping: Mapping,
    /// a page that no later record names
    pub replaces: Option<PageId>,
}

/// Pages that the model has been told.
pub struct Pages {
    /// of each vCPU; `None` until it is asked for
    spaces: Vec<Option<Space>>,
    slots: Slots,
    table: Table,
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

impl Pages {
    pub fn new(vcpus: usize) -> Pages {
        Pages::with_room(vcpus, MOST_TOLD)
    }

    fn with_room(vcpus: usize, most: usize) -> Pages {
        let (slots, table) = (Slots::new(), Table::new(most));
        Pages { spaces: vec![None; vcpus], slots, table, invalidations: 0, ids: 0 }
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

    /// The page through which `address` led to `physical`, and its news if the model has yet to be told. `None` if the
    /// page tables in `memory`, which reads eight bytes, say otherwise by now.
    #[inline]
    pub fn find(
        &mut self,
        vcpu: usize,
        address: u64,
        physical: u64,
        memory: impl Fn(u64) -> u64,
    ) -> Option<(Page, Option<News>)> {
        let space = self.spaces[vcpu]?;
        let owner = owner(space, address);
        if let Some(told) = self.slots.find(owner, address, physical, self.invalidations) {
            return Some((told.page, None));
        }
        self.look_further(space, address, physical, memory)
    }

    fn look_further(
        &mut self,
        space: Space,
        address: u64,
        physical: u64,
        memory: impl Fn(u64) -> u64,
    ) -> Option<(Page, Option<News>)> {
        let owner = owner(space, address);
        for size in PageSize::ALL {
            let shift = size.shift();
            let key = Key { owner, shift, number: address >> shift };
            if let Some((told, _)) = self.table.find(&key)
                && told.translates(owner, address, physical, self.invalidations)
            {
                self.slots.put(*told, address);
                return Some((told.page, None));
            }
        }
        let (mapping, frame) = walk(space, address, memory)?;
        let shift = mapping.size.shift();
        if frame != physical >> shift {
            return None;
        }
        let key = Key { owner, shift, number: address >> shift };
        let looked_up = Some(self.invalidations);
        if let Some((told, before)) = self.table.find(&key)
            && *before == mapping
            && told.frame == frame
        {
            told.looked_up = looked_up;
            self.slots.put(*told, address);
            return Some((told.page, None));
        }
        let page = self.new_page(mapping.size, key.number);
        let told = Told { key, page, frame, looked_up };
        // It has a slot when it is used again: what is used once is the first to leave.
        let replaces = self.table.insert(told, mapping, &mut self.slots);
        Some((page, Some(News { mapping, replaces })))
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
        self.slots.empty(address);
        let key = |size: PageSize| Key { owner, shift: size.shift(), number: address >> size.shift() };
        let mut forget = Forget::Tables;
        for size in PageSize::ALL {
            if let Some((told, _)) = self.table.find(&key(size)) {
                told.looked_up = None;
                self.slots.take(told);
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
    use std::collections::{HashMap, HashSet};

    use super::*;

    const TABLES: u64 = 0x10_0000;
    const WRITABLE: u64 = 2;

    /// Tables of four levels at 1 MiB, one after the other, for the first GiB of the lower half.
    struct Memory(HashMap<u64, u64>);

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
        let mapping = news.unwrap().mapping;
        assert_eq!((page.size(), page.low(), mapping.reads), (PageSize::Kib4, 3, 4));
        assert_eq!(mapping.entries[..4], [TABLES, TABLES + 0x1000, TABLES + 0x2000, TABLES + 0x3000 + 3 * 8]);
        assert_eq!(pages.find(0, 0x3ff8, 0x7ff8, |at| memory.read(at)), Some((page, None)));
    }

    #[test]
    fn a_large_page_is_one_page() {
        let (mut memory, mut pages) = (Memory::new(), pages());
        memory.map_2m(0x20_0000, 0x4000_0000);
        let (page, news) = pages.find(0, 0x20_0000, 0x4000_0000, |at| memory.read(at)).unwrap();
        assert_eq!((page.size(), news.unwrap().mapping.reads), (PageSize::Mib2, 3));
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
        assert_eq!(news.unwrap().mapping.pcid, 1);
        assert_eq!(pages.move_to_cr3(0, TABLES | 2 | KEEPS), None);
        let (second, _) = pages.find(0, 0x3000, 0x7000, |at| memory.read(at)).unwrap();
        assert!(first.id != second.id);
        assert_eq!(pages.move_to_cr3(0, TABLES | 1), Some(Forget::Space { pcid: 1 }));
        assert_eq!(pages.find(0, 0x3000, 0x7000, |at| memory.read(at)), Some((first, None)));
    }

    #[test]
    fn a_guest_that_maps_pages_without_end_leaves_as_many_as_there_is_room_for() {
        const ROOM: usize = 64;
        let mut pages = Pages::with_room(1, ROOM);
        pages.enter(0, TABLES, 0);
        let (mut memory, mut live, mut most) = (Memory::new(), HashSet::new(), 0);
        let mut random = 1u64;
        for turn in 0..200_000u64 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let address = (random >> 33) % 512 * 4096;
            let physical = (1 << 30) + (turn % 1000) * 4096;
            memory.map_4k(address, physical);
            if turn % 3 == 0 {
                pages.forget_page(0, address);
            }
            let (page, news) = pages.find(0, address, physical, |at| memory.read(at)).unwrap();
            match news {
                Some(News { replaces, .. }) => {
                    if let Some(replaced) = replaces {
                        assert!(live.remove(&replaced), "{replaced:?} is replaced twice");
                    }
                    assert!(live.insert(page.id), "{page:?} is told twice");
                }
                None => assert!(live.contains(&page.id), "{page:?} is named after it was replaced"),
            }
            if let Some(Forget::Page(page)) = pages.forget_page(0, random % 512 * 4096) {
                assert!(live.contains(&page), "{page:?} is forgotten after it was replaced");
            }
            most = most.max(live.len());
        }
        assert_eq!(most, ROOM);
    }

    #[test]
    fn a_page_in_use_stays_where_others_come_and_go() {
        let (mut memory, mut pages) = (Memory::new(), Pages::with_room(1, 8));
        pages.enter(0, TABLES, 0);
        memory.map_4k(0x3000, 0x7000);
        let (page, _) = pages.find(0, 0x3000, 0x7000, |at| memory.read(at)).unwrap();
        for number in 4..500u64 {
            memory.map_4k(number << 12, 1 << 30);
            pages.find(0, number << 12, 1 << 30, |at| memory.read(at)).unwrap();
            assert_eq!(pages.find(0, 0x3000, 0x7000, |at| memory.read(at)), Some((page, None)), "{number}");
        }
    }
}
