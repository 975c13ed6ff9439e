//! Memory behind one home: lines go in, and come out when its banks and buses allow.
//!
//! ```text
//!              channel map        one of
//!   arrive --> dpa -> channel --> Coarse    bus and banks as servers
//!     done <--                    Detailed  commands, each held to JEDEC's constraints
//! ```
//!
//! Whoever owns a memory is its [`Driver`]: it brings accesses in the order of time, wakes the memory when it
//! asked to be woken, and is told when each access is done. The memory never asks for a tick.
//!
//! Not modelled: refresh management and row hammer, power-down and self-refresh, ECC words and their scrubbing.

mod address_map;
mod channel_map;
pub mod checker;
mod clock;
mod coarse;
mod command;
mod controller;
mod controller_spec;
mod detailed;
mod device;
mod error;
mod page_policy;
mod queue;
mod refresh;
mod scheduler;
mod shape;
mod standard;
mod timing;

use cxlab_kernel::statistic::Entry;
use cxlab_kernel::{Bytes, Time};
use serde::{Deserialize, Serialize};

use crate::addr::Dpa;

pub use address_map::{AddressMap, AddressMapSpec, Field, Hash, Location};
pub use channel_map::{ChannelMap, Granularity, Place};
pub use clock::{Clock, Cycles, Generation, Minimum, TransferRate};
pub use coarse::{Coarse, CoarseSpec, CoarseStats};
pub use command::{BankAddress, Command, Issued};
pub use controller::ControllerStats;
pub use controller_spec::ControllerSpec;
pub use detailed::{Detailed, DetailedSpec};
pub use device::Device;
pub use error::DramError;
pub use page_policy::PagePolicy;
pub use refresh::RefreshMode;
pub use shape::{BankIndex, Shape};
pub use standard::{Dram, Organisation, Preset};
pub use timing::{SameBankRefresh, SameBankRefreshSpec, Timing, TimingSpec};

/// Whether a line is fetched or stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessKind {
    Read,
    Write,
}

/// What the driver knows an access by; opaque to the memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Tag(pub u32);

/// One line to or from a memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// any byte of the line
    pub dpa: Dpa,
    pub kind: AccessKind,
    pub tag: Tag,
}

/// Which channel asked to be woken; given back to [`Memory::wake`] as it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wake(u32);

/// What a memory asks of whoever drives it.
pub trait Driver {
    /// Call [`Memory::wake`] with `wake` at the time `at`, which has not passed.
    fn wake(&mut self, at: Time, wake: Wake);

    /// The access `tag` is done at `at`, which may be ahead of the present. A read is done when its last beat
    /// is at the requester's side of the controller; a write when the controller has taken it over, which is
    /// when a CXL device may send its NDR.
    fn done(&mut self, at: Time, tag: Tag);
}

/// A memory as a machine file describes it; exactly one model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MemorySpec {
    Coarse(CoarseSpec),
    Detailed(Box<DetailedSpec>),
}

/// What one channel (in the detailed model: one sub-channel) tells.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ChannelStats {
    pub channel: u32,
    pub entries: Vec<Entry>,
}

impl MemorySpec {
    /// A read alone, from its arrival to its last beat at the requester: found by reading once.
    ///
    /// # Errors
    /// [`DramError`] names the parameter that cannot be, and what is valid.
    pub fn idle_read_latency(&self) -> Result<Time, DramError> {
        let mut memory = Memory::new(self)?;
        let mut alone = Alone::default();
        let access = Access { dpa: Dpa::default(), kind: AccessKind::Read, tag: Tag(0) };
        memory.arrive(Time::ZERO, access, &mut alone);
        loop {
            if let Some(done) = alone.done {
                return Ok(done);
            }
            let (at, wake) = alone.wake.take().expect("a memory with a read in it finishes it or asks to be woken");
            memory.wake(at, wake, &mut alone);
        }
    }

    /// Where the parameter that says most about its latency is from.
    #[must_use]
    pub fn latency_source(&self) -> &str {
        match self {
            MemorySpec::Coarse(spec) => &spec.latency.source,
            MemorySpec::Detailed(spec) => &spec.dram.source,
        }
    }

    /// What all channels' buses carry [GB/s].
    #[must_use]
    pub fn peak_gb_s(&self) -> f64 {
        match self {
            MemorySpec::Coarse(spec) => spec.bandwidth.as_gb_s() * f64::from(*spec.channels),
            MemorySpec::Detailed(spec) => {
                spec.dram.dram().peak_bytes_per_second() as f64 * f64::from(*spec.channels) / 1e9
            }
        }
    }
}

/// Drives a memory that serves one read.
#[derive(Default)]
struct Alone {
    wake: Option<(Time, Wake)>,
    done: Option<Time>,
}

impl Driver for Alone {
    fn wake(&mut self, at: Time, wake: Wake) {
        self.wake = Some((at, wake));
    }

    fn done(&mut self, at: Time, _tag: Tag) {
        self.done = Some(at);
    }
}

/// Several channels behind one channel map, in the model that the machine file chose.
#[derive(Clone, Debug)]
pub enum Memory {
    Coarse(Coarse),
    Detailed(Detailed),
}

impl Memory {
    /// # Errors
    /// [`DramError`] names the parameter that cannot be, and what is valid.
    pub fn new(spec: &MemorySpec) -> Result<Self, DramError> {
        Ok(match spec {
            MemorySpec::Coarse(spec) => Memory::Coarse(Coarse::new(spec)?),
            MemorySpec::Detailed(spec) => Memory::Detailed(Detailed::new(spec)?),
        })
    }

    /// Take `access` in. Always accepts: what finds a full queue waits in order before it, and is counted.
    /// `now` never goes back from one call to the next.
    #[inline]
    pub fn arrive<D: Driver>(&mut self, now: Time, access: Access, driver: &mut D) {
        match self {
            Memory::Coarse(memory) => memory.arrive(now, access, driver),
            Memory::Detailed(memory) => memory.arrive(now, access, driver),
        }
    }

    /// The time for which the memory asked to be woken has come.
    #[inline]
    pub fn wake<D: Driver>(&mut self, now: Time, wake: Wake, driver: &mut D) {
        match self {
            Memory::Coarse(_) => unreachable!("the coarse model never asks to be woken, but {wake:?} came"),
            Memory::Detailed(memory) => memory.wake(now, wake, driver),
        }
    }

    /// Let statistics begin here.
    pub fn clear_stats(&mut self) {
        match self {
            Memory::Coarse(memory) => memory.clear_stats(),
            Memory::Detailed(memory) => memory.clear_stats(),
        }
    }

    /// What the parts hold, without ECC [B]; the coarse model has no parts.
    #[must_use]
    pub fn capacity(&self) -> Option<Bytes> {
        match self {
            Memory::Coarse(_) => None,
            Memory::Detailed(memory) => Some(memory.capacity()),
        }
    }

    /// Statistics of each channel over `elapsed` [ns], the time since the start.
    #[must_use]
    pub fn stats(&self, elapsed: Time) -> Vec<ChannelStats> {
        match self {
            Memory::Coarse(memory) => memory.stats(elapsed),
            Memory::Detailed(memory) => memory.stats(elapsed),
        }
    }
}
