//! Cores that go on before the next event, and how far the first of them may go.
//!
//! ```text
//!   core 0  |=========>            runs from 0 ns
//!   core 1  |    ^ 3 ns            goes on here, and its request is at a home agent at 3 ns + the shortest way
//!   core 0  |=========+=====>|     so core 0 may run as far as that before core 1 has its turn
//! ```
//!
//! Between two events cores touch nothing that another core sees. What a core asks for is an event at a home agent. It
//! comes there no sooner than over the shortest way from any core to any slice. Another core may have run so far ahead.
//! A core's turn is then a hundred instructions instead of those of one cycle. Not modelled: the order within that span
//! of flushed lines, which enter the LLC at once.
//!
//! Source: conservative look-ahead of Chandy and Misra, "Distributed simulation", IEEE TSE 1979.

use std::collections::VecDeque;

use cxlab_kernel::Time;

/// A core that goes on.
#[derive(Clone, Copy, Debug)]
struct GoesOn {
    core: usize,
    /// it does nothing before
    at: Time,
}

/// Cores in the order of their turns. The first one runs.
#[derive(Clone, Debug)]
pub(super) struct Runnable {
    turns: VecDeque<GoesOn>,
    /// others see nothing sooner of what a core does
    look_ahead: Time,
    /// the first may run so far; `None`: as far as the next event
    limit: Option<Time>,
}

impl Runnable {
    pub fn new(look_ahead: Time) -> Runnable {
        Runnable { turns: VecDeque::new(), look_ahead, limit: None }
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.turns.is_empty()
    }

    /// The core whose turn it is. It may run as far as the others let it.
    #[inline]
    pub fn begin(&mut self) -> Option<usize> {
        let core = self.turns.front()?.core;
        self.limit = self.others_go_on().map(|at| at + self.look_ahead);
        Some(core)
    }

    /// The first has had its turn.
    #[inline]
    pub fn end(&mut self) {
        self.turns.pop_front();
    }

    /// A core goes on, no sooner than at `at`.
    #[inline]
    pub fn push(&mut self, core: usize, at: Time) {
        let limit = at + self.look_ahead;
        self.limit = Some(self.limit.map_or(limit, |before| before.min(limit)));
        self.turns.push_back(GoesOn { core, at });
    }

    pub fn remove(&mut self, core: usize) {
        self.turns.retain(|turn| turn.core != core);
    }

    /// When the first of the others goes on.
    pub fn others_go_on(&self) -> Option<Time> {
        self.turns.iter().skip(1).map(|turn| turn.at).min()
    }

    /// Whether the first may act at `at` before another that goes on at `due`, and before all others.
    pub fn lets_pass(&self, due: Time, at: Time) -> bool {
        at <= due + self.look_ahead && !self.is_too_far(at)
    }

    /// Whether the others have to come nearer before the first acts at `at`.
    #[inline]
    pub fn is_too_far(&self, at: Time) -> bool {
        self.limit.is_some_and(|limit| at > limit)
    }
}

#[cfg(test)]
mod tests;
