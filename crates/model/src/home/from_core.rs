//! The way from a core to its slice: a request is made, waits for its buffers, and leaves for the home agent.

use cxlab_kernel::Time;

use super::{Event, Home, Queue};
use crate::addr::Hpa;
use crate::cache::Reference;
use crate::error::ModelError;
use crate::mem::Stage;
use crate::request::{HomeId, Op, Request, RequestKey};

impl Home {
    /// Makes a request for a line that is wanted since `born`, and whose address is translated at `at`. The request
    /// waits for a fill buffer.
    ///
    /// # Errors
    /// `RUN003` if the line has no memory.
    pub fn request(
        &mut self,
        by: Reference,
        line: Hpa,
        op: Op,
        born: Time,
        at: Time,
    ) -> Result<RequestKey, ModelError> {
        let home = self.check(line)?;
        let mut request = Request::new(line, op, by, home, born);
        request.stamp(Stage::Translation, at);
        Ok(self.requests.insert(request))
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

    /// Sends a request that has its fill buffer from the core.
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
