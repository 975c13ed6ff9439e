//! Why each core does not run, and whether an event will let one of them go on.

use crate::core::Pause;

/// A pause changes only when its core runs, so its kinds are counted there and not at each event.
#[derive(Clone, Debug)]
pub(super) struct Pauses {
    each: Vec<Pause>,
    /// those that an event ends
    to_be_resumed: usize,
    ended: usize,
}

fn is_to_be_resumed(pause: Pause) -> bool {
    matches!(pause, Pause::Blocked(_) | Pause::Behind)
}

impl Pauses {
    /// So many cores, each of which an event lets begin.
    pub fn new(cores: usize) -> Pauses {
        Pauses { each: vec![Pause::Behind; cores], to_be_resumed: cores, ended: 0 }
    }

    #[inline]
    pub fn of(&self, core: usize) -> Pause {
        self.each[core]
    }

    #[inline]
    pub fn set(&mut self, core: usize, pause: Pause) {
        let before = std::mem::replace(&mut self.each[core], pause);
        self.to_be_resumed += usize::from(is_to_be_resumed(pause));
        self.to_be_resumed -= usize::from(is_to_be_resumed(before));
        self.ended += usize::from(pause == Pause::Ended);
        self.ended -= usize::from(before == Pause::Ended);
    }

    /// Whether an event lets one of them go on. Else all have halted or ended.
    #[inline]
    pub fn is_any_to_be_resumed(&self) -> bool {
        self.to_be_resumed > 0
    }

    pub fn have_all_ended(&self) -> bool {
        self.ended == self.each.len()
    }

    pub fn halted(&self) -> impl Iterator<Item = usize> {
        (0..self.each.len()).filter(|core| self.each[*core] == Pause::Halted)
    }

    /// The first that waits for a request.
    pub fn blocked(&self) -> Option<(usize, Pause)> {
        self.each.iter().copied().enumerate().find(|(_, pause)| matches!(pause, Pause::Blocked(_)))
    }
}
