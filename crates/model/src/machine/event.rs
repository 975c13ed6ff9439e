//! Events of a machine, and the queue that the home agents put theirs into.

use cxlab_kernel::{EventQueue, Time};

use crate::addr::Hpa;
use crate::cxl::{Lanes, LinkRate};
use crate::drive;
use crate::fabric::{Due, WayId};
use crate::home;
use crate::mem::AccessKind;
use crate::request::CoreId;

/// The next event of a machine.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Event {
    /// a core goes on
    Resume(CoreId),
    /// a core that lacks its next step is asked again
    Ask(CoreId),
    Home(home::Event),
    Fabric(Due),
    /// the drive goes on
    Drive(drive::Due),
    /// something of a file of the host is there, under this number
    File(u32),
    /// a device that is no drive moves the page that begins at this line
    Dma(Hpa, AccessKind),
    /// the link at the root port of a way is trained anew
    Retrain(WayId, Lanes, LinkRate),
}

impl home::Queue for EventQueue<Event> {
    #[inline]
    fn schedule(&mut self, at: Time, event: home::Event) {
        EventQueue::schedule(self, at, Event::Home(event));
    }
}
