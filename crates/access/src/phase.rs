//! The words of a sampled run: its phases, and which of its windows are kept.

/// How closely the model follows a stretch of a sampled run. It is a whole word, as [`Keep`] is, because what holds
/// both is copied in words. A byte that is copied with others would wait until they have all been written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum Phase {
    /// functionally: caches and branch predictor see what happens, time stands still
    Warming,
    /// in detail, not counted: queues and what is under way come to be as they would be
    Detailed,
    /// in detail, and counted: a window
    Measured,
    /// in detail, and counted for itself alone: the beginning of a run, which is like nothing that follows
    Beginning,
}

impl Phase {
    pub(crate) const ALL: [Phase; 4] = [Phase::Warming, Phase::Detailed, Phase::Measured, Phase::Beginning];
}

/// The windows so far that a sampled run keeps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u64)]
pub enum Keep {
    #[default]
    All,
    /// the first, the third and so on: those with even numbers, counted from 0
    Even,
    /// those with odd numbers
    Odd,
}

impl Keep {
    pub(crate) const EACH: [Keep; 3] = [Keep::All, Keep::Even, Keep::Odd];

    /// Whether the window with this number, counted from 0, is kept.
    #[must_use]
    pub fn keeps(self, number: u64) -> bool {
        match self {
            Keep::All => true,
            Keep::Even => number.is_multiple_of(2),
            Keep::Odd => !number.is_multiple_of(2),
        }
    }
}
