//! A page that the model has been told of.

use cxlab_access::Page;

/// The address space that a page belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Owner {
    /// the kernel's half, the same in all spaces
    All,
    /// by its CR3
    Space(u64),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Key {
    pub owner: Owner,
    pub shift: u32,
    /// virtual address above the shift
    pub number: u64,
}

/// A page that the model knows.
#[derive(Clone, Copy, Debug)]
pub struct Told {
    pub key: Key,
    pub page: Page,
    /// physical address above the shift
    pub frame: u64,
    /// of the guest's invalidations when it was looked up; `None` after its own
    pub looked_up: Option<u64>,
}

impl Told {
    /// Whether it still says where `address` leads.
    #[inline]
    pub fn translates(&self, owner: Owner, address: u64, physical: u64, now: u64) -> bool {
        let shift = self.key.shift;
        self.key.number == address >> shift
            && self.frame == physical >> shift
            && self.key.owner == owner
            && self.looked_up == Some(now)
    }
}
