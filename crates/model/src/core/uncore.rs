//! What a core needs of the machine around it: the machine gives it, and nothing else of itself.

use cxlab_kernel::Time;

use crate::addr::Hpa;
use crate::cache::{Reference, Victim};
use crate::error::ModelError;
use crate::request::{CoreId, Op, RequestKey};
use crate::translation::{Mapping, PageId};

/// What a core needs of the machine around it.
pub trait Uncore {
    /// When the next event is due, if one is.
    fn next_event(&self) -> Option<Time>;
    /// Call [`Core::run`] again at `at`.
    fn resume(&mut self, core: CoreId, at: Time);
    /// A line is wanted since `born`, and its address is translated at `at`. The request leaves the core at `leaves`; without it,
    /// [`Uncore::depart`] says when.
    fn request(
        &mut self,
        by: Reference,
        line: Hpa,
        op: Op,
        born: Time,
        at: Time,
        leaves: Option<Time>,
    ) -> Result<RequestKey, ModelError>;
    /// How page tables map a page; `None` if a stream names one that is not there.
    fn mapping(&self, page: PageId) -> Option<Mapping>;
    /// The drive is to begin the command of this number, which was told, at `at`.
    fn ask_drive(&mut self, number: u32, at: Time);
    /// Commands that the drive has done so far, and when the last one was.
    fn drive_done(&self) -> (u64, Time);
    /// A request that waited has its buffers and leaves the core.
    fn depart(&mut self, key: RequestKey, at: Time);
    /// Whether the line should not be read ahead: it has no memory, or its home agents have no free entry.
    fn congested(&self, line: Hpa, at: Time) -> bool;
    /// A core's changed line becomes known to the LLC; the core keeps it.
    fn cleaned(&mut self, core: CoreId, line: Hpa, at: Time);
    /// A line has left the core's caches.
    fn victim(&mut self, core: CoreId, victim: Victim, at: Time);
    /// A victim leaves the core for its slice: when the home agent will have pulled it; `None` if [`Core::pulled`] will say so.
    ///
    /// [`Core::pulled`]: super::Core::pulled
    fn pull(&mut self, core: CoreId, line: Hpa, at: Time) -> Option<Time>;
}
