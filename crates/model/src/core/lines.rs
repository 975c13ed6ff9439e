//! The lines that instructions of the window touch, kept until they are committed.

use std::collections::VecDeque;

use crate::feed::LineAccess;

/// A queue of lines whose positions never change.
#[derive(Clone, Debug, Default)]
pub struct Lines {
    queue: VecDeque<LineAccess>,
    /// position of the queue's first line
    first: u64,
}

/// Lines of one instruction.
#[derive(Clone, Copy, Debug, Default)]
pub struct Span {
    start: u64,
    count: u32,
}

impl Lines {
    pub fn push(&mut self, accesses: &[LineAccess]) -> Span {
        let start = self.first + self.queue.len() as u64;
        self.queue.extend(accesses);
        Span { start, count: accesses.len() as u32 }
    }

    /// Appends the lines of the instruction to `all`.
    pub fn append_to(&self, span: Span, all: &mut Vec<LineAccess>) {
        all.extend((0..span.count).map_while(|index| self.get(span, index)));
    }

    #[inline]
    pub fn get(&self, span: Span, index: u32) -> Option<LineAccess> {
        (index < span.count).then(|| self.queue[(span.start - self.first) as usize + index as usize])
    }

    /// Forgets the lines of the oldest instruction that has any.
    #[inline]
    pub fn pop(&mut self, span: Span) {
        if span.count == 0 {
            return;
        }
        self.queue.drain(..span.count as usize);
        self.first += u64::from(span.count);
    }
}
