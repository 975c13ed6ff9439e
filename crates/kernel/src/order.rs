//! The order of time. A part that finds it broken reports it here, in every build, and the run fails at its end.
//!
//! ```text
//!   server, wire, a difference of times --violated--> count of this thread --broken--> the run's error
//! ```
//!
//! A simulation stays on one thread, so the count is the thread's. A debug build stops at once. Times are plain
//! picoseconds here, because `Time` itself stands above this module.

use std::cell::Cell;

/// The first time that came in the wrong order, and how many did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Broken {
    pub what: &'static str,
    /// the time that had come `[ps]`
    pub had_come_ps: u64,
    /// the earlier one that came behind it `[ps]`
    pub came_ps: u64,
    pub count: u64,
}

thread_local! {
    static BROKEN: Cell<Option<Broken>> = const { Cell::new(None) };
}

/// `came_ps` is earlier than `had_come_ps`, which no model may do.
#[cold]
#[inline(never)]
pub fn violated(what: &'static str, had_come_ps: u64, came_ps: u64) {
    debug_assert!(false, "{what}: {came_ps} ps came after {had_come_ps} ps");
    let first = BROKEN.get().unwrap_or(Broken { what, had_come_ps, came_ps, count: 0 });
    BROKEN.set(Some(Broken { count: first.count + 1, ..first }));
}

/// Violations of the order on this thread since [`forget`].
#[must_use]
pub fn broken() -> Option<Broken> {
    BROKEN.get()
}

/// A new simulation begins on this thread.
pub fn forget() {
    BROKEN.set(None);
}
