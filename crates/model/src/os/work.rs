//! Kernel work is what a core has still to do in the kernel before its program goes on.

use cxlab_kernel::Time;

use super::{Frame, PageNumber};
use crate::mem::AccessKind;

/// A piece of kernel work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// instructions that touch nothing outside of the caches
    Spend(Time),
    /// sleep: the core has nothing else to do
    Sleep { until: Time },
    /// load and store the lines of a page, from this line on
    Copy { from: Frame, to: Frame, line: u64 },
    /// store zeroes to the lines of a page, from this line on
    Clear { frame: Frame, line: u64 },
    /// the SSD moves the page's lines, and nothing waits for them
    Dma { frame: Frame, kind: AccessKind },
    /// until every store has left the core
    Fence,
    /// look at and change what all cores share
    Then(Effect),
}

/// Effect at that moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// an access found its page not mapped
    Fault(PageNumber),
    /// a migration has copied its page
    Moved { page: PageNumber, to: Frame, reason: Reason },
    /// the SSD has read the page
    SwappedIn { page: PageNumber, asked: Time },
    /// the tick finds a scan due
    Scan,
    /// kswapd looks at the watermarks
    Reclaim,
}

/// Why a page moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    Promotion { begun: Time },
    Demotion { begun: Time },
}
