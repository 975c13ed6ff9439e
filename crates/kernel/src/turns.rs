//! Turns: a queue that serves one waiter of each source, then the next waiter of each.
//!
//! ```text
//!   source A  a1 a2 a3 \
//!   source B  b1        >--> a1 b1 c1 a2 c2 a3
//!   source C  c1 c2    /
//! ```
//!
//! A source that begins to wait comes after one more waiter of each waiting source, and not after all of their waiters.
//! Within a source the order is kept. Source: start-time fair queueing with equal weights and lengths (Goyal, Vin and
//! Cheng, SIGCOMM 1996).

use std::collections::VecDeque;

/// A queue of waiters. Each waiter has a source.
#[derive(Clone, Debug)]
pub struct Turns<W> {
    /// waiters with the rounds in which they are served, in the order of service
    waiting: VecDeque<(u64, W)>,
    /// the round that is being served
    round: u64,
    /// the last round that each source has a place in
    last: Box<[u64]>,
}

impl<W> Turns<W> {
    #[must_use]
    pub fn new(sources: usize) -> Turns<W> {
        Turns { waiting: VecDeque::new(), round: 0, last: vec![0; sources].into() }
    }

    /// Adds a waiter of a source.
    pub fn push(&mut self, source: usize, waiter: W) {
        let round = self.round.max(self.last[source]) + 1;
        self.last[source] = round;
        let place = self.waiting.iter().rposition(|(earlier, _)| *earlier <= round).map_or(0, |last| last + 1);
        self.waiting.insert(place, (round, waiter));
    }

    /// Takes the waiter whose turn it is.
    pub fn pop(&mut self) -> Option<W> {
        let (round, waiter) = self.waiting.pop_front()?;
        self.round = round;
        Some(waiter)
    }

    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_of_each_source_is_served_in_a_round() {
        let mut turns = Turns::new(3);
        for (source, waiter) in [(0, "a1"), (0, "a2"), (0, "a3"), (1, "b1"), (2, "c1"), (2, "c2")] {
            turns.push(source, waiter);
        }
        let served: Vec<_> = std::iter::from_fn(|| turns.pop()).collect();
        assert_eq!(served, ["a1", "b1", "c1", "a2", "c2", "a3"]);
    }

    #[test]
    fn who_begins_to_wait_has_no_credit_from_when_it_did_not() {
        let mut turns = Turns::new(2);
        for number in 0..8 {
            turns.push(0, ('a', number));
        }
        let first: Vec<_> = (0..4).filter_map(|_| turns.pop()).collect();
        assert_eq!(first, [('a', 0), ('a', 1), ('a', 2), ('a', 3)]);
        turns.push(1, ('b', 0));
        turns.push(1, ('b', 1));
        // The new source comes after the waiter that is next already, and then the two take turns.
        let rest: Vec<_> = (0..4).filter_map(|_| turns.pop()).collect();
        assert_eq!(rest, [('a', 4), ('b', 0), ('a', 5), ('b', 1)]);
    }
}
