//! The shape of a sub-channel: ranks of groups of banks, numbered in sequence, and tables with a value for each bank.

use std::ops::{Index, IndexMut};

use super::command::BankAddress;

/// A bank's number over all ranks and groups of its sub-channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BankIndex(pub u32);

/// The numbers of ranks, groups and banks, all powers of two.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    pub ranks: u32,
    pub groups: u32,
    pub banks_per_group: u32,
}

impl Shape {
    #[must_use]
    pub fn banks(self) -> u32 {
        self.ranks * self.groups * self.banks_per_group
    }

    #[inline]
    #[must_use]
    pub fn index(self, to: BankAddress) -> BankIndex {
        BankIndex((to.rank * self.groups + to.group) * self.banks_per_group + to.bank)
    }

    #[inline]
    #[must_use]
    pub fn address(self, index: BankIndex) -> BankAddress {
        let group = index.0 >> self.banks_per_group.trailing_zeros();
        BankAddress {
            rank: group >> self.groups.trailing_zeros(),
            group: group & (self.groups - 1),
            bank: index.0 & (self.banks_per_group - 1),
        }
    }

    /// The banks of `rank`.
    pub fn of_rank(self, rank: u32) -> impl Iterator<Item = BankIndex> + use<> {
        let banks = self.groups * self.banks_per_group;
        (rank * banks..(rank + 1) * banks).map(BankIndex)
    }

    /// A bit for each bank of `rank`.
    #[inline]
    #[must_use]
    pub fn mask_of_rank(self, rank: u32) -> u128 {
        let banks = self.groups * self.banks_per_group;
        (u128::MAX >> (u128::BITS - banks)) << (rank * banks)
    }

    /// Bank `bank` of each group of `rank`.
    pub fn same_bank(self, rank: u32, bank: u32) -> impl Iterator<Item = BankIndex> {
        (0..self.groups).map(move |group| self.index(BankAddress { rank, group, bank }))
    }
}

/// A value for each bank: a table of fixed size, so that an index needs no check.
#[derive(Clone, Debug)]
pub struct PerBank<T>([T; MOST_BANKS as usize]);

/// Most banks of a sub-channel: 4 ranks of DDR5.
pub const MOST_BANKS: u32 = 128;

impl<T: Copy> PerBank<T> {
    #[must_use]
    pub fn new(value: T) -> Self {
        PerBank([value; MOST_BANKS as usize])
    }
}

impl<T> Index<BankIndex> for PerBank<T> {
    type Output = T;
    #[inline]
    fn index(&self, bank: BankIndex) -> &T {
        &self.0[(bank.0 % MOST_BANKS) as usize]
    }
}

impl<T> IndexMut<BankIndex> for PerBank<T> {
    #[inline]
    fn index_mut(&mut self, bank: BankIndex) -> &mut T {
        &mut self.0[(bank.0 % MOST_BANKS) as usize]
    }
}
