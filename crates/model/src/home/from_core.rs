//! The way from a core to its slice: a request is made, waits for its buffers, and leaves for the home agent.

use cxlab_kernel::Time;

use super::{Event, Home, Queue};
use crate::addr::Hpa;
use crate::error::ModelError;
use crate::mem::Stage;
use crate::request::{HomeId, Request, RequestKey, Want};

impl Home {
    /// Makes a request for a line. It leaves the core at `leaves`; `None` if it waits for its buffers, and
    /// [`Home::depart`] follows.
    ///
    /// # Errors
    /// `RUN003` if the line has no memory.
    pub fn request<Q: Queue>(
        &mut self,
        want: Want,
        leaves: Option<Time>,
        queue: &mut Q,
    ) -> Result<RequestKey, ModelError> {
        let Want { by, line, op, born, translated } = want;
        let mut request = Request::new(line, op, by, self.check(line)?, born);
        request.stamp(Stage::Translation, translated);
        self.expect_at(request.slice, line);
        let key = self.requests.insert(request);
        if let Some(leaves) = leaves {
            self.depart(key, leaves, queue);
        }
        Ok(key)
    }

    /// The node and the slice of the line's home agent.
    ///
    /// # Errors
    /// `RUN003` if the line has no memory.
    pub fn check(&self, line: Hpa) -> Result<HomeId, ModelError> {
        self.of(line).ok_or_else(|| ModelError::NoMemory {
            address: line.get(),
            machine: "that runs".into(),
            ranges: self.map.ranges(),
        })
    }

    /// Sends a request that has its buffers from the core.
    pub fn depart<Q: Queue>(&mut self, key: RequestKey, at: Time, queue: &mut Q) {
        let request = &mut self.requests[key];
        // A buffer that came free before the address was known costs no wait.
        let at = at.max(request.last());
        request.stamp(Stage::FillBuffer, at);
        let to_home = self.mesh.to_home(request.core(), request.slice);
        queue.schedule(at + to_home, Event::Home(key));
    }

    /// Whether a prefetch of the line is refused: the line has no memory, or its slice's table has no free entry.
    pub fn congested(&self, line: Hpa, at: Time) -> bool {
        self.of(line).is_none_or(|home| !self.tables.has_room(home.slice, at))
    }
}
