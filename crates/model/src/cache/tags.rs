//! Tags: which lines a set-associative cache holds, in what state, and which leaves next.
//!
//! A set is a row of ways; a row of 12 to 16 entries is two lines of the host's cache. Who owns the tags says which
//! set a line belongs to: a core's caches index with the low bits, the LLC by slice and low bits.

use super::entry::Entry;
use super::replacement::Replacement;
use crate::addr::Hpa;

/// A line that had to leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Victim {
    pub line: Hpa,
    /// it was changed and its memory does not know
    pub changed: bool,
}

/// What a cache may do with its copy of a line: MESI's states but Invalid, which is no entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineState {
    /// others may have it: read only
    Shared,
    /// nobody else has it, and memory or the LLC knows all of it: may be changed
    Exclusive,
    /// changed here
    Modified,
}

/// The lines of one cache.
#[derive(Clone, Debug)]
pub struct Tags {
    rows: Vec<Entry>,
    /// a word for each set where the policy wants one
    words: Vec<u64>,
    ways: usize,
    policy: Replacement,
}

impl Tags {
    /// More ways than any cache of the field has; a tree-PLRU of them fits a word.
    pub const MOST_WAYS: u32 = 64;

    pub(super) fn new(sets: usize, ways: u32, policy: Replacement) -> Tags {
        let ways = ways as usize;
        Tags { rows: vec![Entry::default(); sets * ways], words: vec![0; sets * policy.words()], ways, policy }
    }

    #[inline]
    fn set(&mut self, set: usize) -> (&mut [Entry], Option<&mut u64>) {
        let start = set * self.ways;
        (&mut self.rows[start..start + self.ways], self.words.get_mut(set))
    }

    /// The line's entry if it is here; it becomes the one used last.
    #[inline]
    pub fn touch(&mut self, set: usize, line: Hpa) -> Option<&mut Entry> {
        let policy = self.policy;
        let (row, word) = self.set(set);
        let way = row.iter().position(|entry| entry.holds(line))?;
        let way = policy.used(row, word, way);
        Some(&mut row[way])
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
    pub fn insert(&mut self, set: usize, line: Hpa, state: LineState) -> Option<Victim> {
        debug_assert!(self.find(set, line).is_none(), "{line:?} is here already");
        let policy = self.policy;
        let (row, word) = self.set(set);
        let way = policy.victim(row, word.as_deref());
        let leaving = std::mem::replace(&mut row[way], Entry::new(line, state));
        policy.filled(row, word, way);
        leaving.victim()
    }

    /// The line leaves, if it is here: its entry.
    pub fn remove(&mut self, set: usize, line: Hpa) -> Option<Entry> {
        let policy = self.policy;
        let (row, _) = self.set(set);
        let way = row.iter().position(|entry| entry.holds(line))?;
        let entry = std::mem::take(&mut row[way]);
        policy.emptied(row, way);
        Some(entry)
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
