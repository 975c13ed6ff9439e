//! Bounds of a run: after how much simulated time it ends, or after how long a pause of all programs.

use crate::arguments::Bounds;

/// The bounds, and what counts towards them.
pub struct Bound {
    bounds: Bounds,
    /// simulated time that passed in stretches that were not timed `[ps]`
    untimed_ps: u64,
    /// how long all were idle since a program executed an instruction `[ps]`
    idle_ps: u64,
}

impl Bound {
    pub fn new(bounds: Bounds) -> Bound {
        Bound { bounds, untimed_ps: 0, idle_ps: 0 }
    }

    /// A program executes an instruction.
    #[inline]
    pub fn program_runs(&mut self) {
        self.idle_ps = 0;
    }

    /// A stretch of the region has passed that was not timed.
    pub fn untimed(&mut self, ps: u64) {
        self.untimed_ps += ps;
    }

    /// Counts an idle span. Returns how much of it passes before a bound ends the run, if timed stretches have come
    /// to `timed_ps`.
    pub fn idle(&mut self, span_ps: u64, timed_ps: u64) -> u64 {
        let span_ps = self.cut(span_ps, timed_ps);
        self.idle_ps += span_ps;
        span_ps
    }

    /// Part of a span that passes before a bound ends the run. The span may end early, so nothing is counted.
    pub fn cut(&self, span_ps: u64, timed_ps: u64) -> u64 {
        let of_time = self.bounds.until_ps.map(|until_ps| until_ps.saturating_sub(timed_ps + self.untimed_ps));
        let of_idle = self.bounds.until_idle_ps.map(|until_ps| until_ps.saturating_sub(self.idle_ps));
        [of_time, of_idle].into_iter().flatten().fold(span_ps, u64::min)
    }

    /// Whether the run ends, where timed stretches have come to `timed_ps`.
    pub fn is_reached(&self, timed_ps: u64) -> bool {
        self.bounds.until_ps.is_some_and(|until_ps| timed_ps + self.untimed_ps >= until_ps)
            || self.bounds.until_idle_ps.is_some_and(|until_ps| self.idle_ps >= until_ps)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_idle_span_is_cut_where_a_bound_ends_the_run() {
        let mut bound = Bound::new(Bounds { until_ps: Some(1000), until_idle_ps: Some(300), control: None });
        assert_eq!(bound.idle(200, 100), 200);
        assert!(!bound.is_reached(300));
        // The second span of the same pause is cut at 300 in all.
        assert_eq!(bound.idle(200, 300), 100);
        assert!(bound.is_reached(400));
        bound.program_runs();
        assert!(!bound.is_reached(400));
        // What was not timed counts as well.
        bound.untimed(500);
        assert_eq!(bound.idle(200, 400), 100);
        assert!(bound.is_reached(500));
    }

    #[test]
    fn without_bounds_nothing_is_cut() {
        let mut bound = Bound::new(Bounds::default());
        assert_eq!(bound.idle(u64::MAX / 2, 1), u64::MAX / 2);
        assert!(!bound.is_reached(u64::MAX / 2));
    }
}
