//! The snoop filter: the presence of every line that a core has, and the order of those who ask for one line.

use rustc_hash::FxHashMap;

use super::protocol::{Answer, Ask, Presence, answer};
use crate::addr::Hpa;
use crate::request::{CoreId, RequestKey};

/// What the filter knows of a line.
#[derive(Clone, Copy, Debug, Default)]
struct Known {
    presence: Presence,
    /// who is being served
    serving: Option<CoreId>,
    /// a copy is on its way there
    coming: bool,
    /// who waits to be served, first and last; the links are in the requests
    waiting: Option<(RequestKey, RequestKey)>,
}

/// What became of an ask.
#[derive(Clone, Copy, Debug)]
pub enum Asked {
    Answer(Answer),
    /// the line is on its way to a core; the request is linked behind this one, or is the first
    Behind(Option<RequestKey>),
}

/// Lines that cores have, or await.
#[derive(Debug, Default)]
pub struct SnoopFilter {
    lines: FxHashMap<Hpa, Known>,
}

impl SnoopFilter {
    /// Room for so many lines before anything is allocated again.
    #[must_use]
    pub fn new(lines: usize) -> SnoopFilter {
        SnoopFilter { lines: FxHashMap::with_capacity_and_hasher(lines, rustc_hash::FxBuildHasher) }
    }

    /// Ask for a line: the answer, which holds from now on, or to wait until who has it under way is served.
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

    /// Ask for a line that is there at once, as before time began.
    pub fn claim(&mut self, line: Hpa, ask: Ask, asker: CoreId) -> Answer {
        let known = self.lines.entry(line).or_default();
        let answer = answer(known.presence, ask, asker);
        known.presence = answer.next;
        answer
    }

    /// The line is at its core: who waits for it now, first. `next` tells who waits behind a request.
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

    /// A copy has left a core's caches. What is on its way to that core will be there all the same.
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

    /// Who has the line.
    #[must_use]
    pub fn presence(&self, line: Hpa) -> Presence {
        self.lines.get(&line).map_or(Presence::Nobody, |known| known.presence)
    }

    /// Lines known.
    #[must_use]
    pub fn len(&self) -> usize {
        self.lines.len()
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }
}
