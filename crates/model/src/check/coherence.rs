//! Coherence: it compares the copies of a line in all private caches with each other and with the snoop filter.
//!
//! ```text
//!   after each event of a line: its copies in every L1 and L2, and what the filter knows --rules--> Broken
//!   after many events, and at rest: the same for every line that a cache holds
//! ```
//!
//! The rules are those of MESI with a directory: one writer or many readers, and the directory knows every copy.
//! Source: Nagarajan, Sorin, Hill, Wood, A Primer on Memory Consistency and Cache Coherence, 2nd edition, 2020, 1.5 and
//! 8.2. The checker sees states, not contents, so it does not find a changed line that is dropped without a write. It
//! cannot see a state that is wrong between two looks and right again. A machine of one core has no filter, and the
//! checker only compares L1 with L2.

use std::collections::HashMap;

use cxlab_kernel::Time;

use super::Broken;
use crate::addr::Hpa;
use crate::cache::LineState;
use crate::request::CoreId;

/// A core's copies of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Copy {
    pub core: CoreId,
    pub l1: Option<LineState>,
    pub l2: Option<LineState>,
}

/// State of a line in the snoop filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Known {
    Nobody,
    /// a bit for each core that may read the line
    Shared(u64),
    Owned(CoreId),
}

/// Counts of the comparisons.
#[derive(Clone, Debug, Default)]
pub struct Coherence {
    /// events of lines that were compared with a filter
    transitions: u64,
    looks: u64,
    lines: u64,
}

const MAY_CHANGE: [Option<LineState>; 2] = [Some(LineState::Exclusive), Some(LineState::Modified)];

impl Copy {
    fn may_change(&self) -> bool {
        MAY_CHANGE.contains(&self.l1) || MAY_CHANGE.contains(&self.l2)
    }
}

impl Coherence {
    /// Number of events of lines that were compared with a filter.
    #[must_use]
    pub fn transitions(&self) -> u64 {
        self.transitions
    }

    /// Number of events of lines after which the copies were compared, with a filter or without.
    #[must_use]
    pub fn looks(&self) -> u64 {
        self.looks
    }

    /// Number of lines that were compared in walks.
    #[must_use]
    pub fn lines(&self) -> u64 {
        self.lines
    }

    /// Compares the copies of a line after an event, with each other and with the filter's state, if there is a filter.
    ///
    /// # Errors
    /// Names the rule that the copies break.
    pub fn transition(&mut self, at: Time, line: Hpa, copies: &[Copy], known: Option<Known>) -> Result<(), Broken> {
        self.looks += 1;
        self.transitions += u64::from(known.is_some());
        check(at, line, copies, known)
    }

    /// Compares all copies of all private caches. `known` gives the filter's state of a line, if there is a filter.
    /// `at_rest` is the number of lines in the filter if nothing is under way. The filter must then know exactly the
    /// copies.
    ///
    /// # Errors
    /// Names the rule that the copies break.
    pub fn walk(
        &mut self,
        at: Time,
        copies: impl Iterator<Item = (Hpa, Copy)>,
        known: impl Fn(Hpa) -> Option<Known>,
        at_rest: Option<usize>,
    ) -> Result<(), Broken> {
        let mut lines: HashMap<Hpa, Vec<Copy>> = HashMap::new();
        for (line, copy) in copies {
            let of_line = lines.entry(line).or_default();
            match of_line.iter_mut().find(|other| other.core == copy.core) {
                // The lines of L1 and of L2 come separately.
                Some(other) => (other.l1, other.l2) = (other.l1.or(copy.l1), other.l2.or(copy.l2)),
                None => of_line.push(copy),
            }
        }
        for (line, of_line) in &lines {
            self.lines += 1;
            check(at, *line, of_line, known(*line))?;
            if at_rest.is_some() {
                exact(at, *line, of_line, known(*line))?;
            }
        }
        match at_rest {
            Some(count) if count != lines.len() => {
                let what = format!("the snoop filter knows {count} lines, the caches hold {}", lines.len());
                Err(Broken::new("at rest the directory knows the copies and no others", "snoop filter", at, what))
            }
            _ => Ok(()),
        }
    }
}

fn check(at: Time, line: Hpa, copies: &[Copy], known: Option<Known>) -> Result<(), Broken> {
    let broken = |rule: &str| {
        let what = format!("copies {copies:?}, the snoop filter knows {known:?}");
        Err(Broken::new(rule, format!("line {:#x}", line.get()), at, what))
    };
    if copies.iter().any(|copy| copy.l1.is_some() && copy.l2.is_none()) {
        return broken("L2 holds what L1 holds");
    }
    if copies.iter().any(|copy| MAY_CHANGE.contains(&copy.l1) && copy.l2 == Some(LineState::Shared)) {
        return broken("L1 has no more rights than L2");
    }
    let Some(known) = known else { return Ok(()) };
    let writers = copies.iter().filter(|copy| copy.may_change()).count();
    if writers > 1 {
        return broken("one owner at most");
    }
    if writers == 1 && copies.len() > 1 {
        return broken("one writer or many readers");
    }
    for copy in copies {
        let is_known = match known {
            Known::Nobody => false,
            Known::Shared(cores) => cores >> copy.core.0 & 1 == 1,
            Known::Owned(owner) => owner == copy.core,
        };
        if !is_known {
            return broken("the directory knows every copy");
        }
        if copy.may_change() && !matches!(known, Known::Owned(_)) {
            return broken("the directory knows who may change a line");
        }
    }
    Ok(())
}

/// Checks, while nothing is under way, that the filter knows exactly these copies.
fn exact(at: Time, line: Hpa, copies: &[Copy], known: Option<Known>) -> Result<(), Broken> {
    let held = copies.iter().fold(0u64, |cores, copy| cores | 1 << copy.core.0);
    let known_cores = match known {
        None => return Ok(()),
        Some(Known::Nobody) => 0,
        Some(Known::Shared(cores)) => cores,
        Some(Known::Owned(owner)) => 1 << owner.0,
    };
    if known_cores == held {
        return Ok(());
    }
    let what = format!("cores {held:#b} hold it, the snoop filter knows {known_cores:#b} (a bit for each core)");
    let place = format!("line {:#x}", line.get());
    Err(Broken::new("at rest the directory knows the copies and no others", place, at, what))
}
