//! The scope of a translation: which invalidations of more than a page it survives.

use super::Mapping;

/// The address spaces that a translation belongs to (Intel SDM vol. 3, 4.10.2.4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Scope {
    pub pcid: u16,
    /// the same in all address spaces
    pub global: bool,
}

impl Scope {
    #[must_use]
    pub fn of(mapping: &Mapping) -> Scope {
        Scope { pcid: mapping.pcid, global: mapping.global }
    }
}
