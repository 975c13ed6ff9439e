//! The store queue, in program order: a store has an entry from dispatch until its line is changed in L1.
//!
//! A store requests its line when it is committed, so several lines can be under way. It leaves the queue when its own
//! line is there and all earlier stores have left (x86-TSO; Intel SDM vol. 3, 8.2.2).

use cxlab_kernel::Time;

use super::order::StoreNumber;

#[derive(Clone, Copy, Debug, Default)]
struct Store {
    /// when it was committed; `None` before
    committed: Option<Time>,
    /// lines that are not there yet
    waiting: u32,
    /// when the last of its lines came `[ps]`
    filled: Time,
    /// when it left the queue `[ps]`; only meaningful below `drained`
    left: Time,
}

/// Stores between dispatch and L1.
#[derive(Clone, Debug)]
pub struct StoreQueue {
    /// a power of two, which is at least the number of entries
    ring: Box<[Store]>,
    entries: u64,
    dispatched: StoreNumber,
    drained: StoreNumber,
    /// when the last store left
    last: Time,
    period: Time,
}

impl StoreQueue {
    pub fn new(entries: u32, period: Time) -> StoreQueue {
        let ring = vec![Store::default(); entries.next_power_of_two() as usize].into();
        StoreQueue { ring, entries: u64::from(entries), dispatched: 0, drained: 0, last: Time::ZERO, period }
    }

    fn place(&self, number: StoreNumber) -> usize {
        number as usize & (self.ring.len() - 1)
    }

    /// When the next store finds a free entry; `None` if that is not known yet.
    #[inline]
    pub fn room_at(&self) -> Option<Time> {
        let Some(before) = self.dispatched.checked_sub(self.entries) else { return Some(Time::ZERO) };
        (before < self.drained).then(|| self.ring[self.place(before)].left)
    }

    /// When the last store left; `None` if a store is still in the queue.
    pub fn all_left(&self) -> Option<Time> {
        (self.drained == self.dispatched).then_some(self.last)
    }

    /// The number that the next store will have.
    pub fn next(&self) -> StoreNumber {
        self.dispatched
    }

    /// When the last store before `number` left; `None` if one has not left. No store from `number` on has left.
    pub fn left_before(&self, number: StoreNumber) -> Option<Time> {
        (self.drained >= number).then_some(self.last)
    }

    /// Whether the store is in the queue at `at`.
    #[inline]
    pub fn holds(&self, number: StoreNumber, at: Time) -> bool {
        let forgotten = self.dispatched - number > self.entries;
        !forgotten && (number >= self.drained || self.ring[self.place(number)].left > at)
    }

    pub fn dispatch(&mut self) -> StoreNumber {
        let number = self.dispatched;
        self.dispatched += 1;
        let place = self.place(number);
        self.ring[place] = Store::default();
        number
    }

    /// Commits a store. `waiting` of its lines are on their way, and the others are there at `filled`.
    pub fn commit(&mut self, number: StoreNumber, at: Time, waiting: u32, filled: Time) {
        let place = self.place(number);
        let store = &mut self.ring[place];
        store.committed = Some(at);
        store.waiting += waiting;
        store.filled = store.filled.max(filled);
        self.drain();
    }

    /// Counts one line of the store that has come.
    pub fn filled(&mut self, number: StoreNumber, at: Time) {
        let place = self.place(number);
        let store = &mut self.ring[place];
        store.waiting -= 1;
        store.filled = store.filled.max(at);
        self.drain();
    }

    fn drain(&mut self) {
        while self.drained < self.dispatched {
            let place = self.place(self.drained);
            let store = &mut self.ring[place];
            let Some(committed) = store.committed.filter(|_| store.waiting == 0) else { return };
            store.left = committed.max(store.filled).max(self.last + self.period);
            self.last = store.left;
            self.drained += 1;
        }
    }
}
