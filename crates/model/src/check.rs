//! Checkers that a run can carry. Each checker sees the actions of one part of the machine, and shares no code with
//! that part.
//!
//! ```text
//!   part --what it did--> checker: a shadow, or a rule of a standard --Broken--> the run ends with RUN008
//! ```
//!
//! The checkers of DRAM commands and of flash operations are beside their media. `machine/checks.rs` feeds them all. A
//! run without `--check` has no checkers, and its parts keep no logs.

mod clock;
mod coherence;
mod links;
mod translations;

use cxlab_kernel::Time;
use schemars::JsonSchema;
use serde::Serialize;

pub use clock::Clock;
pub use coherence::{Coherence, Copy, Known};
pub use links::{Lane, LinkEvent, Links, Slots, Toward, Wires};
pub use translations::Translations;

/// A rule that a part has broken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// the rule, in the words of the standard
    pub rule: String,
    /// the component
    pub place: String,
    /// simulated time
    pub at: Time,
    /// observed fact
    pub what: String,
}

impl Broken {
    /// Reports a broken rule. Used by checkers that say all in one sentence.
    #[must_use]
    pub fn new(rule: impl Into<String>, place: impl Into<String>, at: Time, what: impl Into<String>) -> Broken {
        Broken { rule: rule.into(), place: place.into(), at, what: what.into() }
    }
}

/// How often each kind of thing was checked in a run that broke no rule.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Checked {
    /// DRAM commands held to JEDEC's timing and to the state of rows
    pub dram_commands: u64,
    /// flash operations held to the order of programs, reads and erases
    pub flash_operations: u64,
    /// events of a line after which all private caches and the snoop filter were compared
    pub coherence_transitions: u64,
    /// lines compared in walks over all private caches
    pub cached_lines: u64,
    /// CXL messages matched with their answers and held to the rate of their link
    pub cxl_messages: u64,
    /// CXL link credits taken or given back
    pub cxl_credits: u64,
    /// 68 B flits whose slots were counted again
    pub cxl_flits: u64,
    /// translations of TLBs compared with the page tables
    pub translations: u64,
    /// times that were compared with the time before, component by component
    pub times: u64,
}
