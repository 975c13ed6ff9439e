//! A queue of a controller. It keeps its requests by bank, so that a scheduler looks at banks and not at requests.
//!
//! ```text
//!   backlog (in order, unbounded, counted) -> [ depth entries ] -> bank 0: oldest .. youngest
//!                                                                  bank 1: ..         ^ first hit
//! ```

use std::collections::VecDeque;

use cxlab_kernel::Time;

use super::clock::Cycles;
use super::shape::{BankIndex, PerBank};
use crate::mem::Tag;

/// State of a request's bank when it was the request's turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RowOutcome {
    /// its row was open
    Hit,
    /// no row was open
    Miss,
    /// another row was open
    Conflict,
}

/// A request that waits for its column command.
#[derive(Clone, Copy, Debug)]
pub struct Waiting {
    /// arrival number, smaller is older
    pub order: u64,
    pub arrived: Time,
    /// from this cycle on the request goes before all others
    pub overdue: Cycles,
    pub bank: BankIndex,
    pub row: u32,
    pub column: u32,
    pub tag: Tag,
    pub outcome: RowOutcome,
}

#[derive(Clone, Debug, Default)]
struct BankQueue {
    /// oldest first
    waiting: Vec<Waiting>,
    /// the oldest request for the open row
    hit: Option<usize>,
}

/// Requests of one kind: reads or writes.
#[derive(Clone, Debug)]
pub struct Queue {
    depth: usize,
    len: usize,
    banks: Vec<BankQueue>,
    /// a bit for each bank with requests
    occupied: u128,
    /// a bit for each bank with a request for its open row
    hits: u128,
    /// the order of each bank's oldest request, and of its oldest hit
    oldest_order: PerBank<u64>,
    hit_order: PerBank<u64>,
    /// no request is overdue before this
    none_overdue_before: Cycles,
    backlog: VecDeque<Waiting>,
}

impl Queue {
    #[must_use]
    pub fn new(depth: usize, banks: u32) -> Queue {
        Queue {
            depth,
            len: 0,
            banks: vec![BankQueue::default(); banks as usize],
            occupied: 0,
            hits: 0,
            oldest_order: PerBank::new(0),
            hit_order: PerBank::new(0),
            none_overdue_before: Cycles(0),
            backlog: VecDeque::new(),
        }
    }

    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    #[must_use]
    pub fn is_full(&self) -> bool {
        self.len == self.depth
    }

    /// A bit for each bank with requests.
    #[inline]
    #[must_use]
    pub fn occupied(&self) -> u128 {
        self.occupied
    }

    /// The oldest request of `bank`, which must have one.
    #[inline]
    #[must_use]
    pub fn oldest(&self, bank: BankIndex) -> &Waiting {
        &self.banks[bank.0 as usize].waiting[0]
    }

    /// A bit for each bank with a request for its open row.
    #[inline]
    #[must_use]
    pub fn hits(&self) -> u128 {
        self.hits
    }

    /// The order of each bank's oldest request, for banks with requests.
    #[inline]
    #[must_use]
    pub fn oldest_order(&self) -> &PerBank<u64> {
        &self.oldest_order
    }

    /// The order of each bank's oldest hit, for banks with hits.
    #[inline]
    #[must_use]
    pub fn hit_order(&self) -> &PerBank<u64> {
        &self.hit_order
    }

    /// The bank in `mask` with the oldest request that is overdue at `now`.
    pub fn overdue(&mut self, now: Cycles, mut mask: u128) -> Option<BankIndex> {
        if now < self.none_overdue_before {
            return None;
        }
        let oldest = self.banks.iter().filter_map(|queue| queue.waiting.first());
        self.none_overdue_before = oldest.map(|waiting| waiting.overdue).min().unwrap_or_default();
        let mut best: Option<BankIndex> = None;
        while mask != 0 {
            let bank = BankIndex(mask.trailing_zeros());
            mask &= mask - 1;
            if self.oldest(bank).overdue <= now
                && best.is_none_or(|best| self.oldest_order[bank] < self.oldest_order[best])
            {
                best = Some(bank);
            }
        }
        best
    }

    /// Lets a request wait before the full queue.
    pub fn hold(&mut self, request: Waiting) {
        self.backlog.push_back(request);
    }

    /// Takes the first request that waits before the queue, if the queue has room now.
    pub fn next_held(&mut self) -> Option<Waiting> {
        if self.is_full() { None } else { self.backlog.pop_front() }
    }

    /// Takes in a request whose bank has `open_row` open. Returns whether the bank's next command changed.
    pub fn admit(&mut self, request: Waiting, open_row: Option<u32>) -> bool {
        debug_assert!(!self.is_full());
        if self.len == 0 {
            self.none_overdue_before = request.overdue;
        }
        self.len += 1;
        let bit = 1 << request.bank.0;
        let queue = &mut self.banks[request.bank.0 as usize];
        queue.waiting.push(request);
        let first = queue.waiting.len() == 1;
        if first {
            self.occupied |= bit;
            self.oldest_order[request.bank] = request.order;
        }
        if queue.hit.is_none() && open_row == Some(request.row) {
            queue.hit = Some(queue.waiting.len() - 1);
            self.hits |= bit;
            self.hit_order[request.bank] = request.order;
            return true;
        }
        first
    }

    /// Takes the first hit of `bank` out of the queue.
    pub fn take_hit(&mut self, bank: BankIndex) -> Waiting {
        let queue = &mut self.banks[bank.0 as usize];
        let index = queue.hit.expect("a column command is planned for a hit only");
        let request = queue.waiting.remove(index);
        self.len -= 1;
        match queue.waiting.first() {
            Some(oldest) => self.oldest_order[bank] = oldest.order,
            None => self.occupied &= !(1 << bank.0),
        }
        self.find_hit(bank, Some(request.row));
        request
    }

    /// Finds the hit of `bank` after its row changed to `open_row`.
    pub fn find_hit(&mut self, bank: BankIndex, open_row: Option<u32>) {
        let queue = &mut self.banks[bank.0 as usize];
        if queue.waiting.is_empty() && queue.hit.is_none() {
            return;
        }
        queue.hit = open_row.and_then(|row| queue.waiting.iter().position(|waiting| waiting.row == row));
        match queue.hit {
            Some(hit) => {
                self.hits |= 1 << bank.0;
                self.hit_order[bank] = queue.waiting[hit].order;
            }
            None => self.hits &= !(1 << bank.0),
        }
    }

    /// Drops the hits of these banks, whose rows are closed.
    pub fn lose_hits(&mut self, banks: u128) {
        let mut lost = self.hits & banks;
        self.hits &= !banks;
        while lost != 0 {
            self.banks[lost.trailing_zeros() as usize].hit = None;
            lost &= lost - 1;
        }
    }

    /// Notes that the oldest request of `bank` needs at least `outcome`.
    pub fn note(&mut self, bank: BankIndex, outcome: RowOutcome) {
        if let Some(oldest) = self.banks[bank.0 as usize].waiting.first_mut() {
            oldest.outcome = oldest.outcome.max(outcome);
        }
    }

    /// Whether a request of `bank` is for that row and column.
    #[must_use]
    pub fn contains(&self, bank: BankIndex, row: u32, column: u32) -> bool {
        let waiting = &self.banks[bank.0 as usize].waiting;
        waiting.iter().any(|waiting| waiting.row == row && waiting.column == column)
    }

    /// Whether `bank` has a request for another row than `row`.
    #[must_use]
    pub fn wants_other_row(&self, bank: BankIndex, row: u32) -> bool {
        self.banks[bank.0 as usize].waiting.iter().any(|waiting| waiting.row != row)
    }
}
