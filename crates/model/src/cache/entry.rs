//! An entry of a set holds a line's number, the state of its copy, and the replacement policy's state.
//!
//! ```text
//!   63 ............ 8 | 7 ... 4 | 3 2           | 1      | 0
//!   line number + 1   | 0       | re-reference  | shared | changed         0 as a whole: an empty way
//! ```

use crate::addr::{Hpa, LINE_BYTES};

/// A line that had to leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Victim {
    pub line: Hpa,
    /// it was changed and its memory does not know
    pub changed: bool,
}

/// State of a cache's copy of a line: MESI's states but Invalid, which is no entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineState {
    /// others may have it: read only
    Shared,
    /// nobody else has it, and memory or the LLC knows all of it: may be changed
    Exclusive,
    /// changed here
    Modified,
}

/// One way of a set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Entry(u64);

const CHANGED: u64 = 1;
const SHARED: u64 = 2;
const REREFERENCE: u32 = 2;
const LINE: u32 = 8;

impl Entry {
    /// The largest re-reference prediction value (SRRIP, two bits).
    pub const MOST_REREFERENCE: u8 = 3;

    pub fn new(line: Hpa, state: LineState) -> Entry {
        let mut entry = Entry((line.line_number() + 1) << LINE);
        entry.set_state(state);
        entry
    }

    #[inline]
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    #[inline]
    pub fn holds(self, line: Hpa) -> bool {
        self.0 >> LINE == line.line_number() + 1
    }

    /// The line that the way holds, if it is not empty.
    pub fn line(self) -> Option<Hpa> {
        (!self.is_empty()).then(|| Hpa::new(((self.0 >> LINE) - 1) * LINE_BYTES))
    }

    #[inline]
    pub fn state(self) -> LineState {
        match self.0 & (CHANGED | SHARED) {
            0 => LineState::Exclusive,
            SHARED => LineState::Shared,
            _ => LineState::Modified,
        }
    }

    #[inline]
    pub fn set_state(&mut self, state: LineState) {
        let bits = match state {
            LineState::Exclusive => 0,
            LineState::Shared => SHARED,
            LineState::Modified => CHANGED,
        };
        self.0 = self.0 & !(CHANGED | SHARED) | bits;
    }

    #[inline]
    pub fn rereference(self) -> u8 {
        (self.0 >> REREFERENCE) as u8 & Self::MOST_REREFERENCE
    }

    #[inline]
    pub fn set_rereference(&mut self, value: u8) {
        debug_assert!(value <= Self::MOST_REREFERENCE);
        self.0 = self.0 & !(u64::from(Self::MOST_REREFERENCE) << REREFERENCE) | u64::from(value) << REREFERENCE;
    }

    /// Victim that leaves if this way is taken.
    pub fn victim(self) -> Option<Victim> {
        self.line().map(|line| Victim { line, changed: self.state() == LineState::Modified })
    }
}
