//! The snoop filter: the cores with a copy of each line, and the order of the requests for one line.

use rustc_hash::FxHashMap;

use super::protocol::{Answer, Ask, Presence, answer};
use crate::addr::Hpa;
use crate::request::{CoreId, RequestKey};

/// State of a line in the filter.
#[derive(Clone, Copy, Debug, Default)]
struct Known {
    presence: Presence,
    /// the core that is being served
    serving: Option<CoreId>,
    /// whether a copy is on its way to that core
    coming: bool,
    /// the first and the last waiting request; the links between are in the requests
    waiting: Option<(RequestKey, RequestKey)>,
}

/// Result of asking the filter for a line.
#[derive(Clone, Copy, Debug)]
pub enum Asked {
    Answer(Answer),
    /// the line is on its way to a core; the request waits behind this one, or is the first to wait
    Behind(Option<RequestKey>),
}

/// Lines that cores have or await.
#[derive(Clone, Debug, Default)]
pub struct SnoopFilter {
    lines: FxHashMap<Hpa, Known>,
}

impl SnoopFilter {
    /// A filter with room for `lines` lines before it allocates again.
    #[must_use]
    pub fn new(lines: usize) -> SnoopFilter {
        SnoopFilter { lines: FxHashMap::with_capacity_and_hasher(lines, rustc_hash::FxBuildHasher) }
    }

    /// Asks for a line. Returns the answer, which holds from now on, or the place to wait while another core is served.
    pub fn ask(&mut self, line: Hpa, ask: Ask, asker: CoreId, key: RequestKey) -> Asked {
        let known = self.lines.entry(line).or_default();
        if known.serving.is_some() {
            let last = known.waiting.map(|(_, last)| last);
            known.waiting = Some((known.waiting.map_or(key, |(first, _)| first), key));
            return Asked::Behind(last);
        }
        let answer = answer(known.presence, ask, asker);
        known.presence = answer.next;
        known.serving = Some(asker);
        known.coming = answer.grant.is_some();
        Asked::Answer(answer)
    }

    /// Asks for a line that is there at once, as before the run began.
    pub fn claim(&mut self, line: Hpa, ask: Ask, asker: CoreId) -> Answer {
        let known = self.lines.entry(line).or_default();
        let answer = answer(known.presence, ask, asker);
        known.presence = answer.next;
        answer
    }

    /// The line is at its core. Returns the first request that waits for it. `next` gives the request behind another
    /// one.
    pub fn served(&mut self, line: Hpa, next: impl Fn(RequestKey) -> Option<RequestKey>) -> Option<RequestKey> {
        let known = self.lines.get_mut(&line).expect("it was being served");
        known.serving = None;
        let Some((first, last)) = known.waiting else {
            if known.presence == Presence::Nobody {
                self.lines.remove(&line);
            }
            return None;
        };
        known.waiting = next(first).map(|second| (second, last));
        Some(first)
    }

    /// A copy has left a core's caches. A copy on its way to that core stays known.
    pub fn left(&mut self, line: Hpa, core: CoreId) {
        let Some(known) = self.lines.get_mut(&line) else { return };
        if known.serving == Some(core) && known.coming {
            return;
        }
        known.presence = known.presence.without(core);
        if known.presence == Presence::Nobody && known.serving.is_none() && known.waiting.is_none() {
            self.lines.remove(&line);
        }
    }

    /// Presence of the line.
    #[must_use]
    pub fn presence(&self, line: Hpa) -> Presence {
        self.lines.get(&line).map_or(Presence::Nobody, |known| known.presence)
    }

    /// Number of lines that the filter knows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.lines.len()
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }
}
