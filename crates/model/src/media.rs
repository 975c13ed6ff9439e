//! Media: the store of the bytes behind a home agent or a CXL device.
//!
//! ```text
//!              channel map        one of
//!   arrive --> dpa -> channel --> Coarse    bus and banks as servers
//!     done <--                    Detailed  commands, each held to JEDEC's constraints
//!                                 Flash     dies behind a translation layer; only behind a device cache
//! ```
//!
//! A kind of media is one variant of [`MemorySpec`] and one of [`Memory`], and a file or folder of its own.

pub mod dram;
pub mod flash;

use cxlab_kernel::statistic::Entry;
use cxlab_kernel::{Bytes, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::addr::Dpa;
use crate::mem::{Access, AccessKind, Driver, Media, Tag, Wake};
use dram::{ChannelStats, Coarse, CoarseSpec, Detailed, DetailedSpec, DramError};
use flash::Flash;

/// A memory as a machine file describes it: exactly one model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MemorySpec {
    Coarse(CoarseSpec),
    Detailed(Box<DetailedSpec>),
}

impl MemorySpec {
    /// Latency of a read alone, from its arrival to its last beat at the requester. One simulated read gives it.
    ///
    /// # Errors
    /// [`DramError`] names the invalid parameter and the valid values.
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

    /// Source of the parameter that determines most of the latency.
    #[must_use]
    pub fn latency_source(&self) -> &str {
        match self {
            MemorySpec::Coarse(spec) => &spec.latency.source,
            MemorySpec::Detailed(spec) => &spec.dram.source,
        }
    }

    /// Bandwidth of all channels' buses `[GB/s]`.
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

/// A memory that can log what it does, for a checker.
#[derive(Debug)]
pub enum Logged<'a> {
    /// commands of DRAM channels
    Commands(&'a mut Detailed),
    /// operations of flash dies
    Operations(&'a mut Flash),
}

/// Several channels behind one channel map, in the model that the machine file chose.
#[derive(Clone, Debug)]
pub enum Memory {
    Coarse(Coarse),
    Detailed(Detailed),
    Flash(Box<Flash>),
}

impl Memory {
    /// # Errors
    /// [`DramError`] names the invalid parameter and the valid values.
    pub fn new(spec: &MemorySpec) -> Result<Self, DramError> {
        Ok(match spec {
            MemorySpec::Coarse(spec) => Memory::Coarse(Coarse::new(spec)?),
            MemorySpec::Detailed(spec) => Memory::Detailed(Detailed::new(spec)?),
        })
    }

    /// The memory's log; `None` if it keeps none. Coarse channels send no commands.
    pub fn logged(&mut self) -> Option<Logged<'_>> {
        match self {
            Memory::Coarse(_) => None,
            Memory::Detailed(memory) => Some(Logged::Commands(memory)),
            Memory::Flash(flash) => Some(Logged::Operations(flash)),
        }
    }

    /// Starts all statistics again at zero.
    pub fn clear_stats(&mut self) {
        match self {
            Memory::Coarse(memory) => memory.clear_stats(),
            Memory::Detailed(memory) => memory.clear_stats(),
            Memory::Flash(flash) => flash.clear_stats(),
        }
    }

    /// Capacity of the parts, without ECC `[B]`. The coarse model has no parts, and the device gives the capacity of
    /// flash.
    #[must_use]
    pub fn capacity(&self) -> Option<Bytes> {
        match self {
            Memory::Coarse(_) | Memory::Flash(_) => None,
            Memory::Detailed(memory) => Some(memory.capacity()),
        }
    }

    /// Statistics of each channel over `elapsed` `[ns]`, the time since the start. [`Memory::flash_report`] has those of
    /// flash.
    #[must_use]
    pub fn stats(&self, elapsed: Time) -> Vec<ChannelStats> {
        match self {
            Memory::Coarse(memory) => memory.stats(elapsed),
            Memory::Detailed(memory) => memory.stats(elapsed),
            Memory::Flash(_) => Vec::new(),
        }
    }

    /// Statistics of a drive over `elapsed`; `None` if the memory is no drive.
    #[must_use]
    pub fn flash_report(&self, elapsed: Time) -> Option<Vec<Entry>> {
        match self {
            Memory::Coarse(_) | Memory::Detailed(_) => None,
            Memory::Flash(flash) => Some(flash.report(elapsed)),
        }
    }
}

impl Media for Memory {
    /// An access that finds a full queue is counted and waits in order before the queue.
    #[inline]
    fn arrive<D: Driver>(&mut self, now: Time, access: Access, driver: &mut D) {
        match self {
            Memory::Coarse(memory) => memory.arrive(now, access, driver),
            Memory::Detailed(memory) => memory.arrive(now, access, driver),
            Memory::Flash(flash) => flash.arrive(now, access, driver),
        }
    }

    #[inline]
    fn wake<D: Driver>(&mut self, now: Time, wake: Wake, driver: &mut D) {
        match self {
            Memory::Coarse(_) => unreachable!("the coarse model never asks to be woken, but {wake:?} came"),
            Memory::Detailed(memory) => {
                let Wake::Channel(channel) = wake else {
                    unreachable!("channels alone ask to be woken, but {wake:?} came")
                };
                memory.wake(now, channel, driver);
            }
            Memory::Flash(flash) => flash.wake(now, wake, driver),
        }
    }
}
