//! Services of devices that vCPUs wait for. They pass in pieces, so that all vCPUs stay at about one time.
//!
//! ```text
//!   vCPU 0  --ask|2 us|2 us|2 us| ... |2 us|--      vCPU 1  ------------------------      a phase may end between two pieces
//! ```
//!
//! What is left of a service when a phase ends passes in the next one. When it passed at once, a window that it began in
//! was longer by all of it. But the window held the work of its own length alone. A sampled sort of four vCPUs was told 1.5 times too
//! slow.

/// A piece of a service, at most `[ps]`.
const PIECE_PS: u64 = 2_000_000;

pub struct Services {
    /// what is left for each vCPU `[ps]`
    left_ps: Vec<u64>,
    /// bits of those for which something is left
    keep: u64,
}

impl Services {
    pub fn new(vcpus: usize) -> Services {
        Services { left_ps: vec![0; vcpus], keep: 0 }
    }

    /// No vCPU waits.
    pub fn forget(&mut self) {
        self.left_ps.fill(0);
        self.keep = 0;
    }

    /// The vCPU is to wait so long.
    pub fn begin(&mut self, vcpu: usize, service_ps: u64) {
        self.left_ps[vcpu] += service_ps;
        self.keep |= 1 << vcpu;
    }

    /// Whether it waits.
    #[inline]
    pub fn keep(&self, vcpu: usize) -> bool {
        self.keep >> vcpu & 1 == 1
    }

    /// The time that passes next for the vCPU `[ps]`: a piece, or all if it is `alone` in having something to do. `None` if
    /// it does not wait.
    pub fn pass(&mut self, vcpu: usize, alone: bool) -> Option<u64> {
        let left_ps = &mut self.left_ps[vcpu];
        let passes_ps = if alone { *left_ps } else { (*left_ps).min(PIECE_PS) };
        *left_ps -= passes_ps;
        if *left_ps == 0 {
            self.keep &= !(1 << vcpu);
        }
        (passes_ps > 0).then_some(passes_ps)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_passes_in_pieces_unless_nobody_else_does_anything() {
        let mut services = Services::new(2);
        services.begin(1, 5_000_000);
        assert!(!services.keep(0) && services.keep(1));
        assert_eq!(services.pass(1, false), Some(2_000_000));
        assert_eq!(services.pass(1, true), Some(3_000_000));
        assert!(!services.keep(1));
        assert_eq!(services.pass(1, true), None);
        services.begin(0, 3_000_000);
        assert_eq!([(); 3].map(|()| services.pass(0, false)), [Some(2_000_000), Some(1_000_000), None]);
    }
}
