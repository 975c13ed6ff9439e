//! Time of one component: it never goes back.
//!
//! It sees the times that the component says. What a component does between two of them is not seen here; servers, wires and
//! differences of times watch themselves (`crates/kernel/src/order.rs`), in every build.

use cxlab_kernel::Time;

use super::Broken;

/// The last time that a component said.
#[derive(Clone, Copy, Debug, Default)]
pub struct Clock {
    last: Time,
    seen: u64,
}

impl Clock {
    /// The component says that it is `at`.
    ///
    /// # Errors
    /// An earlier time than the last one; `place` names the component.
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

    /// Times compared.
    #[must_use]
    pub fn seen(&self) -> u64 {
        self.seen
    }
}
