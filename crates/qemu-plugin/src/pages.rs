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

use crate::qemu;
use crate::registers::Registers;

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
    mapping: Mapping,
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
    told: FxHashMap<Key, Told>,
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

    #[inline]
    fn space(&mut self, vcpu: usize) -> Option<Space> {
        if self.spaces[vcpu].is_none() {
            let registers = Registers::get();
            let (cr3, cr4) = (registers.control(c"cr3")?, registers.control(c"cr4")?);
            self.spaces[vcpu] = Some(Space { cr3: cr3 & !KEEPS, cr4 });
        }
        self.spaces[vcpu]
    }

    /// The page through which `address` led to `physical`, and its mapping if the model has yet to be told. `None` if the
    /// page tables say otherwise by now.
    #[inline]
    pub fn find(&mut self, vcpu: usize, address: u64, physical: u64) -> Option<(Page, Option<Mapping>)> {
        let space = self.space(vcpu)?;
        let owner = owner(space, address);
        for (slots, size) in [(&self.small, PageSize::Kib4), (&self.large, PageSize::Mib2)] {
            if let Some(told) = &slots[slot(address >> size.shift())]
                && told.translates(owner, address, physical, self.invalidations)
            {
                return Some((told.page, None));
            }
        }
        self.look_further(space, address, physical)
    }

    fn look_further(&mut self, space: Space, address: u64, physical: u64) -> Option<(Page, Option<Mapping>)> {
        let owner = owner(space, address);
        for size in PageSize::ALL {
            let shift = size.shift();
            let key = Key { owner, shift, number: address >> shift };
            if let Some(told) = self.told.get(&key).copied()
                && told.translates(owner, address, physical, self.invalidations)
            {
                self.use_slot(told, address);
                return Some((told.page, None));
            }
        }
        let (mapping, frame) = walk(space, address)?;
        let shift = mapping.size.shift();
        if frame != physical >> shift {
            return None;
        }
        let key = Key { owner, shift, number: address >> shift };
        let before = self.told.get(&key).filter(|told| told.mapping == mapping && told.frame == frame);
        let (page, news) = match before {
            Some(told) => (told.page, None),
            None => (self.new_page(mapping.size, key.number), Some(mapping)),
        };
        let told = Told { key, page, mapping, frame, looked_up: Some(self.invalidations) };
        self.told.insert(key, told);
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
        let space = self.space(vcpu)?;
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
        let space = self.space(vcpu)?;
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
        let owner = owner(self.space(vcpu)?, address);
        self.small[slot(address >> PageSize::Kib4.shift())] = None;
        self.large[slot(address >> PageSize::Mib2.shift())] = None;
        let key = |size: PageSize| Key { owner, shift: size.shift(), number: address >> size.shift() };
        let mut forget = Forget::Tables;
        for size in PageSize::ALL {
            if let Some(told) = self.told.get_mut(&key(size)) {
                told.looked_up = None;
                forget = Forget::Page(told.page.id);
            }
        }
        Some(forget)
    }

    /// Whether `pcid` is that of the space in use.
    pub fn uses(&mut self, vcpu: usize, pcid: u16) -> bool {
        self.space(vcpu).is_some_and(|space| space.cr3 & PCID == u64::from(pcid))
    }
}

/// Walk the tables of a space: how the address is mapped, and the physical address above the size of its page.
fn walk(space: Space, address: u64) -> Option<(Mapping, u64)> {
    let levels = if space.cr4 & FIVE_LEVELS == 0 { 4 } else { 5 };
    let pcid = if space.cr4 & HAS_PCIDS == 0 { 0 } else { (space.cr3 & PCID) as u16 };
    let mut mapping = Mapping { size: PageSize::Kib4, pcid, global: false, reads: 0, entries: Default::default() };
    let mut table = space.cr3 & ADDRESS;
    for level in (0..levels).rev() {
        let shift = 12 + 9 * level;
        let place = table + (address >> shift & 0x1ff) * 8;
        let entry = qemu::read_physical(place);
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
