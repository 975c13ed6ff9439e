//! Lines that locked instructions of several vCPUs touch within a short time: there threads wait for each other, or are about to.
//!
//! Not modelled: two lines in one place of the table, of which the earlier one is forgotten.

/// Lines that are kept.
const PLACES: usize = 256;

/// A line that locked instructions have touched.
#[derive(Clone, Copy, Default)]
struct Touched {
    line: u64,
    /// the vCPU that touched it last, and when `[ps]`
    vcpu: usize,
    at_ps: u64,
    /// when another one did before it, if any `[ps]`
    other_ps: Option<u64>,
}

impl Touched {
    /// When another vCPU touched this line last, if any did `[ps]`.
    fn other_ps(&self, vcpu: usize, line: u64) -> Option<u64> {
        match self {
            _ if self.line != line => None,
            _ if self.vcpu != vcpu => Some(self.at_ps),
            _ => self.other_ps,
        }
    }
}

/// A line's place. Locks often lie as far from each other as their tables' entries are long, so the upper bits count as well.
fn place(line: u64) -> usize {
    (line ^ line >> 8 ^ line >> 16) as usize % PLACES
}

pub struct SharedLines([Touched; PLACES]);

impl SharedLines {
    pub fn new() -> SharedLines {
        SharedLines([Touched::default(); PLACES])
    }

    /// How long before `now_ps` a locked instruction of another vCPU touched a line, if that is known `[ps]`.
    pub fn since(&self, vcpu: usize, line: u64, now_ps: u64) -> Option<u64> {
        self.0[place(line)].other_ps(vcpu, line).map(|other_ps| now_ps.saturating_sub(other_ps))
    }

    /// A locked instruction of `vcpu` touches a line at `now_ps`. Returns how long ago one of another vCPU did so, if that is known
    /// `[ps]`.
    pub fn touch(&mut self, vcpu: usize, line: u64, now_ps: u64) -> Option<u64> {
        let since_ps = self.since(vcpu, line, now_ps);
        let touched = &mut self.0[place(line)];
        *touched = Touched { line, vcpu, at_ps: now_ps, other_ps: touched.other_ps(vcpu, line) };
        since_ps
    }
}

#[cfg(test)]
mod tests {
    use super::SharedLines;

    #[test]
    fn a_line_is_shared_since_another_vcpu_has_locked_it() {
        let mut lines = SharedLines::new();
        assert_eq!(lines.touch(0, 7, 0), None);
        assert_eq!(lines.touch(0, 7, 10), None);
        assert_eq!(lines.touch(1, 7, 25), Some(15));
        assert_eq!(lines.touch(1, 7, 30), Some(20));
        assert_eq!(lines.touch(0, 8, 30), None);
        // Its place in the table is also that of another line.
        assert_eq!(lines.touch(0, 7 + 256 * 257, 40), None);
        assert_eq!(lines.touch(0, 7, 50), None);
    }
}
