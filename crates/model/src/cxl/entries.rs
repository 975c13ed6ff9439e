//! Counts the entries of a buffer. Some are on their way back, and known to be free at a later time.
//!
//! ```text
//!   take --> held --> give_back(at) --> returning until `at` --> free
//! ```
//!
//! `cxlab_kernel::Credits` give a credit back at once. Here the giver knows when: a credit that flies back over
//! the wire, a FIFO entry whose message has its place on the wire. Conserved: free + held + returning = total.

use std::collections::VecDeque;

use cxlab_kernel::Time;

use crate::mem::{AccessKind, Tag};

/// Entries, each with a note `N` that it brings back.
#[derive(Clone, Debug)]
pub struct Entries<N = ()> {
    total: u32,
    free: u32,
    /// when each comes back `[ps]`, in that order
    returning: VecDeque<(Time, N)>,
}

impl<N: Copy> Entries<N> {
    pub fn new(total: u32) -> Self {
        Entries { total, free: total, returning: VecDeque::with_capacity(total as usize) }
    }

    /// So many that there is always one more.
    pub fn unbounded() -> Self {
        Entries { total: u32::MAX, free: u32::MAX, returning: VecDeque::new() }
    }

    /// Count those that are back by `now` as free; `back` reads each one's note, in the order of return.
    pub fn settle(&mut self, now: Time, mut back: impl FnMut(N)) {
        while let Some(&(at, note)) = self.returning.front() {
            if at > now {
                break;
            }
            self.returning.pop_front();
            self.free += 1;
            back(note);
        }
    }

    /// Take one that is free.
    pub fn take(&mut self) -> bool {
        let taken = self.free > 0;
        self.free -= u32::from(taken);
        taken
    }

    /// Take the next that is free at `at` or known to come back later: when it is the caller's.
    pub fn take_ahead(&mut self, at: Time) -> Option<Time> {
        self.settle(at, |_| {});
        if self.take() {
            return Some(at);
        }
        self.returning.pop_front().map(|(back, _)| back)
    }

    /// One that is held is back at `at`.
    pub fn give_back(&mut self, at: Time, note: N) {
        assert!(self.held() > 0, "an entry came back that nobody held");
        if self.returning.back().is_none_or(|(latest, _)| *latest <= at) {
            self.returning.push_back((at, note));
            return;
        }
        // A response has overtaken others, by a flit or two.
        let place = self.returning.iter().rposition(|(earlier, _)| *earlier <= at).map_or(0, |last| last + 1);
        self.returning.insert(place, (at, note));
    }

    /// When the next one is back, if any is on its way.
    pub fn next_return(&self) -> Option<Time> {
        self.returning.front().map(|(at, _)| *at)
    }

    pub fn free(&self) -> u32 {
        self.free
    }

    pub fn held(&self) -> u32 {
        self.total - self.free - self.returning.len() as u32
    }

    /// Not free: held or on their way back.
    pub fn used(&self) -> u32 {
        self.total - self.free
    }

    /// Not free at `now`, which has not been settled yet.
    pub fn used_at(&self, now: Time) -> u32 {
        let back = self.returning.iter().take_while(|(at, _)| *at <= now).count();
        self.used() - back as u32
    }
}

/// Entries and the FIFO of those who wait for one.
#[derive(Clone, Debug)]
pub struct Gate {
    entries: Entries,
    waiting: VecDeque<Tag>,
    /// a wake that is scheduled `[ps]`
    woken: Option<Time>,
}

impl Gate {
    pub fn new(total: u32) -> Gate {
        Gate { entries: Entries::new(total), waiting: VecDeque::new(), woken: None }
    }

    /// Whether an entry is `tag`'s now; else it waits behind all who wait.
    pub fn enter(&mut self, now: Time, tag: Tag) -> bool {
        if self.waiting.is_empty() {
            self.entries.settle(now, |()| {});
            if self.entries.take() {
                return true;
            }
        }
        self.join(tag);
        false
    }

    /// Admit the first that waits, if an entry is free.
    pub fn admit(&mut self, now: Time) -> Option<Tag> {
        self.entries.settle(now, |()| {});
        let tag = *self.waiting.front()?;
        self.entries.take().then(|| {
            self.waiting.pop_front();
            tag
        })
    }

    pub fn join(&mut self, tag: Tag) {
        self.waiting.push_back(tag);
    }

    /// Admit the first that waits, if an entry is free at `at` or known to come back: when it has it.
    pub fn admit_ahead(&mut self, at: Time) -> Option<(Tag, Time)> {
        let tag = *self.waiting.front()?;
        let since = self.entries.take_ahead(at)?;
        self.waiting.pop_front();
        Some((tag, since))
    }

    pub fn give_back(&mut self, at: Time) {
        self.entries.give_back(at, ());
    }

    /// When to try again, if that is known and no wake is on its way.
    pub fn next_wake(&mut self, now: Time) -> Option<Time> {
        self.waiting.front()?;
        let at = self.entries.next_return()?;
        let sooner = self.woken.is_none_or(|woken| woken <= now || at < woken);
        sooner.then(|| *self.woken.insert(at))
    }

    /// Requests that have an entry or wait for one.
    pub fn requests(&mut self, now: Time) -> u32 {
        self.entries.settle(now, |()| {});
        self.entries.used() + self.waiting.len() as u32
    }

    /// Entries in all.
    pub fn total(&self) -> u32 {
        self.entries.total
    }

    pub fn occupied(&self, now: Time) -> Occupied {
        Occupied { used: self.entries.used_at(now), waiting: self.waiting.len() as u32 }
    }
}

/// A buffer at one time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Occupied {
    /// entries that are not free
    pub used: u32,
    /// requests that wait for one
    pub waiting: u32,
}

/// One value for reads, one for writes.
#[derive(Clone, Debug)]
pub struct ByKind<T> {
    read: T,
    write: T,
}

impl<T> ByKind<T> {
    pub fn new(read: T, write: T) -> Self {
        ByKind { read, write }
    }

    pub fn at(&self, kind: AccessKind) -> &T {
        match kind {
            AccessKind::Read => &self.read,
            AccessKind::Write => &self.write,
        }
    }

    pub fn of(&mut self, kind: AccessKind) -> &mut T {
        match kind {
            AccessKind::Read => &mut self.read,
            AccessKind::Write => &mut self.write,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn entries_are_conserved_and_come_back_at_their_time(
            total in 1u32..5, steps in prop::collection::vec((any::<bool>(), 0u64..4, 0u64..9), 1..200),
        ) {
            let mut entries = Entries::new(total);
            let (mut now, mut held, mut returning) = (0, 0u32, Vec::new());
            for (take, gap, delay) in steps {
                now += gap;
                let (mut read, due) = (Vec::new(), |at: &u64| *at <= now);
                entries.settle(Time::from_ps(now), |note| read.push(note));
                returning.sort_unstable();
                let expected: Vec<u64> = returning.iter().copied().filter(due).collect();
                prop_assert_eq!(read, expected);
                returning.retain(|at| !due(at));
                if take {
                    let free = held + (returning.len() as u32) < total;
                    prop_assert_eq!(entries.take(), free);
                    held += u32::from(free);
                } else if held > 0 {
                    held -= 1;
                    returning.push(now + delay);
                    entries.give_back(Time::from_ps(now + delay), now + delay);
                }
                prop_assert_eq!(entries.held(), held);
                prop_assert_eq!(entries.free() + entries.used(), total);
                prop_assert_eq!(entries.used(), held + returning.len() as u32);
                prop_assert_eq!(entries.next_return(), returning.iter().min().map(|at| Time::from_ps(*at)));
            }
        }
    }
}
