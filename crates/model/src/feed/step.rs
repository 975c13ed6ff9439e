//! A step: what a feed has its core do next.

use cxlab_access::{Forget, Keep, Marker, Phase};
use cxlab_kernel::Time;

use super::{Instruction, Outcome};
use crate::addr::Hpa;
use crate::mem::AccessKind;
use crate::request::CoreId;

/// An instruction that a step executes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Execution<'a> {
    pub instruction: &'a Instruction,
    /// it is the kernel's
    pub kernel: bool,
    /// where a branch went, if that is known
    pub outcome: Option<Outcome>,
}

impl<'a> Execution<'a> {
    /// One of a program that is no branch.
    #[inline]
    #[must_use]
    pub fn of(instruction: &'a Instruction) -> Execution<'a> {
        Execution { instruction, kernel: false, outcome: None }
    }
}

/// The next step of a core. Its tag has eight bytes, so that it is copied in whole words. A word that is read across
/// two that have just been written waits for both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum Step {
    /// Execute the feed's `execution`; the lines it touches are the feed's `accesses`.
    Execute,
    /// Execute the feed's `execution`, which reads the clock, and answer its commit time.
    ReadClock {
        sequence: u64,
    },
    /// Answer the time here.
    Sync {
        sequence: u64,
    },
    /// Answer the time when all before is committed and all stores have left the core. Later instructions that need no memory do
    /// not wait for that.
    SyncDrained {
        sequence: u64,
    },
    /// As `SyncDrained`, and the core has the ownership of this line by then, as the home agent has ordered it. What comes next takes
    /// a lock in that line, or gives it back.
    SyncOwning {
        sequence: u64,
        line: Hpa,
    },
    /// All before is to be committed; nothing is asked.
    Drain,
    /// Answer the time when all before is committed.
    Settle {
        sequence: u64,
    },
    /// Answers with the time when all earlier steps are committed, and all that was due earlier on other cores has
    /// happened. The program may then read and change what threads share.
    Turn {
        sequence: u64,
    },
    /// Nothing happened until then.
    Idle {
        until: Time,
    },
    /// Nothing happened until then, or until more requests of devices were done than so many. Some were under way.
    Rest {
        until: Time,
        done: u64,
    },
    /// The drive is asked for the command of this number.
    Disk {
        number: u32,
    },
    /// A file of the host is asked for something, under this number. It is there so long after.
    File {
        number: u32,
        service: Time,
    },
    /// A device moves the page that begins at this line. It reads memory, or it writes there. Nothing waits for it.
    Dma {
        page: Hpa,
        kind: AccessKind,
    },
    /// A device took this long while the core waited.
    Device {
        service: Time,
    },
    /// All before is committed, and every store is in its cache or, past the caches, with its home agent.
    Fence,
    /// A loop that only lets time pass: nothing is dispatched for so long.
    Delay {
        span: Time,
    },
    Mark {
        marker: Marker,
    },
    /// Translations are forgotten.
    Invalidate {
        forget: Forget,
    },
    /// A phase of a sampled run begins here; before warming nothing is left under way.
    Sample {
        phase: Phase,
        position: u64,
        /// of the windows before
        keep: Keep,
    },
    /// The vCPU waits for an interrupt.
    Halt,
    /// Here a core that had halted goes on.
    Wake {
        woken: CoreId,
    },
    /// Nothing comes before another core wakes this one.
    Asleep,
    /// The next step has not arrived yet. By what has arrived, the core is `awake` or not. If it is to be and has halted still, it
    /// does nothing before another one comes to where it wakes it.
    Starved {
        awake: bool,
    },
    End,
}
