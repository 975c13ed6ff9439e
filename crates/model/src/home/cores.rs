//! A set of cores.

use crate::request::CoreId;

/// A set of up to 64 cores, a bit each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cores(u64);

impl Cores {
    /// Most cores that a set can tell apart.
    pub const MOST: u16 = 64;

    #[must_use]
    pub fn one(core: CoreId) -> Cores {
        debug_assert!(core.0 < Self::MOST);
        Cores(1 << core.0)
    }

    #[must_use]
    pub fn with(self, core: CoreId) -> Cores {
        Cores(self.0 | Cores::one(core).0)
    }

    #[must_use]
    pub fn without(self, core: CoreId) -> Cores {
        Cores(self.0 & !Cores::one(core).0)
    }

    #[must_use]
    pub fn holds(self, core: CoreId) -> bool {
        self.0 & Cores::one(core).0 != 0
    }

    #[must_use]
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }
}

impl Iterator for Cores {
    type Item = CoreId;

    fn next(&mut self) -> Option<CoreId> {
        let core = CoreId(self.0.trailing_zeros() as u16);
        (self.0 != 0).then(|| {
            self.0 &= self.0 - 1;
            core
        })
    }
}
