//! Pages: how the guest translates an address, and what makes a processor forget it.
//!
//! ```text
//!   Page record: id 7 = a 4 KiB page, its walk reads PML4E, PDPTE, PDE, PTE at these addresses      once
//!                id 4 is replaced: no later record names it
//!   Access record: line, id 7, low bits of the page's number                                        every time
//! ```
//!
//! Not carried: access rights, accessed and dirty bits, memory types. Source: Intel SDM vol. 3, chapter 4.

use std::num::NonZeroU32;

/// A page of an address space as the guest's page tables map it, told once by a record. An id never outlives its
/// translation: when the tables change, the page gets a new one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PageId(pub NonZeroU32);

/// The sizes of pages of x86-64 (Intel SDM vol. 3, 4.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageSize {
    Kib4,
    Mib2,
    Gib1,
}

impl PageSize {
    pub const ALL: [PageSize; 3] = [PageSize::Kib4, PageSize::Mib2, PageSize::Gib1];

    /// Bytes as a power of two.
    #[must_use]
    pub const fn shift(self) -> u32 {
        match self {
            PageSize::Kib4 => 12,
            PageSize::Mib2 => 21,
            PageSize::Gib1 => 30,
        }
    }
}

/// The page that an access went through, in what an access has room for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Page {
    pub id: PageId,
    /// low bits of its number, in pages of its size (12), above its size (2): what chooses the set of a TLB
    place: u16,
}

impl Page {
    const SIZE_BITS: u32 = 2;
    const NUMBER_BITS: u32 = 12;

    /// The page number `number` of its size.
    #[must_use]
    pub const fn new(id: PageId, size: PageSize, number: u64) -> Page {
        let low = (number & ((1 << Self::NUMBER_BITS) - 1)) as u16;
        Page { id, place: low << Self::SIZE_BITS | size as u16 }
    }

    #[inline]
    #[must_use]
    pub const fn size(self) -> PageSize {
        match self.place & 3 {
            0 => PageSize::Kib4,
            1 => PageSize::Mib2,
            _ => PageSize::Gib1,
        }
    }

    /// Low bits of its number.
    #[inline]
    #[must_use]
    pub const fn low(self) -> usize {
        (self.place >> Self::SIZE_BITS) as usize
    }

    /// In 48 bits.
    pub(crate) const fn encode(page: Option<Page>) -> u64 {
        match page {
            None => 0,
            Some(page) => page.id.0.get() as u64 | (page.place as u64) << 32,
        }
    }

    pub(crate) const fn decode(bits: u64) -> Option<Page> {
        match NonZeroU32::new(bits as u32) {
            None => None,
            Some(id) => Some(Page { id: PageId(id), place: (bits >> 32) as u16 }),
        }
    }
}

/// Mapping of a page in the guest's page tables: the entries that a walk for it reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mapping {
    pub size: PageSize,
    /// process-context identifier (Intel SDM vol. 3, 4.10.1)
    pub pcid: u16,
    /// the same in all address spaces
    pub global: bool,
    /// in the upper half of the address space, the system's
    pub upper: bool,
    /// entries read by a whole walk, from the top: 2 to 5
    pub reads: u8,
    /// their host physical addresses `[B]`
    pub entries: [u64; Mapping::MOST_READS],
}

impl Mapping {
    /// Levels of page tables with 57-bit addresses.
    pub const MOST_READS: usize = 5;

    /// The page's first virtual address. Nine bits of the address choose each entry of a walk (Intel SDM vol. 3, 4.5).
    /// So the places of the entries in their tables give the address.
    #[must_use]
    pub fn address(&self) -> u64 {
        let reads = usize::from(self.reads).min(Mapping::MOST_READS);
        let number = self.entries[..reads].iter().fold(0, |number, entry| (number << 9) | ((entry & 0xfff) / 8));
        let (address, bits) = (number << self.size.shift(), 9 * reads as u32 + self.size.shift());
        if self.upper && bits < u64::BITS { address | u64::MAX << bits } else { address }
    }

    /// The entries from the bytes behind the record; `None` if they are too few.
    #[must_use]
    pub fn entries_of(bytes: &[u8]) -> Option<[u64; Mapping::MOST_READS]> {
        let mut words = bytes.chunks_exact(8);
        let mut entries = [0; Mapping::MOST_READS];
        for entry in &mut entries {
            *entry = u64::from_le_bytes(words.next()?.try_into().ok()?);
        }
        Some(entries)
    }
}

/// Translations that a change of page tables makes a vCPU forget (Intel SDM vol. 3, 4.10.4.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Forget {
    /// this page, and what is cached of the tables of its address space
    Page(PageId),
    /// what is cached of tables: the page was never used
    Tables,
    /// all pages of an address space that are not global
    Space {
        pcid: u16,
    },
    /// all pages that are not global
    Spaces,
    Everything,
}

impl Forget {
    pub(crate) fn encode(self) -> u64 {
        match self {
            Forget::Page(page) => u64::from(page.0.get()) << 8,
            Forget::Tables => 1,
            Forget::Space { pcid } => 2 | u64::from(pcid) << 8,
            Forget::Spaces => 3,
            Forget::Everything => 4,
        }
    }

    pub(crate) fn decode(word: u64) -> Option<Forget> {
        Some(match word & 0xff {
            0 => Forget::Page(PageId(NonZeroU32::new((word >> 8) as u32)?)),
            1 => Forget::Tables,
            2 => Forget::Space { pcid: (word >> 8 & 0xfff) as u16 },
            3 => Forget::Spaces,
            4 => Forget::Everything,
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Entries of tables at any place, as a walk of four or five levels for `address` reads them.
    fn mapping(address: u64, size: PageSize, levels: u32) -> Mapping {
        let reads = levels - (size.shift() - 12) / 9;
        let place = |level: u32| 0x1234_5000 + (address >> (12 + 9 * (levels - 1 - level)) & 0x1ff) * 8;
        let mut entries = [0; Mapping::MOST_READS];
        (0..reads).for_each(|level| entries[level as usize] = place(level));
        Mapping { size, pcid: 0, global: false, upper: address >> 63 == 1, reads: reads as u8, entries }
    }

    #[test]
    fn the_places_of_a_walks_entries_are_the_address() {
        for (address, size) in [
            (0x5555_5555_4000, PageSize::Kib4),
            (0x7fff_f7a0_0000, PageSize::Mib2),
            (0xffff_8880_4000_0000, PageSize::Gib1),
            (0xffff_ffff_8100_0000, PageSize::Mib2),
        ] {
            assert_eq!(mapping(address, size, 4).address(), address, "{address:#x}");
            assert_eq!(mapping(address, size, 5).address(), address, "{address:#x}, five levels");
        }
    }
}
