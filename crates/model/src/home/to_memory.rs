//! From the home agent to the memory: a request leaves for its memory controller or root port, or for the other socket.

use cxlab_kernel::Time;

use super::{Event, Home, Queue, Socket};
use crate::request::RequestKey;

impl Home {
    /// Sends a request to its memory.
    pub(super) fn leave<Q: Queue>(&mut self, now: Time, key: RequestKey, queue: &mut Q) {
        let request = &mut self.requests[key];
        request.to_memory = true;
        let away = self.nodes[usize::from(request.node.0)].socket == Socket::Other;
        queue.schedule(now + self.to_memory, if away { Event::Cross(key) } else { Event::Memory(key) });
    }
}
