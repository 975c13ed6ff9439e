//! The language of every memory component: an access, its owner, and what a component asks of its driver.
//!
//! ```text
//!   home agent --Access--> fabric --Access--> media        each takes accesses in time order,
//!              <--done----        <--done----              asks to be woken, and tells its driver what is done
//! ```
//!
//! A component never asks for a tick, and knows its neighbours by these types alone.

mod done;
mod stage;

use cxlab_kernel::Time;

use crate::addr::Dpa;

pub use done::Done;
pub use stage::{MOST_SWITCHES, Place, Stage};

/// Whether a line is fetched or stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessKind {
    /// over CXL: M2S Req out, S2M DRS back
    Read,
    /// over CXL: M2S RwD out, S2M NDR back
    Write,
}

/// Number by which a driver knows an access. Components do not read it. Tags are small and used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tag(pub u32);

/// One line to or from a memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// any byte of the line
    pub dpa: Dpa,
    pub kind: AccessKind,
    pub tag: Tag,
}

/// How much of its line a write brings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    Line,
    /// what stores the line has to read it first, and merges
    Part,
}

/// The core or component that an access is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// a request of whoever drives the fabric, by its tag
    Request(Tag),
    /// a device, or a memory controller, which needs the line for this access of its own table
    Device(Tag),
    /// a device's cache, which moves a page, by the tag of its own table
    Cache(Tag),
    /// the write log of a device's cache, which compacts a page, by the tag of its own table
    Log(Tag),
}

/// The event that a component has asked to be woken for. The driver gives it back as it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wake {
    /// an access has come through to the next step of its way out
    Out(Tag),
    /// an answer has come through to the next step of its way back
    Back(Tag),
    /// the first that waits for entries may have them
    Admit,
    /// the first that waits for an entry of this kind may have it
    Entry(AccessKind),
    /// a channel of a memory is due
    Channel(u32),
}

/// Services that a component asks of its driver. `W` is the event that it is woken with.
pub trait Driver<W = Wake> {
    /// Wake the component with `wake` at `at`, which has not passed.
    fn wake(&mut self, at: Time, wake: W);

    /// `stage` of `tag` ends at `at`, which may be ahead of the present. A memory stamps nothing: it is one stage.
    fn stamp(&mut self, _tag: Tag, _stage: Stage, _at: Time) {}

    /// The access `tag` is done at `at`, which may be ahead of the present. A read is done when its data is with the
    /// driver. A write is done when the component has taken it over. From then on a CXL device may send its NDR.
    fn done(&mut self, at: Time, tag: Tag);
}

/// A memory that stores lines.
pub trait Media {
    /// Take `access` in. Always accepts; `now` never goes back from one call to the next.
    fn arrive<D: Driver>(&mut self, now: Time, access: Access, driver: &mut D);

    /// The time for which it asked to be woken has come.
    fn wake<D: Driver>(&mut self, now: Time, wake: Wake, driver: &mut D);
}
