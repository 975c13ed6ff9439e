//! The LLC's slices: a non-inclusive victim cache spread over the mesh.
//!
//! ```text
//!   line -> slice_hash.rs -> slice
//!   low bits of the line --> set of the slice
//! ```
//!
//! Not modelled: way masks (CAT, DDIO).

use super::{CoreId, LineState, LlcSpec, Reference, ReferenceKind, SliceId, Tags, Victim};
use crate::addr::Hpa;

/// Tags of all slices.
#[derive(Clone, Debug)]
pub struct Slices {
    tags: Tags,
    /// sets of one slice
    sets: u64,
}

impl Slices {
    /// Makes empty slices.
    ///
    /// # Errors
    /// Names the key of the LLC that is not possible.
    pub fn new(spec: &LlcSpec) -> Result<Slices, String> {
        spec.check()?;
        let sets = spec.sets()?;
        let tags = Tags::new((sets * u64::from(*spec.slices)) as usize, *spec.ways, *spec.replacement);
        Ok(Slices { tags, sets })
    }

    /// Place of the line's set among the sets of all slices.
    #[inline]
    #[must_use]
    pub fn set(&self, slice: SliceId, line: Hpa) -> usize {
        (u64::from(slice.0) * self.sets + (line.line_number() & (self.sets - 1))) as usize
    }

    /// Lets the host fetch the set of a line that will be looked up soon.
    #[inline]
    pub fn expect(&self, slice: SliceId, line: Hpa) {
        self.tags.expect(self.set(slice, line));
    }

    /// Returns whether the slice has the line. The line becomes the one that was used last.
    #[inline]
    pub fn touch(&mut self, slice: SliceId, line: Hpa, by: Reference) -> bool {
        let set = self.set(slice, line);
        self.tags.touch(set, line, by).is_some()
    }

    /// Takes in a victim of the L2 of `core`. Returns the line that leaves for it.
    pub fn take_in(&mut self, slice: SliceId, victim: Victim, core: CoreId) -> Option<Victim> {
        let by = Reference::of_core(core, ReferenceKind::WriteBack);
        let set = self.set(slice, victim.line);
        if let Some(entry) = self.tags.touch(set, victim.line, by) {
            if victim.changed {
                entry.set_state(LineState::Modified);
            }
            return None;
        }
        let state = if victim.changed { LineState::Modified } else { LineState::Exclusive };
        self.tags.insert(set, victim.line, state, by)
    }

    /// Removes a line. Returns whether it was here and changed.
    pub fn forget(&mut self, slice: SliceId, line: Hpa) -> bool {
        let set = self.set(slice, line);
        self.tags.remove(set, line).is_some_and(|entry| entry.state() == LineState::Modified)
    }

    /// Marks a line as known to its memory. Returns whether it was changed.
    pub fn clean(&mut self, slice: SliceId, line: Hpa) -> bool {
        let set = self.set(slice, line);
        let Some(entry) = self.tags.find(set, line).filter(|entry| entry.state() == LineState::Modified) else {
            return false;
        };
        entry.set_state(LineState::Exclusive);
        true
    }

    /// Number of lines held.
    #[must_use]
    pub fn len(&self) -> usize {
        self.tags.len()
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.tags.is_empty()
    }
}
