//! Lines that locked instructions of several vCPUs touch within a short time: there threads wait for each other, or are about to.
//!
//! Not modelled: two lines in one place of the table, of which the earlier one is forgotten.

/// Lines that are kept.
const PLACES: usize = 256;

/// A line that a locked instruction has touched.
#[derive(Clone, Copy, Default)]
struct Touched {
    line: u64,
    vcpu: usize,
    /// `[ps]`
    at_ps: u64,
}

pub struct SharedLines {
    places: [Touched; PLACES],
    /// how long a touch counts `[ps]`
    lately_ps: u64,
}

impl SharedLines {
    pub fn new(lately_ps: u64) -> SharedLines {
        SharedLines { places: [Touched::default(); PLACES], lately_ps }
    }

    /// A locked instruction of `vcpu` touches a line at `now_ps`. Returns whether one of another vCPU has done so lately.
    pub fn touch(&mut self, vcpu: usize, line: u64, now_ps: u64) -> bool {
        // Locks often lie as far from each other as their tables' entries are long, so the upper bits count as well.
        let place = &mut self.places[(line ^ line >> 8 ^ line >> 16) as usize % PLACES];
        let is_shared = place.line == line && place.vcpu != vcpu && now_ps < place.at_ps + self.lately_ps;
        *place = Touched { line, vcpu, at_ps: now_ps };
        is_shared
    }
}

#[cfg(test)]
mod tests {
    use super::SharedLines;

    #[test]
    fn a_line_is_shared_if_another_vcpu_has_lately_locked_it() {
        let mut lines = SharedLines::new(1000);
        assert!(!lines.touch(0, 7, 0));
        assert!(!lines.touch(0, 7, 10));
        assert!(lines.touch(1, 7, 20));
        assert!(!lines.touch(0, 8, 30));
        assert!(!lines.touch(0, 7, 1020));
    }
}
