//! The page policy: whether a bank stays open after a column command.
//!
//! Open closes only on a conflict or for a refresh. Closed precharges with the last column command that waits for the
//! row. Adaptive keeps a two-bit counter for each bank, as branch predictors do. A conflict says that the row should
//! have been closed. An activate of the row that was just closed says that it should have stayed open. Adaptive closes
//! at once if another row already waits.

use schemars::JsonSchema;

use serde::{Deserialize, Serialize};

use super::shape::BankIndex;

/// Whether rows are left open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PagePolicy {
    Open,
    Closed,
    Adaptive,
}

/// Least count at which the row is left open.
const OPEN_FROM: u8 = 2;
const MOST: u8 = 3;

#[derive(Clone, Copy, Debug)]
struct History {
    /// 0..=3, two-bit saturating counter
    counter: u8,
    /// the row that the policy closed last
    closed: Option<u32>,
}

/// A policy, and the state of each bank that it has learnt.
#[derive(Clone, Debug)]
pub struct Pages {
    policy: PagePolicy,
    banks: Vec<History>,
}

impl Pages {
    #[must_use]
    pub fn new(policy: PagePolicy, banks: u32) -> Pages {
        Pages { policy, banks: vec![History { counter: OPEN_FROM, closed: None }; banks as usize] }
    }

    /// Whether the column command to `bank` closes it. The flags say whether requests wait for its row, or for another
    /// row.
    #[must_use]
    pub fn closes(&self, bank: BankIndex, hits_wait: bool, other_row_waits: bool) -> bool {
        match self.policy {
            PagePolicy::Open => false,
            PagePolicy::Closed => !hits_wait,
            PagePolicy::Adaptive => !hits_wait && (other_row_waits || self.banks[bank.0 as usize].counter < OPEN_FROM),
        }
    }

    /// Notes that the policy has closed `row`.
    pub fn closed(&mut self, bank: BankIndex, row: u32) {
        self.banks[bank.0 as usize].closed = Some(row);
    }

    /// Notes that `row` is opened.
    pub fn activated(&mut self, bank: BankIndex, row: u32) {
        let history = &mut self.banks[bank.0 as usize];
        if history.closed.take() == Some(row) {
            history.counter = (history.counter + 1).min(MOST);
        }
    }

    /// Notes that an open row had to be closed for another row.
    pub fn conflicted(&mut self, bank: BankIndex) {
        let history = &mut self.banks[bank.0 as usize];
        history.counter = history.counter.saturating_sub(1);
    }
}
