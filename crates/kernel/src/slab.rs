//! A slab holds rows that live as long as a transaction. A small key addresses a row. Rows never move, and are
//! reused.

use std::marker::PhantomData;
use std::ops::{Index, IndexMut};

/// The address of a row of `T` in its slab.
pub struct Key<T>(u32, PhantomData<fn() -> T>);

impl<T> Key<T> {
    /// The place of the row, for those who carry it as a number and give it back with [`Key::from_index`].
    #[must_use]
    pub fn index(self) -> u32 {
        self.0
    }

    #[must_use]
    pub fn from_index(index: u32) -> Key<T> {
        Key(index, PhantomData)
    }
}

impl<T> Clone for Key<T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for Key<T> {}
impl<T> PartialEq for Key<T> {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}
impl<T> Eq for Key<T> {}
impl<T> std::fmt::Debug for Key<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "#{}", self.0)
    }
}

/// Rows of `T`; a removed row's key is given out again.
#[derive(Clone, Debug)]
pub struct Slab<T> {
    rows: Vec<Option<T>>,
    free: Vec<u32>,
}

impl<T> Slab<T> {
    #[must_use]
    pub fn new() -> Self {
        Slab { rows: Vec::new(), free: Vec::new() }
    }

    pub fn insert(&mut self, row: T) -> Key<T> {
        if let Some(index) = self.free.pop() {
            self.rows[index as usize] = Some(row);
            return Key(index, PhantomData);
        }
        let index = u32::try_from(self.rows.len()).expect("fewer than 2^32 transactions in flight");
        self.rows.push(Some(row));
        Key(index, PhantomData)
    }

    /// Take a row out. A key that is not in use is a bug of the caller.
    pub fn remove(&mut self, key: Key<T>) -> T {
        let row = self.rows[key.0 as usize].take().expect("the row is in use");
        self.free.push(key.0);
        row
    }

    /// Rows in use.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rows.len() - self.free.len()
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.rows.iter().flatten()
    }

    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.rows.iter_mut().flatten()
    }
}

impl<T> Default for Slab<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> Index<Key<T>> for Slab<T> {
    type Output = T;
    #[inline]
    fn index(&self, key: Key<T>) -> &T {
        self.rows[key.0 as usize].as_ref().expect("the row is in use")
    }
}

impl<T> IndexMut<Key<T>> for Slab<T> {
    #[inline]
    fn index_mut(&mut self, key: Key<T>) -> &mut T {
        self.rows[key.0 as usize].as_mut().expect("the row is in use")
    }
}
