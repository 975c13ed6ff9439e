//! One direction of the link: messages become slots, slots become flits, flits follow each other on the wire.
//!
//! ```text
//!   time ->   | H D D D | D H D D | D D . . |   idle   | H D D D | D . . . |
//!               on the wire: closed ^ the tail flit: a message that comes before it starts joins it
//! ```
//!
//! A message gets its slots when it comes. They are the rest of the last flit, if that has not started, then new
//! flits. Flits are back to back while the wire is busy. A header slot that has not started takes further headers as
//! the packing rule allows. That is what a packer does that looks at its queue when a flit is due, without an event
//! for each flit. It is sound because messages come in time order, which is asserted.
//!
//! A flit whose CRC fails costs its own time, the retry latency, and its time again. All later flits move back with
//! it, as go-back-N has them sent again.
//!
//! Not modelled: the grid of flits on an idle wire, where a flit starts when there is something to send. Nor is the
//! slot that RETRY.Req takes on the other wire.
//!
//! Source: CXL 2.0, 4.2.5 (packing), 4.2.8 (retry).

use std::collections::VecDeque;

use cxlab_kernel::{Stream, Time, order};

use super::flit::{FLIT_BITS, SLOTS};
use super::{Class, FlitClock, LinkSpec, WireStats};

/// State of one direction.
#[derive(Clone, Debug)]
pub struct Wire {
    clock: FlitClock,
    packing: Packing,
    /// start of the run of flits back to back that the tail is in `[ps]`
    run: Time,
    /// flits in that run
    run_flits: u64,
    tail: Flit,
    /// slots of the tail flit that are taken
    tail_used: u8,
    /// the newest header slot of DRS, and how many more it takes
    drs_header: (Flit, u8),
    /// header slots that may take NDR, oldest first, and how many more each takes
    ndr_headers: VecDeque<(Flit, u8)>,
    errors: FlitErrors,
    /// when the last message came `[ps]`, to check the order
    arrived: Time,
    stats: WireStats,
    /// flits, replays included, before the link was trained anew, and how long they were on the wire
    before: (u64, Time),
}

/// When a flit starts for the first time and when it has arrived without error, both at the sender's end.
#[derive(Clone, Copy, Debug)]
struct Flit {
    starts: Time,
    ends: Time,
}

impl Flit {
    const NONE: Flit = Flit { starts: Time::ZERO, ends: Time::ZERO };
}

/// The packing rule as plain numbers.
#[derive(Clone, Copy, Debug)]
struct Packing {
    drs_per_header: u8,
    ndr_with_drs: u8,
    ndr_per_header: u8,
}

impl Wire {
    pub fn new(spec: &LinkSpec, errors: Stream) -> Wire {
        let packing = &spec.packing;
        Wire {
            clock: spec.flit_clock(),
            packing: Packing {
                drs_per_header: *packing.drs_per_header,
                ndr_with_drs: *packing.ndr_with_drs,
                ndr_per_header: *packing.ndr_per_header,
            },
            run: Time::ZERO,
            run_flits: 0,
            tail: Flit::NONE,
            tail_used: SLOTS,
            drs_header: (Flit::NONE, 0),
            ndr_headers: VecDeque::new(),
            errors: FlitErrors::new(spec, errors),
            arrived: Time::ZERO,
            stats: WireStats::default(),
            before: (0, Time::ZERO),
        }
    }

    /// The link is trained anew: nothing is sent before `up`, flits then take the time of `clock`. What has its slots
    /// already keeps them.
    pub fn retrain(&mut self, up: Time, clock: FlitClock) {
        self.before = (self.flits(), self.busy());
        self.clock = clock;
        self.stats.empty_slots.add(u64::from(SLOTS - self.tail_used));
        (self.run, self.run_flits) = (self.tail.ends.max(up), 0);
        (self.tail, self.tail_used) = (Flit { starts: self.run, ends: self.run }, SLOTS);
        self.drs_header = (Flit::NONE, 0);
        self.ndr_headers.clear();
    }

    /// Time that flits were on the wire.
    pub fn busy(&self) -> Time {
        let (flits, busy) = self.before;
        busy + self.clock.flits(self.flits() - flits)
    }

    fn flits(&self) -> u64 {
        self.stats.flits.get() + self.stats.retries.get()
    }

    /// Give a message that is ready at `now` its slots: when the last of them has left, in a flit without error.
    pub fn send(&mut self, now: Time, class: Class) -> Time {
        if now < self.arrived {
            order::violated("a message on a wire", self.arrived.as_ps(), now.as_ps());
        }
        self.arrived = now;
        let end = match class {
            Class::Req(_) => self.header(now).ends,
            Class::Rwd(_) => {
                self.header(now);
                self.data(now, class.data_slots())
            }
            Class::Drs(_) => {
                self.drs(now);
                self.data(now, class.data_slots())
            }
            Class::Ndr(_) => self.ndr(now),
        };
        self.count(now, class, end);
        end
    }

    /// Statistics, with the slots of the last flit.
    pub fn stats(&self) -> WireStats {
        let mut stats = self.stats.clone();
        stats.empty_slots.add(u64::from(SLOTS - self.tail_used));
        stats
    }

    /// Let counts begin here.
    pub fn clear_stats(&mut self) {
        (self.stats, self.before) = (WireStats::default(), (0, Time::ZERO));
    }

    fn drs(&mut self, now: Time) {
        let (header, room) = self.drs_header;
        if room > 0 && header.starts >= now {
            self.drs_header.1 -= 1;
            return;
        }
        let flit = self.header(now);
        self.drs_header = (flit, self.packing.drs_per_header - 1);
        self.open_to_ndr(now, flit, self.packing.ndr_with_drs);
    }

    fn ndr(&mut self, now: Time) -> Time {
        self.close_started(now);
        if let Some((flit, room)) = self.ndr_headers.front_mut() {
            *room -= 1;
            return flit.ends;
        }
        let flit = self.header(now);
        self.open_to_ndr(now, flit, self.packing.ndr_per_header - 1);
        flit.ends
    }

    fn open_to_ndr(&mut self, now: Time, flit: Flit, room: u8) {
        self.close_started(now);
        if room > 0 {
            self.ndr_headers.push_back((flit, room));
        }
    }

    /// Forget the header slots that no NDR can join any more.
    fn close_started(&mut self, now: Time) {
        while self.ndr_headers.front().is_some_and(|(flit, room)| flit.starts < now || *room == 0) {
            self.ndr_headers.pop_front();
        }
    }

    fn header(&mut self, now: Time) -> Flit {
        self.take(now, 1);
        self.stats.header_slots.increment();
        self.tail
    }

    fn data(&mut self, now: Time, slots: u8) -> Time {
        self.take(now, slots);
        self.stats.data_slots.add(u64::from(slots));
        self.tail.ends
    }

    /// Take the next slots: of the tail flit, then of new ones.
    fn take(&mut self, now: Time, mut slots: u8) {
        while slots > 0 {
            if self.tail_used == SLOTS || self.tail.starts < now {
                self.stats.empty_slots.add(u64::from(SLOTS - self.tail_used));
                self.open_flit(now);
                self.tail_used = 0;
            }
            let taken = slots.min(SLOTS - self.tail_used);
            self.tail_used += taken;
            slots -= taken;
        }
    }

    fn open_flit(&mut self, now: Time) {
        if self.tail.ends < now {
            (self.run, self.run_flits) = (now, 0);
        }
        self.tail.starts = self.tail.ends.max(now);
        self.run_flits += 1;
        self.stats.flits.increment();
        while self.errors.strikes() {
            self.run = self.run + self.clock.flits(self.run_flits) + self.errors.retry_latency;
            self.run_flits = 1;
            self.stats.retries.increment();
        }
        self.tail.ends = self.run + self.clock.flits(self.run_flits);
    }

    fn count(&mut self, now: Time, class: Class, end: Time) {
        match class {
            Class::Rwd(_) | Class::Drs(_) => self.stats.with_data.increment(),
            Class::Req(_) | Class::Ndr(_) => self.stats.without_data.increment(),
        }
        self.stats.wait.record(end.since(now + self.clock.message(class)));
    }
}

/// Which flits fail their CRC: independent bit errors, so the number of good flits between is geometric.
#[derive(Clone, Debug)]
struct FlitErrors {
    stream: Stream,
    /// ln of the probability that a flit is good, below 0; `None` where bits never fail
    ln_good: Option<f64>,
    /// good flits before the next that fails
    good: u64,
    retry_latency: Time,
}

impl FlitErrors {
    fn new(spec: &LinkSpec, stream: Stream) -> FlitErrors {
        // (1 - bit error rate)^bits, in logarithms: the rate is far below the step of 1.0.
        let ln_good = FLIT_BITS as f64 * (-*spec.bit_error_rate).ln_1p();
        let ln_good = (ln_good < 0.0).then_some(ln_good);
        let mut errors = FlitErrors { stream, ln_good, good: 0, retry_latency: *spec.retry_latency };
        errors.draw();
        errors
    }

    fn draw(&mut self) {
        self.good = match self.ln_good {
            // 1 - unit is in (0, 1]: the logarithm is finite.
            Some(ln_good) => ((1.0 - self.stream.unit()).ln() / ln_good) as u64,
            None => u64::MAX,
        };
    }

    fn strikes(&mut self) -> bool {
        if self.good > 0 {
            self.good -= 1;
            return false;
        }
        self.draw();
        true
    }
}
