//! A core's own caches, L1 data and L2.
//!
//! L2 holds all lines of L1, so that the home agent's snoop filter, which follows L2, knows all that a core has.
//! Assumption: Intel prints no inclusion of the two for Golden Cove.

use super::{CacheSpec, LineState, Reference, ReferenceKind, Tags, Victim};
use crate::addr::Hpa;

/// The cache that a line was found in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hit {
    L1,
    L2,
    /// nowhere, or without the right to change it
    Neither,
}

/// The cache of a core that a line comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nearest {
    L1,
    /// what L2's prefetchers read ahead
    L2,
}

/// State that a snoop leaves a line in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Snoop {
    Share,
    Invalidate,
}

/// L1 data cache and L2 of one core.
#[derive(Clone, Debug)]
pub struct Private {
    l1: Tags,
    l2: Tags,
    l1_sets: u64,
    l2_sets: u64,
}

impl Private {
    pub fn new(l1: &CacheSpec, l2: &CacheSpec) -> Result<Private, String> {
        let (l1_sets, l2_sets) = (l1.sets("l1")?, l2.sets("l2")?);
        Ok(Private { l1: l1.tags("l1")?, l2: l2.tags("l2")?, l1_sets, l2_sets })
    }

    #[inline]
    fn sets(&self, line: Hpa) -> (usize, usize) {
        let number = line.line_number();
        ((number & (self.l1_sets - 1)) as usize, (number & (self.l2_sets - 1)) as usize)
    }

    /// Look the line up; an L2 hit brings it to L1. A store changes what it may.
    #[inline]
    pub fn access(&mut self, line: Hpa, store: bool, by: Reference) -> Hit {
        if self.hits_l1(line, store, by) {
            Hit::L1
        } else if self.hits_l2(line, store, by) {
            Hit::L2
        } else {
            Hit::Neither
        }
    }

    /// Look the line up in L1. A store changes what it may; it misses a line that others have.
    #[inline]
    pub fn hits_l1(&mut self, line: Hpa, store: bool, by: Reference) -> bool {
        let (set1, _) = self.sets(line);
        let Some(entry) = self.l1.touch(set1, line, by) else { return false };
        if store {
            if entry.state() == LineState::Shared {
                return false;
            }
            entry.set_state(LineState::Modified);
        }
        true
    }

    /// Look the line up in L2, behind a miss of L1: a hit brings it to L1.
    #[inline]
    pub fn hits_l2(&mut self, line: Hpa, store: bool, by: Reference) -> bool {
        let (set1, set2) = self.sets(line);
        let Some(entry) = self.l2.touch(set2, line, by) else { return false };
        let state = match entry.state() {
            LineState::Shared if store => return false,
            LineState::Shared => LineState::Shared,
            LineState::Exclusive | LineState::Modified if store => LineState::Modified,
            LineState::Exclusive | LineState::Modified => LineState::Exclusive,
        };
        // A load and a store of one line may both have waited for a fill buffer.
        match self.l1.find(set1, line) {
            Some(above) if store => above.set_state(state),
            Some(_) => {}
            None => self.bring_to_l1(set1, line, state, by),
        }
        true
    }

    /// Whether L1 has the line; nothing is remembered of the look.
    #[inline]
    pub fn is_near(&self, line: Hpa) -> bool {
        self.l1.peek(self.sets(line).0, line).is_some()
    }

    /// The line that probably leaves L2 when this one comes.
    #[inline]
    pub fn likely_victim(&self, line: Hpa) -> Option<Hpa> {
        self.l2.likely_victim(self.sets(line).1)
    }

    /// A line has come from beyond: what has to leave for it.
    pub fn fill(&mut self, line: Hpa, state: LineState, by: Reference) -> Option<Victim> {
        let victim = self.fill_l2(line, state, by);
        let (set1, _) = self.sets(line);
        match self.l1.touch(set1, line, by) {
            Some(entry) => entry.set_state(state),
            None => self.bring_to_l1(set1, line, state, by),
        }
        victim
    }

    /// A prefetched line comes no nearer than L2: what has to leave for it.
    pub fn fill_l2(&mut self, line: Hpa, state: LineState, by: Reference) -> Option<Victim> {
        let (_, set2) = self.sets(line);
        if let Some(entry) = self.l2.touch(set2, line, by) {
            entry.set_state(state);
            return None;
        }
        let mut victim = self.l2.insert(set2, line, state, by)?;
        let (above, _) = self.sets(victim.line);
        let copy = self.l1.remove(above, victim.line);
        victim.changed |= copy.is_some_and(|entry| entry.state() == LineState::Modified);
        Some(victim)
    }

    /// State of the core's copy of the line, if it is here.
    #[must_use]
    pub fn state(&self, line: Hpa) -> Option<LineState> {
        let (set1, set2) = self.sets(line);
        let below = self.l2.peek(set2, line)?.state();
        let above = self.l1.peek(set1, line).map(super::entry::Entry::state);
        Some(if above == Some(LineState::Modified) { LineState::Modified } else { below })
    }

    /// The copies of a line in L1 and in L2; nothing is remembered of the look.
    #[must_use]
    pub fn copies(&self, line: Hpa) -> [Option<LineState>; 2] {
        let (set1, set2) = self.sets(line);
        [self.l1.peek(set1, line), self.l2.peek(set2, line)].map(|entry| entry.map(super::entry::Entry::state))
    }

    /// All lines of L1, and all of L2.
    pub fn lines(&self) -> [Vec<(Hpa, LineState)>; 2] {
        [&self.l1, &self.l2].map(|tags| tags.lines().collect())
    }

    /// Whether L2 has the line; nothing is remembered of the look.
    #[inline]
    pub fn holds(&self, line: Hpa) -> bool {
        let (_, set2) = self.sets(line);
        self.l2.peek(set2, line).is_some()
    }

    /// The home agent asks for the line: whether it was changed here; `None` if it is not here.
    pub fn snoop(&mut self, line: Hpa, snoop: Snoop) -> Option<bool> {
        let (set1, set2) = self.sets(line);
        let states = match snoop {
            Snoop::Invalidate => [self.l1.remove(set1, line), self.l2.remove(set2, line)]
                .map(|entry| entry.map(super::entry::Entry::state)),
            Snoop::Share => [self.l1.find(set1, line), self.l2.find(set2, line)].map(|entry| {
                entry.map(|entry| {
                    let state = entry.state();
                    entry.set_state(LineState::Shared);
                    state
                })
            }),
        };
        states[1].map(|_| states.contains(&Some(LineState::Modified)))
    }

    /// The line's memory will know it: whether it was changed.
    pub fn clean(&mut self, line: Hpa) -> bool {
        let (set1, set2) = self.sets(line);
        let mut changed = false;
        for entry in [self.l1.find(set1, line), self.l2.find(set2, line)].into_iter().flatten() {
            if entry.state() == LineState::Modified {
                entry.set_state(LineState::Exclusive);
                changed = true;
            }
        }
        changed
    }

    /// A changed victim of L1 goes into L2, which has its line.
    fn bring_to_l1(&mut self, set1: usize, line: Hpa, state: LineState, by: Reference) {
        let Some(victim) = self.l1.insert(set1, line, state, by).filter(|victim| victim.changed) else { return };
        let (_, below) = self.sets(victim.line);
        let leaves = Reference::of_core(by.core, ReferenceKind::WriteBack);
        self.l2.touch(below, victim.line, leaves).expect("L2 has what L1 has").set_state(LineState::Modified);
    }
}
