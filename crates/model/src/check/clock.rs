//! Time of one component: it must never go back.
//!
//! The checker sees the times that the component reports, and nothing of the component's work between two of them.
//! Servers, wires and differences of times watch themselves (`crates/kernel/src/order.rs`), in every build.

use cxlab_kernel::Time;

use super::Broken;

/// The last time that a component reported.
#[derive(Clone, Copy, Debug, Default)]
pub struct Clock {
    last: Time,
    seen: u64,
}

impl Clock {
    /// Compares the time `at`, which the component reports, with the last one.
    ///
    /// # Errors
    /// The time is earlier than the last one; `place` names the component.
    #[inline]
    pub fn see(&mut self, at: Time, place: impl FnOnce() -> String) -> Result<(), Broken> {
        if at < self.last {
            let what = format!("{at} came after {}", self.last);
            return Err(Broken::new("time never goes back", place(), at, what));
        }
        self.last = at;
        self.seen += 1;
        Ok(())
    }

    /// Number of times compared.
    #[must_use]
    pub fn seen(&self) -> u64 {
        self.seen
    }
}
