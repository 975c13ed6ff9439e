//! Lines on their way from L2 to L1, so that a load right behind the first one waits for its line too.
//!
//! L1's tags have such a line already. Its data comes one hit of L2 later.

use std::collections::VecDeque;

use cxlab_kernel::Time;

use crate::addr::Hpa;

/// Lines that L2 has found, and when L1 has them. Each holds a fill buffer until then.
#[derive(Clone, Debug)]
pub struct Coming {
    lines: VecDeque<(Hpa, Time)>,
    fill_buffers: usize,
    /// when L1 has all of them
    last: Time,
}

impl Coming {
    pub fn new(fill_buffers: u32) -> Coming {
        let fill_buffers = fill_buffers as usize;
        Coming { lines: VecDeque::with_capacity(fill_buffers), fill_buffers, last: Time::ZERO }
    }

    /// L2 sends a line that comes at `arrival`.
    pub fn add(&mut self, line: Hpa, arrival: Time) {
        if self.lines.len() == self.fill_buffers {
            self.lines.pop_front();
        }
        self.lines.push_back((line, arrival));
        self.last = self.last.max(arrival);
    }

    /// When L1, which has the line's tag at `at`, has its data.
    #[inline]
    pub fn arrival(&self, line: Hpa, at: Time) -> Time {
        if at < self.last { self.look_up(line).map_or(at, |arrival| arrival.max(at)) } else { at }
    }

    #[inline(never)]
    fn look_up(&self, line: Hpa) -> Option<Time> {
        self.lines.iter().rev().find(|(coming, _)| *coming == line).map(|(_, arrival)| *arrival)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_awaited_until_it_is_there_and_forgotten_with_its_fill_buffer() {
        let (line, other, at) = (Hpa::new(64), Hpa::new(128), Time::from_ns(1));
        let mut coming = Coming::new(2);
        coming.add(line, Time::from_ns(5));
        assert_eq!(coming.arrival(line, at), Time::from_ns(5));
        assert_eq!(coming.arrival(other, at), at);
        assert_eq!(coming.arrival(line, Time::from_ns(6)), Time::from_ns(6));
        coming.add(line, Time::from_ns(7));
        assert_eq!(coming.arrival(line, at), Time::from_ns(7));
        coming.add(other, Time::from_ns(8));
        coming.add(other, Time::from_ns(9));
        assert_eq!(coming.arrival(line, at), at);
    }
}
