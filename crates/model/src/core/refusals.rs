//! How often prefetchers find no room in detail, so that warming, which has no time, refuses as many.
//!
//! ```text
//!   detail:   wanted 8, refused 3        warming:   . . x . . x . x     three of eight, one after the other
//! ```
//!
//! Not modelled: which lines. In detail they come in bursts, while a table is full.

/// Wanted lines after which older ones count half: a few windows.
const RECENT: u32 = 1 << 14;

/// Lines that some prefetchers of a core have wanted lately.
#[derive(Clone, Copy, Debug, Default)]
pub struct Refusals {
    wanted: u32,
    refused: u32,
    /// what warming has yet to refuse, in parts of `wanted`
    owed: u32,
}

impl Refusals {
    /// Counts lines that were wanted in detail, and those of them that were refused.
    #[inline]
    pub fn count(&mut self, wanted: u32, refused: u32) {
        self.wanted += wanted;
        self.refused += refused;
        if self.wanted >= RECENT {
            (self.wanted, self.refused, self.owed) = (self.wanted / 2, self.refused / 2, self.owed / 2);
        }
    }

    /// Whether warming refuses the next line.
    #[inline]
    pub fn refuses(&mut self) -> bool {
        self.owed += self.refused;
        let refuses = self.refused > 0 && self.owed >= self.wanted;
        if refuses {
            self.owed -= self.wanted;
        }
        refuses
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warming_refuses_the_share_that_detail_refused() {
        for (wanted, refused) in [(8, 3), (1, 0), (5, 5), (1000, 1)] {
            let mut refusals = Refusals::default();
            refusals.count(wanted, refused);
            let in_warming = (0..10 * wanted).filter(|_| refusals.refuses()).count();
            assert_eq!(in_warming as u32, 10 * refused);
        }
    }

    #[test]
    fn nothing_is_refused_before_detail_has_refused_anything() {
        let mut refusals = Refusals::default();
        assert!((0..100).all(|_| !refusals.refuses()));
        refusals.count(100, 0);
        assert!((0..100).all(|_| !refusals.refuses()));
    }

    #[test]
    fn what_was_long_ago_is_forgotten() {
        let mut refusals = Refusals::default();
        refusals.count(RECENT - 1, RECENT - 1);
        (0..20 * RECENT).for_each(|_| refusals.count(1, 0));
        assert!((0..1000).filter(|_| refusals.refuses()).count() <= 1);
    }
}
