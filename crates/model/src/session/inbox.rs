//! The inbox of a reader holds records that the reader has not used yet, first in, first out.

use cxlab_access::record::Words;

/// Used records that are kept before the others are moved to the front.
const MOST_USED: usize = 1 << 12;

/// A queue in one piece. It is mostly filled at once and emptied at once, so it seldom moves its records.
#[derive(Default)]
pub struct Inbox {
    records: Vec<Words>,
    /// records at the front that are used
    used: usize,
}

impl Inbox {
    #[inline]
    pub fn push_back(&mut self, words: Words) {
        if self.used == self.records.len() || self.used == MOST_USED {
            self.records.drain(..self.used);
            self.used = 0;
        }
        // As two words: as a pair they would be read at once from where they have just been written one by one, and wait.
        let [first, second] = words;
        self.records.push([first, second]);
    }

    #[inline]
    pub fn front(&self) -> Option<Words> {
        self.records.get(self.used).copied()
    }

    /// The first record is used: whether there was one.
    #[inline]
    pub fn pop_front(&mut self) -> bool {
        let is_there = self.used < self.records.len();
        self.used += usize::from(is_there);
        is_there
    }

    pub fn back(&self) -> Option<Words> {
        self.records[self.used..].last().copied()
    }

    /// The record that came last, which is not used, is withdrawn.
    pub fn pop_back(&mut self) {
        if self.len() > 0 {
            self.records.pop();
        }
    }

    /// Records that are not used.
    #[inline]
    pub fn len(&self) -> usize {
        self.records.len() - self.used
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use cxlab_kernel::Stream;

    use super::*;

    #[test]
    fn it_is_a_queue() {
        let (mut inbox, mut queue, mut chance) = (Inbox::default(), VecDeque::new(), Stream::new(1, "inbox"));
        for number in 0..400_000u64 {
            match chance.below(20) {
                // More come than are used, then fewer: what is used is moved out now and then.
                0..12 if number < 200_000 => {
                    inbox.push_back([number, 0]);
                    queue.push_back([number, 0]);
                }
                12 => {
                    inbox.pop_back();
                    queue.pop_back();
                }
                _ => assert_eq!(inbox.pop_front(), queue.pop_front().is_some()),
            }
            assert_eq!((inbox.front(), inbox.back()), (queue.front().copied(), queue.back().copied()));
            assert_eq!(inbox.len(), queue.len());
        }
    }
}
