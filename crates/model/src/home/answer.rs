//! The way back: the answer of the memory or of the LLC goes to the core, and the request is finished.

use cxlab_kernel::Time;

use super::{Around, Event, Home, Queue, Socket};
use crate::mem::Stage;
use crate::request::{Op, Request, RequestKey};

impl Home {
    /// Sends the line, or the right to change it, from the home agent to the core.
    pub(super) fn answer_core<Q: Queue>(&mut self, now: Time, key: RequestKey, queue: &mut Q) {
        let request = &mut self.requests[key];
        let back = now + self.mesh.to_core(request.core(), request.slice);
        request.stamp(Stage::Snoop, now);
        request.stamp(Stage::FromHome, back);
        queue.schedule(back, Event::Fill(key));
    }

    /// Takes the memory's answer back to the home agent. From the other socket it crosses the socket link.
    pub(super) fn answered<A: Around>(&mut self, now: Time, key: RequestKey, around: &mut A) {
        match self.nodes[usize::from(self.requests[key].node.0)].socket {
            Socket::Own => self.go_home(now, key, around),
            Socket::Other => self.remote_answered(now, key, around),
        }
    }

    /// Takes an answer from memory controller, root port or link at `at` to the home agent and the core.
    pub(super) fn go_home<Q: Queue>(&mut self, at: Time, key: RequestKey, queue: &mut Q) {
        let request = &mut self.requests[key];
        match request.op {
            Op::WriteBack | Op::PartialWrite => queue.schedule(at, Event::Written(key)),
            Op::Load | Op::Own | Op::Walk | Op::Prefetch => {
                let home = at + self.to_memory;
                let core = home + self.mesh.to_core(request.core(), request.slice);
                request.stamp(Stage::MemoryToHome, home);
                request.stamp(Stage::FromHome, core);
                queue.schedule(core, Event::Fill(key));
            }
            Op::NonTemporal | Op::NonTemporalPart | Op::Flush | Op::Clean => {
                let home = at + self.to_memory;
                request.stamp(Stage::MemoryToHome, home);
                self.answer_core(home, key, queue);
            }
            Op::Directory => unreachable!("its memory's home agent forgets it"),
        }
    }

    /// Finishes a request that is back at its core. Returns the request and its latency since the line was wanted.
    pub fn finish<Q: Queue>(&mut self, now: Time, key: RequestKey, queue: &mut Q) -> (Request, Time) {
        let request = self.requests.remove(key);
        let latency = request.latency(now);
        if request.to_memory {
            self.nodes[usize::from(request.node.0)].counts.served(&request, latency);
        }
        if request.entered {
            self.give_back_entry(now, &request, queue);
            self.give_back_share(now, request.core(), request.slice, queue);
        }
        self.served(now, request.line, queue);
        (request, latency)
    }
}
