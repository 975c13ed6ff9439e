//! The tags say which lines a set-associative cache holds, in what state, and which leaves next.
//!
//! A set is a row of ways. A row of 12 to 16 entries is two lines of the host's cache. The owner of the tags says
//! which set a line belongs to. A core's caches index with the low bits, the LLC by slice and low bits.

use cxlab_kernel::host_cache;

use super::entry::{Entry, LineState, Victim};
use super::reference::Reference;
use super::replacement::{Policy, Replacement};
use crate::addr::Hpa;

/// The lines of one cache.
#[derive(Clone, Debug)]
pub struct Tags {
    rows: Vec<Entry>,
    ways: usize,
    policy: Policy,
}

impl Tags {
    /// More ways than any cache of the field has; a tree-PLRU of them fits a word.
    pub const MOST_WAYS: u32 = 64;

    pub(super) fn new(sets: usize, ways: u32, policy: Replacement) -> Tags {
        let ways = ways as usize;
        Tags { rows: vec![Entry::default(); sets * ways], ways, policy: policy.policy(sets, ways) }
    }

    #[inline]
    fn set(&mut self, set: usize) -> (&mut [Entry], &mut Policy) {
        let start = set * self.ways;
        (&mut self.rows[start..start + self.ways], &mut self.policy)
    }

    /// The line's entry if it is here; it becomes the one used last.
    #[inline]
    pub fn touch(&mut self, set: usize, line: Hpa, by: Reference) -> Option<&mut Entry> {
        let (row, policy) = self.set(set);
        let way = row.iter().position(|entry| entry.holds(line))?;
        let way = policy.used(set, row, way, by);
        Some(&mut row[way])
    }

    /// Lets the host fetch a set that will be looked at soon.
    #[inline]
    pub(super) fn expect(&self, set: usize) {
        let start = set * self.ways;
        host_cache::fetch(&self.rows[start..start + self.ways]);
    }

    /// The line that probably leaves the set next: it is right for LRU, and a guess for the other policies.
    #[inline]
    pub(super) fn likely_victim(&self, set: usize) -> Option<Hpa> {
        self.rows[set * self.ways + self.ways - 1].line()
    }

    /// The line's entry if it is here, to read.
    #[inline]
    pub fn peek(&self, set: usize, line: Hpa) -> Option<Entry> {
        let start = set * self.ways;
        self.rows[start..start + self.ways].iter().copied().find(|entry| entry.holds(line))
    }

    /// The line's entry if it is here; nothing is remembered of the look.
    #[inline]
    pub fn find(&mut self, set: usize, line: Hpa) -> Option<&mut Entry> {
        self.set(set).0.iter_mut().find(|entry| entry.holds(line))
    }

    /// Let a line in that is not here: what leaves for it.
    pub fn insert(&mut self, set: usize, line: Hpa, state: LineState, by: Reference) -> Option<Victim> {
        debug_assert!(self.find(set, line).is_none(), "{line:?} is here already");
        let (row, policy) = self.set(set);
        let way = policy.victim(set, row);
        let leaving = std::mem::replace(&mut row[way], Entry::new(line, state));
        policy.filled(set, row, way, by);
        leaving.victim()
    }

    /// The line leaves, if it is here: its entry.
    pub fn remove(&mut self, set: usize, line: Hpa) -> Option<Entry> {
        let (row, policy) = self.set(set);
        let way = row.iter().position(|entry| entry.holds(line))?;
        let entry = std::mem::take(&mut row[way]);
        policy.emptied(row, way);
        Some(entry)
    }

    /// All lines held, and their states.
    pub fn lines(&self) -> impl Iterator<Item = (Hpa, LineState)> {
        self.rows.iter().filter_map(|entry| Some((entry.line()?, entry.state())))
    }

    /// Lines held.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rows.iter().filter(|entry| !entry.is_empty()).count()
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
