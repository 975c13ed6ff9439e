//! What the home agent asks of other cores before a core gets a line.
//!
//! ```text
//!   Home(key) -> snoop filter --nobody else--> LLC or memory
//!                    |--another may have changed it--> snoop, its answer goes to the asker
//!                    |--others may read it-----------> invalidations, beside LLC and memory
//!                    '--it is on its way to a core---> wait, Home(key) again when it is there
//! ```
//!
//! Caches change at the moment of the look-up; the time of the messages is the asker's latency.

use cxlab_kernel::Time;

use super::{Event, Machine, Shared};
use crate::addr::Hpa;
use crate::cache::{LineState, SliceId, Snoop, Victim};
use crate::coherence::{Answer, Ask, Asked, Cores, Source};
use crate::core::{Core, RequestKey};
use crate::request::{CoreId, Op, Stage};

impl Shared {
    /// A request is at its home agent.
    pub(super) fn look_up(&mut self, now: Time, key: RequestKey, cores: &mut [Core]) {
        let request = &mut self.requests[key];
        request.stamp(Stage::ToHome, now);
        let (line, core, slice) = (request.line, request.core, request.slice);
        let ask = ask_of(request.op);
        let Some(filter) = &mut self.home.filter else {
            request.grant = if ask == Ask::Own { LineState::Modified } else { LineState::Exclusive };
            return self.fetch(now, now, key);
        };
        let answer = match filter.ask(line, ask, core, key) {
            Asked::Answer(answer) => answer,
            Asked::Behind(last) => {
                if let Some(last) = last {
                    self.requests[last].behind = Some(key);
                }
                return;
            }
        };
        request.grant = answer.grant.unwrap_or(LineState::Shared);
        self.snoop(line, answer, ask, cores);
        let snooped = now + self.snoop_time(slice, answer.snoop.0);
        match answer.source {
            Source::Home => self.fetch(now, snooped, key),
            // It brings the contents.
            Source::Asker if ask == Ask::Overwrite => self.fetch(now, snooped, key),
            Source::Asker | Source::Cache(_) => self.answer_core(snooped, key),
        }
    }

    /// From the home agent to the farthest of the cores, and its look-up; the answer goes straight to the asker.
    fn snoop_time(&self, slice: SliceId, cores: Cores) -> Time {
        let ways = cores.map(|core| self.home.mesh.to_core(core, slice) + self.home.snooped);
        ways.max().unwrap_or(Time::ZERO)
    }

    /// The cores' copies are what the answer leaves of them; a changed one goes to the LLC, but for who asks to change it.
    fn snoop(&mut self, line: Hpa, answer: Answer, ask: Ask, cores: &mut [Core]) {
        let (snooped, left) = answer.snoop;
        for core in snooped {
            let changed = cores[usize::from(core.0)].snoop(line, left);
            if changed == Some(true) && (left == Snoop::Share || ask == Ask::Flush) {
                self.fill_llc(Victim { line, changed: true }, self.queue.now());
            }
        }
    }

    /// A core has a line as if it had asked before time began.
    pub(super) fn claim(&mut self, line: Hpa, core: CoreId, store: bool, cores: &mut [Core]) -> LineState {
        let ask = if store { Ask::Own } else { Ask::Read };
        let Some(filter) = &mut self.home.filter else {
            return if store { LineState::Modified } else { LineState::Exclusive };
        };
        let answer = filter.claim(line, ask, core);
        self.snoop(line, answer, ask, cores);
        answer.grant.expect("a core that reads or owns gets its copy")
    }

    /// A line is at its core: the next who asked for it is looked up.
    pub(super) fn served(&mut self, now: Time, line: Hpa) {
        let Some(filter) = &mut self.home.filter else { return };
        let requests = &mut self.requests;
        if let Some(next) = filter.served(line, |key| requests[key].behind) {
            self.requests[next].behind = None;
            self.queue.schedule(now, Event::Home(next));
        }
    }

    /// A line comes into the LLC; what leaves it changed goes to its memory.
    pub(super) fn fill_llc(&mut self, victim: Victim, at: Time) {
        if let Some(line) = self.home.take_in(victim) {
            self.write_back(line, at);
        }
    }
}

impl Machine {
    /// Have a line in `core`'s caches, and what leaves for it in the LLC, as if it had been touched before.
    pub fn warm(&mut self, core: usize, line: Hpa, store: bool) {
        if !self.cores[core].touches(line, store) {
            self.bring(core, line, store);
        }
    }

    /// A line that a core had long ago, changed or not, has come to the LLC since, in no time.
    pub fn warm_llc(&mut self, line: Hpa, changed: bool) {
        let _written_before_time_began = self.shared.home.take_in(Victim { line, changed });
    }

    /// A line that `core` lacks comes from beyond, in no time.
    pub(super) fn bring(&mut self, core: usize, line: Hpa, store: bool) {
        let id = CoreId(core as u16);
        let state = self.shared.claim(line, id, store, &mut self.cores);
        if let Some(victim) = self.cores[core].warm(line, state) {
            if let Some(filter) = &mut self.shared.home.filter {
                filter.left(victim.line, id);
            }
            let _written_before_time_began = self.shared.home.take_in(victim);
        }
    }
}

fn ask_of(op: Op) -> Ask {
    match op {
        Op::Load | Op::Walk | Op::Prefetch(_) => Ask::Read,
        Op::Own => Ask::Own,
        Op::NonTemporal => Ask::Overwrite,
        // A part of a line is merged with what its owner had.
        Op::NonTemporalPart | Op::Flush => Ask::Flush,
        Op::Clean => Ask::Clean,
        Op::WriteBack | Op::PartialWrite | Op::Directory => unreachable!("home agents send these"),
    }
}
