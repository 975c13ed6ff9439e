//! The home agent at its slice: the table of requests, the snoop filter, the LLC, and the memory if the LLC has no
//! copy.
//!
//! ```text
//!   requests.rs: table -> snoops.rs: snoop filter -> LLC --has it-----> answer.rs
//!        ^                                               --has it not--> to_memory.rs
//!   write_buffers.rs: only lines of non-temporal stores
//! ```
//!
//! A write leaves its data with the home agent. The home agent answers the core at once, and then writes the line.

use cxlab_kernel::Time;

use super::snoops::Found;
use super::{Around, Home, Queue, Socket};
use crate::addr::Hpa;
use crate::cache::{Reference, SliceId};
use crate::mem::Stage;
use crate::request::{Op, Request, RequestKey};

impl Home {
    /// A request reaches its slice. A request that waited for its line comes here again when it is its turn.
    pub(super) fn reach<A: Around>(&mut self, now: Time, key: RequestKey, around: &mut A) {
        let request = &mut self.requests[key];
        request.stamp(Stage::ToHome, now);
        if request.entered || (self.take_write_buffer(now, key, around) && self.enter_table(now, key, around)) {
            self.serve(now, key, around);
        }
    }

    /// A non-temporal store's line that waited has a write buffer.
    pub(super) fn buffered<A: Around>(&mut self, now: Time, key: RequestKey, around: &mut A) {
        if self.enter_table(now, key, around) {
            self.serve(now, key, around);
        }
    }

    /// A changed line has left the LLC.
    pub(super) fn evicted<Q: Queue>(&mut self, now: Time, key: RequestKey, queue: &mut Q) {
        if self.enter_table(now, key, queue) {
            self.leave(now, key, queue);
        }
    }

    /// A request that waited has its entry of the slice's table.
    pub(super) fn entered<A: Around>(&mut self, now: Time, key: RequestKey, around: &mut A) {
        self.has_waited(now, key);
        let victim = self.requests[key].op == Op::WriteBack;
        if victim { self.leave(now, key, around) } else { self.serve(now, key, around) }
    }

    /// Serves a request that has its entry of the slice's table.
    fn serve<A: Around>(&mut self, now: Time, key: RequestKey, around: &mut A) {
        let found = self.look_up(now, key, around);
        let Request { op, line, .. } = self.requests[key];
        if op == Op::Own && !matches!(found, Found::Busy) {
            around.orders(self.requests[key].core(), line);
        }
        match found {
            Found::Busy => {}
            Found::Answer(snooped) => self.answer_core(snooped, key, around),
            Found::Here(snooped) => self.fetch(now, snooped, key, around),
        }
    }

    /// Gets the line from the LLC, or asks its memory, or writes it. `snooped` is when other cores have answered.
    fn fetch<Q: Queue>(&mut self, now: Time, snooped: Time, key: RequestKey, queue: &mut Q) {
        let Request { op, line, slice, by, .. } = self.requests[key];
        let done = match op {
            Op::Load | Op::Own | Op::Walk | Op::Prefetch => self.look_up_llc(slice, line, by),
            // The new data replace the whole line, so the LLC's copy is worthless.
            Op::NonTemporal => {
                self.llc.forget(slice, line);
                false
            }
            Op::NonTemporalPart => {
                if self.llc.forget(slice, line) {
                    self.write_back(line, by.core, now, queue);
                }
                false
            }
            Op::Flush => !self.llc.forget(slice, line),
            Op::Clean => !self.llc.clean(slice, line),
            Op::WriteBack | Op::PartialWrite | Op::Directory => unreachable!("home agents send these"),
        };
        if done { self.answer_core(snooped, key, queue) } else { self.ask_memory(now, key, queue) }
    }

    fn look_up_llc(&mut self, slice: SliceId, line: Hpa, by: Reference) -> bool {
        let hit = self.llc.touch(slice, line, by);
        *if hit { &mut self.hits } else { &mut self.misses } += 1;
        hit
    }

    /// Sends the request to its memory. The home agent of the line's own socket takes the data of a write into the
    /// entry and answers at once. It writes the line afterwards. A line of the other socket is ordered by the home
    /// agent there, so the core waits for its acknowledgement. Source: Loughlin et al., MOESI-prime, ISCA 2022:
    /// coherence among sockets is the home socket's.
    fn ask_memory<Q: Queue>(&mut self, now: Time, key: RequestKey, queue: &mut Q) {
        let request = &mut self.requests[key];
        let op = match request.op {
            Op::NonTemporal | Op::Flush | Op::Clean => Op::WriteBack,
            Op::NonTemporalPart => Op::PartialWrite,
            Op::Load | Op::Own | Op::Walk | Op::Prefetch | Op::WriteBack | Op::PartialWrite => {
                return self.leave(now, key, queue);
            }
            Op::Directory => unreachable!("its memory's home agent sends this"),
        };
        let mut posted = Request::new(request.line, op, request.by, request.home(), now);
        // The entry now holds the data of the posted write, and the core may use another.
        posted.entered = std::mem::take(&mut request.entered);
        posted.buffered = std::mem::take(&mut request.buffered);
        self.give_back_share(now, posted.core(), posted.slice, queue);
        if self.nodes[usize::from(posted.node.0)].socket == Socket::Other {
            posted.answers = Some(key);
        } else {
            self.answer_core(now, key, queue);
        }
        let posted = self.requests.insert(posted);
        self.leave(now, posted, queue);
    }
}
