//! Snoops: messages of the home agent to other cores, before a core gets a line.
//!
//! ```text
//!   its entry -> snoop filter --nobody else--> LLC or memory
//!                    |--another may have changed it--> snoop, its answer goes to the asker
//!                    |--others may read it-----------> invalidations, beside LLC and memory
//!                    '--it is on its way to a core---> wait, Home(key) again when it is there
//! ```
//!
//! Caches change at the moment of the look-up. The time of the messages is part of the asker's latency.

use cxlab_kernel::Time;

use super::{Answer, Around, Ask, Asked, Cores, Event, Home, Presence, Queue, SnoopFilter, Source};
use crate::addr::Hpa;
use crate::cache::{LineState, SliceId, Snoop, Victim};
use crate::request::{CoreId, Op, RequestKey};

/// The filter's answer to a request.
pub(super) enum Found {
    /// The line is on its way to a core. [`Event::Home`] follows when it is there.
    Busy,
    /// Another core's copy, or the asker's own, is the answer. The home agent sends it on at this time.
    Answer(Time),
    /// The LLC or the memory is asked. Other cores have answered at this time.
    Here(Time),
}

impl Home {
    /// Looks up the line of a request that has its entry, and snoops the cores that the filter names.
    pub(super) fn look_up<A: Around>(&mut self, now: Time, key: RequestKey, around: &mut A) -> Found {
        let request = &mut self.requests[key];
        let (line, core, slice) = (request.line, request.core(), request.slice);
        let ask = ask_of(request.op);
        let Some(filter) = &mut self.filter else {
            request.grant = if ask == Ask::Own { LineState::Modified } else { LineState::Exclusive };
            return Found::Here(now);
        };
        let answer = match filter.ask(line, ask, core, key) {
            Asked::Answer(answer) => answer,
            Asked::Behind(last) => {
                if let Some(last) = last {
                    self.requests[last].behind = Some(key);
                }
                return Found::Busy;
            }
        };
        request.grant = answer.grant.unwrap_or(LineState::Shared);
        if let Some((copy, of)) = snoop(line, answer, ask, around) {
            self.fill_llc(copy, of, now, around);
        }
        let snooped = now + self.snoop_time(slice, answer.snoop.0);
        match answer.source {
            Source::Home => Found::Here(snooped),
            // The asker brings the contents.
            Source::Asker if ask == Ask::Overwrite => Found::Here(snooped),
            Source::Asker | Source::Cache(_) => Found::Answer(snooped),
        }
    }

    /// Time from the home agent to the farthest of the cores, with its look-up. The answer goes straight to the asker.
    fn snoop_time(&self, slice: SliceId, cores: Cores) -> Time {
        let ways = cores.map(|core| self.mesh.to_core(core, slice) + self.snooped);
        ways.max().unwrap_or(Time::ZERO)
    }

    /// Gives a core a line in no time. Returns its rights, and the changed line that has left the LLC for another
    /// core's copy: its memory has it by now.
    pub fn claim<A: Around>(
        &mut self,
        line: Hpa,
        core: CoreId,
        store: bool,
        around: &mut A,
    ) -> (LineState, Option<Hpa>) {
        let ask = if store { Ask::Own } else { Ask::Read };
        let Some(filter) = &mut self.filter else {
            return (if store { LineState::Modified } else { LineState::Exclusive }, None);
        };
        let answer = filter.claim(line, ask, core);
        let written = snoop(line, answer, ask, around).and_then(|(copy, of)| self.take_in(copy, of));
        (answer.grant.expect("a core that reads or owns gets its copy"), written)
    }

    /// A line is at its core. The next request for it is looked up.
    pub(super) fn served<Q: Queue>(&mut self, now: Time, line: Hpa, queue: &mut Q) {
        let Some(filter) = &mut self.filter else { return };
        let requests = &mut self.requests;
        if let Some(next) = filter.served(line, |key| requests[key].behind) {
            self.requests[next].behind = None;
            queue.schedule(now, Event::Home(next));
        }
    }

    /// Presence of a line in the filter; `None` without a filter.
    #[must_use]
    pub fn presence(&self, line: Hpa) -> Option<Presence> {
        self.filter.as_ref().map(|filter| filter.presence(line))
    }

    /// Lines that the filter knows; `None` without a filter.
    #[must_use]
    pub fn known_lines(&self) -> Option<usize> {
        self.filter.as_ref().map(SnoopFilter::len)
    }

    /// Tells the filter that a copy has left a core's caches.
    #[inline]
    pub fn left(&mut self, line: Hpa, core: CoreId) {
        if let Some(filter) = &mut self.filter {
            filter.left(line, core);
        }
    }
}

/// Leaves the cores' copies in the state of the answer. Returns the copy that goes to the LLC, and its core. A changed
/// copy goes there, unless the asker wants to change the line. A line that a second core reads also goes there, changed
/// or not, so that a third core finds it. Source: Arm DynamIQ Shared Unit, Technical Reference Manual, "L3 cache
/// allocation policy": inclusive for shared lines. Intel and AMD print no rule.
fn snoop<A: Around>(line: Hpa, answer: Answer, ask: Ask, around: &mut A) -> Option<(Victim, CoreId)> {
    let (snooped, left) = answer.snoop;
    // A read snoops the owner alone, and only an owner's copy can be changed: at most one copy goes to the LLC.
    let mut to_llc = None;
    for core in snooped {
        let Some(changed) = around.snoop(core, line, left) else { continue };
        if ask == Ask::Read || changed && (left == Snoop::Share || ask == Ask::Flush) {
            to_llc = Some((Victim { line, changed }, core));
        }
    }
    to_llc
}

fn ask_of(op: Op) -> Ask {
    match op {
        Op::Load | Op::Walk | Op::Prefetch => Ask::Read,
        Op::Own => Ask::Own,
        Op::NonTemporal => Ask::Overwrite,
        // A part of a line is merged with the owner's contents.
        Op::NonTemporalPart | Op::Flush => Ask::Flush,
        Op::Clean => Ask::Clean,
        Op::WriteBack | Op::PartialWrite | Op::Directory => unreachable!("home agents send these"),
    }
}
