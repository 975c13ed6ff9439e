//! Coherence: what all private caches hold of a line, against each other and against the snoop filter.
//!
//! ```text
//!   after each event of a line: its copies in every L1 and L2, and what the filter knows --rules--> Broken
//!   after many events, and at rest: the same for every line that a cache holds
//! ```
//!
//! The rules are those of MESI with a directory (Nagarajan, Sorin, Hill, Wood, A Primer on Memory Consistency and Cache
//! Coherence, 2nd edition, 2020, 1.5 and 8.2): one writer or many readers; the directory knows every copy.
//! It sees states, not contents: a changed line that is dropped without a write is not found here. It cannot see a state that
//! is wrong between two looks and right again. On a machine of one core there is no filter, and only L1 within L2 is compared.

use std::collections::HashMap;

use cxlab_kernel::Time;

use super::Broken;
use crate::addr::Hpa;
use crate::cache::LineState;
use crate::request::CoreId;

/// What one core has of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Copy {
    pub core: CoreId,
    pub l1: Option<LineState>,
    pub l2: Option<LineState>,
}

/// What the snoop filter knows of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Known {
    Nobody,
    /// a bit for each core that may read it
    Shared(u64),
    Owned(CoreId),
}

/// How often it was looked.
#[derive(Clone, Debug, Default)]
pub struct Coherence {
    /// with a filter, and in all
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
    /// Events of lines that were checked against a filter.
    #[must_use]
    pub fn transitions(&self) -> u64 {
        self.transitions
    }

    /// Events of lines after which it was looked, with a filter or without.
    #[must_use]
    pub fn looks(&self) -> u64 {
        self.looks
    }

    /// Lines that were checked in walks.
    #[must_use]
    pub fn lines(&self) -> u64 {
        self.lines
    }

    /// Something has happened to a line: its copies, and what the filter knows, if there is one.
    ///
    /// # Errors
    /// The rule that they break.
    pub fn transition(&mut self, at: Time, line: Hpa, copies: &[Copy], known: Option<Known>) -> Result<(), Broken> {
        self.looks += 1;
        self.transitions += u64::from(known.is_some());
        check(at, line, copies, known)
    }

    /// All copies of all private caches. `known` says what the filter knows of a line, if there is one. `at_rest` is how many lines
    /// the filter knows if nothing is under way: it then knows the copies and no others.
    ///
    /// # Errors
    /// The rule that they break.
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
                // L1 and L2 come one after the other.
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

/// Nothing is under way: the filter knows these copies and no others.
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
