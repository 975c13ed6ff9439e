//! The snoop filter: the cores with a copy of each line, and the order of the requests for one line.

use rustc_hash::FxHashMap;

use super::copies::Copies;
use super::protocol::{Answer, Ask, Presence, answer};
use crate::addr::Hpa;
use crate::request::{CoreId, RequestKey};

/// The requests for a line that are being served or wait.
#[derive(Clone, Copy, Debug, Default)]
struct Service {
    /// the core that is being served
    serving: Option<CoreId>,
    /// whether a copy is on its way to that core
    coming: bool,
    /// the request that is next, until it asks anew: the line is kept for it
    called: Option<RequestKey>,
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
    copies: Copies,
    /// lines that are being asked for: few beside those that cores have
    services: FxHashMap<Hpa, Service>,
}

impl SnoopFilter {
    /// A filter with room for `lines` lines before it allocates again.
    #[must_use]
    pub fn new(lines: usize) -> SnoopFilter {
        SnoopFilter { copies: Copies::new(lines), services: FxHashMap::default() }
    }

    /// Lets the host fetch the place of a line that will be asked for soon, or will leave soon.
    #[inline]
    pub fn expect(&self, line: Hpa) {
        self.copies.expect(line);
    }

    /// Asks for a line. Returns the answer, which holds from now on, or the place to wait while another core is served.
    pub fn ask(&mut self, line: Hpa, ask: Ask, asker: CoreId, key: RequestKey) -> Asked {
        let service = self.services.entry(line).or_default();
        if service.serving.is_some() || service.called.is_some_and(|called| called != key) {
            let last = service.waiting.map(|(_, last)| last);
            service.waiting = Some((service.waiting.map_or(key, |(first, _)| first), key));
            return Asked::Behind(last);
        }
        service.called = None;
        let answer = self.copies.change(line, |presence| {
            let answer = answer(presence, ask, asker);
            (answer.next, answer)
        });
        service.serving = Some(asker);
        service.coming = answer.grant.is_some();
        Asked::Answer(answer)
    }

    /// Asks for a line that is there at once, as before the run began.
    pub fn claim(&mut self, line: Hpa, ask: Ask, asker: CoreId) -> Answer {
        self.copies.change(line, |presence| {
            let answer = answer(presence, ask, asker);
            (answer.next, answer)
        })
    }

    /// The line is at its core. Returns the first request that waits for it, which is to ask anew. `next` gives the request
    /// behind another one. One that comes at that very time comes behind all that wait. Otherwise the first of them would be
    /// last: with a full table, four of 40 cores once had a line by turns for milliseconds.
    pub fn served(&mut self, line: Hpa, next: impl Fn(RequestKey) -> Option<RequestKey>) -> Option<RequestKey> {
        let service = self.services.get_mut(&line).expect("it was being served");
        service.serving = None;
        let Some((first, last)) = service.waiting else {
            self.services.remove(&line);
            return None;
        };
        service.waiting = next(first).map(|second| (second, last));
        service.called = Some(first);
        Some(first)
    }

    /// A copy has left a core's caches. A copy on its way to that core stays known.
    pub fn left(&mut self, line: Hpa, core: CoreId) {
        if self.services.get(&line).is_some_and(|service| service.serving == Some(core) && service.coming) {
            return;
        }
        self.copies.change(line, |presence| (presence.without(core), ()));
    }

    /// Presence of the line.
    #[must_use]
    pub fn presence(&self, line: Hpa) -> Presence {
        self.copies.presence(line)
    }

    /// Number of lines that cores have, or that are being asked for.
    #[must_use]
    pub fn len(&self) -> usize {
        let awaited = self.services.keys().filter(|line| self.presence(**line) == Presence::Nobody);
        self.copies.len() + awaited.count()
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

#[cfg(test)]
mod tests {
    use super::{Asked, SnoopFilter};
    use crate::addr::Hpa;
    use crate::home::Ask;
    use crate::request::{CoreId, RequestKey};

    #[test]
    fn one_that_comes_as_the_line_is_there_waits_behind_all_that_wait() {
        let line = Hpa::new(0x40);
        let keys: Vec<RequestKey> = (0..4).map(RequestKey::from_index).collect();
        let mut filter = SnoopFilter::new(1);
        let ask = |filter: &mut SnoopFilter, index: usize| {
            matches!(filter.ask(line, Ask::Own, CoreId(index as u16), keys[index]), Asked::Answer(_))
        };
        assert!(ask(&mut filter, 0));
        assert!(!ask(&mut filter, 1) && !ask(&mut filter, 2));
        let links = |key| (key == keys[1]).then_some(keys[2]);
        assert_eq!(filter.served(line, links), Some(keys[1]));
        // The fourth asks before the one that was called does.
        assert!(!ask(&mut filter, 3));
        assert!(ask(&mut filter, 1));
        let links = |key| (key == keys[2]).then_some(keys[3]);
        assert_eq!(filter.served(line, links), Some(keys[2]));
        assert!(ask(&mut filter, 2));
        assert_eq!(filter.served(line, |_| None), Some(keys[3]));
        assert!(ask(&mut filter, 3));
        assert_eq!(filter.served(line, |_| None), None);
    }
}
