//! A core's own caches, L1 data and L2.

use super::{CacheSpec, Tags, Victim};
use crate::addr::Hpa;

/// Where a line was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hit {
    L1,
    L2,
    Neither,
}

/// L1 data cache and L2 of one core.
#[derive(Clone, Debug)]
pub struct Private {
    l1: Tags,
    l2: Tags,
}

/// Victims that left the core's caches for the LLC: an L1 fill may push one out of L2, and so may an L2 fill.
pub type Leaving = [Option<Victim>; 2];

impl Private {
    pub fn new(l1: &CacheSpec, l2: &CacheSpec) -> Result<Private, String> {
        Ok(Private { l1: l1.tags("l1")?, l2: l2.tags("l2")? })
    }

    /// Look the line up; an L2 hit brings it to L1, which may push a victim out.
    #[inline]
    pub fn access(&mut self, line: Hpa, store: bool) -> (Hit, Option<Victim>) {
        if self.l1.touch(line, store) {
            return (Hit::L1, None);
        }
        if self.l2.touch(line, false) {
            return (Hit::L2, self.bring_to_l1(line, store));
        }
        (Hit::Neither, None)
    }

    /// A line has come from beyond.
    pub fn fill(&mut self, line: Hpa, store: bool) -> Leaving {
        let from_l2 = self.l2.insert_or_touch(line, false);
        let from_l1 = if self.l1.touch(line, store) { None } else { self.bring_to_l1(line, store) };
        [from_l2, from_l1]
    }

    /// The line leaves both: whether it was changed.
    pub fn remove(&mut self, line: Hpa) -> bool {
        let (l1, l2) = (self.l1.remove(line), self.l2.remove(line));
        l1 == Some(true) || l2 == Some(true)
    }

    /// The line's memory will know it: whether it was changed.
    pub fn clean(&mut self, line: Hpa) -> bool {
        let (l1, l2) = (self.l1.clean(line), self.l2.clean(line));
        l1 || l2
    }

    /// A changed victim of L1 goes into L2, which may push out one of its own.
    fn bring_to_l1(&mut self, line: Hpa, store: bool) -> Option<Victim> {
        let victim = self.l1.insert(line, store)?;
        if victim.changed { self.l2.insert_or_touch(victim.line, true) } else { None }
    }
}
