//! Services of devices that vCPUs wait for. They pass in pieces, so that all vCPUs stay at about one time.
//!
//! ```text
//!   vCPU 0  --ask|2 us|2 us|2 us| ... |2 us|--      vCPU 1  ------------------------      a phase may end between two pieces
//! ```
//!
//! What is left of a service when a phase ends passes in the next one. When it passed at once, a window that it began in
//! was longer by all of it. But the window held the work of its own length alone. So a sampled sort of four vCPUs was told
//! 1.5 times too slow.

use crate::turns::untimed::SLICE_PS;

pub struct Services {
    /// what is left for each vCPU `[ps]`
    left_ps: Vec<u64>,
}

impl Services {
    pub fn new(vcpus: usize) -> Services {
        Services { left_ps: vec![0; vcpus] }
    }

    /// No vCPU waits.
    pub fn forget(&mut self) {
        self.left_ps.fill(0);
    }

    /// The vCPU is to wait so long.
    pub fn begin(&mut self, vcpu: usize, service_ps: u64) {
        self.left_ps[vcpu] += service_ps;
    }

    #[inline]
    pub fn waits(&self, vcpu: usize) -> bool {
        self.left_ps[vcpu] > 0
    }

    /// The time that passes next for the vCPU `[ps]`: a slice, or all if all others wait for an interrupt. `others_idle`
    /// is their number if all others wait. `None` if the vCPU does not wait.
    pub fn pass(&mut self, vcpu: usize, others_idle: Option<u8>) -> Option<u64> {
        let alone = others_idle.is_some_and(|others| usize::from(others) + 1 == self.left_ps.len());
        let left_ps = &mut self.left_ps[vcpu];
        let passes_ps = if alone { *left_ps } else { (*left_ps).min(SLICE_PS) };
        *left_ps -= passes_ps;
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
        assert!(!services.waits(0) && services.waits(1));
        assert_eq!(services.pass(1, None), Some(2_000_000));
        assert_eq!(services.pass(1, Some(1)), Some(3_000_000));
        assert!(!services.waits(1));
        assert_eq!(services.pass(1, Some(1)), None);
        services.begin(0, 3_000_000);
        assert_eq!([(); 3].map(|()| services.pass(0, Some(0))), [Some(2_000_000), Some(1_000_000), None]);
    }
}
