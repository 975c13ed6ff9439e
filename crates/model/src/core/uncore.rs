//! The services that a core needs of the machine around it. The core sees nothing else of the machine.

use cxlab_kernel::Time;

use crate::addr::Hpa;
use crate::cache::Victim;
use crate::error::ModelError;
use crate::mem::AccessKind;
use crate::request::{CoreId, Evicted, RequestKey, Want};
use crate::translation::{Mapping, PageId};

/// Services that a core needs of the machine around it.
pub trait Uncore {
    /// When the next event is due or another core goes on, if one does.
    fn next_event(&self) -> Option<Time>;
    /// When the last event was. What waited for it begins no earlier.
    fn last_event(&self) -> Time;
    /// As [`Uncore::next_event`]. `None` if nothing is under way but what drives and flash do by themselves.
    fn next_work(&self) -> Option<Time>;
    /// Whether an event is due before the core may act at `at`, or another core is too far behind. Cores that go on
    /// before then have their turns behind this one.
    fn has_to_wait(&mut self, core: CoreId, at: Time) -> bool;
    /// Whether another core still has to come to `at`.
    fn is_ahead(&self, at: Time) -> bool;
    /// Calls [`Core::run`](super::Core::run) again at `at`.
    fn resume(&mut self, core: CoreId, at: Time);
    /// Requests a line. The request leaves the core at `leaves`. Without `leaves`, [`Uncore::depart`] says when.
    fn request(&mut self, want: Want, leaves: Option<Time>) -> Result<RequestKey, ModelError>;
    /// A victim that L2 will probably give up soon. This changes nothing but speed.
    fn expect(&self, victim: Hpa);
    /// Mapping of a page in the page tables; `None` if the page is not in them.
    fn mapping(&self, page: PageId) -> Option<Mapping>;
    /// Tells the drive to begin its command `number` at `at`. The drive knows the command already.
    fn ask_drive(&mut self, number: u32, at: Time);
    /// A device moves the page that begins at this line: from memory if it reads, to memory if it writes.
    fn dma(&mut self, page: Hpa, kind: AccessKind, at: Time);
    /// A file of the host is asked for something under this number, which is there at `at`.
    fn ask_file(&mut self, number: u32, at: Time);
    /// Number of requests that the drive and the host's files have answered so far, and when the last one was.
    fn requests_done(&self) -> (u64, Time);
    /// A waiting request has its buffers and leaves the core.
    fn depart(&mut self, key: RequestKey, at: Time);
    /// Whether a prefetch of the line is refused: the line has no memory, or its home agents have no free entry.
    fn congested(&self, line: Hpa, at: Time) -> bool;
    /// Tells the LLC of a changed line of the core. The core keeps the line.
    fn cleaned(&mut self, core: CoreId, line: Hpa, at: Time);
    /// Tells the home agents that they have taken a line from the core's caches.
    fn victim(&mut self, core: CoreId, victim: Victim, at: Time);
    /// Tells the home agents that L2 has to give up a line. Returns what the core has to send to the slice.
    fn evict(&mut self, core: CoreId, victim: Victim, at: Time) -> Evicted;
    /// A victim of L2 leaves the core for its slice. Returns when the home agent will have pulled it; `None` if
    /// [`Core::pulled`] will say so.
    ///
    /// [`Core::pulled`]: super::Core::pulled
    fn pull(&mut self, core: CoreId, evicted: Evicted, at: Time) -> Option<Time>;
}
