//! Write-combining buffers: they gather non-temporal stores until a line is whole.
//!
//! ```text
//!   store, 16 B ->  | line 7: 48 of 64 B |  -- whole -------------------> leaves at once, nothing is read
//!   store, 8 B  ->  | line 9:  8 of 64 B |  -- no buffer left, a fence,
//!                                              a load of the line ------> leaves as a part: its memory reads and merges
//! ```
//!
//! The oldest buffer gives way to a new line. A line that leaves takes a fill buffer until the home agent has it.
//! Source: Intel SDM vol. 3, 11.3.1 (buffering of write-combining memory) and vol. 1, 10.4.6.2. Not modelled: a
//! processor's option to let a buffer go earlier, and which of its bytes a partial line has written.

use crate::addr::{Hpa, LINE_BYTES};

#[derive(Clone, Copy, Debug)]
struct Buffer {
    line: Hpa,
    /// bytes that were written, one bit each
    written: u64,
}

/// A line that leaves its buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Combined {
    pub line: Hpa,
    pub whole: bool,
}

/// The buffers that gather lines.
#[derive(Clone, Debug)]
pub struct WriteCombining {
    /// open buffers, the oldest first
    open: Vec<Buffer>,
    count: usize,
}

impl WriteCombining {
    pub fn new(count: u32) -> WriteCombining {
        WriteCombining { open: Vec::with_capacity(count as usize), count: count as usize }
    }

    pub fn gathers(&self, line: Hpa) -> bool {
        self.open.iter().any(|buffer| buffer.line == line)
    }

    /// Writes `bytes` from `address` on. Returns the line that leaves, if one does.
    pub fn write(&mut self, address: Hpa, bytes: u8) -> Option<Combined> {
        let (line, start) = (address.line(), address.get() % LINE_BYTES);
        let length = u64::from(bytes).clamp(1, LINE_BYTES - start);
        let written = (u64::MAX >> (LINE_BYTES - length)) << start;
        if let Some(place) = self.open.iter().position(|buffer| buffer.line == line) {
            self.open[place].written |= written;
            return (self.open[place].written == u64::MAX).then(|| self.close(place));
        }
        if written == u64::MAX {
            return Some(Combined { line, whole: true });
        }
        let oldest = (self.open.len() == self.count).then(|| self.close(0));
        self.open.push(Buffer { line, written });
        oldest
    }

    /// Gives up a line that is wanted elsewhere, if it has a buffer.
    pub fn give_up(&mut self, line: Hpa) -> Option<Combined> {
        let place = self.open.iter().position(|buffer| buffer.line == line)?;
        Some(self.close(place))
    }

    /// Gives up the oldest line, if there is one.
    pub fn drain(&mut self) -> Option<Combined> {
        (!self.open.is_empty()).then(|| self.close(0))
    }

    fn close(&mut self, place: usize) -> Combined {
        let Buffer { line, written } = self.open.remove(place);
        Combined { line, whole: written == u64::MAX }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_leaves_when_its_last_byte_is_written() {
        let mut buffers = WriteCombining::new(2);
        for start in (16..64).step_by(16) {
            assert_eq!(buffers.write(Hpa::new(640 + start), 16), None);
        }
        assert_eq!(buffers.write(Hpa::new(640), 16), Some(Combined { line: Hpa::new(640), whole: true }));
        assert_eq!(buffers.write(Hpa::new(64), 64), Some(Combined { line: Hpa::new(64), whole: true }));
        assert_eq!(buffers.drain(), None);
    }

    #[test]
    fn the_oldest_gives_way() {
        let mut buffers = WriteCombining::new(2);
        assert_eq!(buffers.write(Hpa::new(0), 8), None);
        assert_eq!(buffers.write(Hpa::new(64), 8), None);
        assert_eq!(buffers.write(Hpa::new(128), 8), Some(Combined { line: Hpa::new(0), whole: false }));
        assert_eq!(buffers.give_up(Hpa::new(128)), Some(Combined { line: Hpa::new(128), whole: false }));
        assert_eq!(buffers.drain(), Some(Combined { line: Hpa::new(64), whole: false }));
    }
}
