//! A filter that chooses which touches of lines a warming model is told of.

/// Entries of the filter.
const ENTRIES: usize = 512;
/// Lines told after which all is told anew: fewer than an L1 has (768 in data/hosts), so that a line in use stays in use.
const FORGETS_AFTER: u32 = 256;

/// Keeps apart the lines that the model was told of a moment ago: to the tags, touching them again is nothing new.
#[derive(Clone, Debug)]
pub struct LineFilter {
    /// virtual line number + 1 above a bit for "told of a store"
    told: Box<[u64; ENTRIES]>,
    /// lines told since all was forgotten
    count: u32,
}

impl Default for LineFilter {
    fn default() -> LineFilter {
        LineFilter { told: Box::new([0; ENTRIES]), count: 0 }
    }
}

impl LineFilter {
    /// Whether the model is to be told that this line (virtual address / 64) is touched.
    #[inline]
    pub fn lets_pass(&mut self, line: u64, store: bool) -> bool {
        let key = (line + 1) << 1;
        let entry = &mut self.told[line as usize % ENTRIES];
        if *entry | 1 == key | 1 && *entry >= key | u64::from(store) {
            return false;
        }
        *entry = key | u64::from(store);
        self.count += 1;
        if self.count == FORGETS_AFTER {
            self.forget();
        }
        true
    }

    /// Another processor has stored to the line: tell it anew.
    #[inline]
    pub fn forget_line(&mut self, line: u64) {
        let entry = &mut self.told[line as usize % ENTRIES];
        if *entry | 1 == (line + 1) << 1 | 1 {
            *entry = 0;
        }
    }

    /// Forget all lines: they were told in another phase, so each is told again.
    #[cold]
    pub fn forget(&mut self) {
        self.told.fill(0);
        self.count = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_another_processor_has_stored_to_is_told_anew() {
        let mut filter = LineFilter::default();
        assert!(filter.lets_pass(77, true));
        filter.forget_line(78);
        assert!(!filter.lets_pass(77, false));
        filter.forget_line(77);
        assert!(filter.lets_pass(77, false));
    }

    #[test]
    fn a_line_is_told_once_for_loads_and_once_more_for_stores() {
        let mut filter = LineFilter::default();
        assert!(filter.lets_pass(77, false) && !filter.lets_pass(77, false));
        assert!(filter.lets_pass(77, true) && !filter.lets_pass(77, true) && !filter.lets_pass(77, false));
        filter.forget();
        assert!(filter.lets_pass(77, false));
        // In a walk over more lines than it keeps, each is told each time.
        assert!((0..3000).all(|turn| filter.lets_pass(1000 + turn % 1000, false)));
    }
}
