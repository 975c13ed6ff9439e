//! Flash: a drive of dies on channels, behind a translation layer.
//!
//! ```text
//!                         channel (bus)     die, one operation at a time
//!   arrive -> unit -> die --+-------------- [ read queue | write buffer | translation layer, garbage collection ]
//!     done <---- controller +-------------- [ ...
//! ```
//!
//! An access is to a unit of the translation layer, just as a device cache before the flash has lines. A write is done
//! when it is in the write buffer. The drive's capacitors keep the buffer.
//!
//! Not modelled: the gaps that `die.rs` and `ftl.rs` list; the power that dies draw together; errors of the cells.

pub mod checker;
mod collector;
mod die;
mod error;
mod ftl;
mod geometry;
mod operation;
mod part;
mod precondition;
mod stats;

use cxlab_kernel::statistic::Entry;
use cxlab_kernel::{Bytes, Server, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use collector::Collector;
pub use error::FlashError;
pub use geometry::{BlockId, Geometry};
pub use operation::{Kind, Operation};
pub use part::{FlashPart, NamedPart};
pub use precondition::Precondition;
pub use stats::FlashStats;

use crate::fact::Sourced;
use crate::mem::{Access, AccessKind, Driver, Media, Wake};
use die::{Die, Drive, Times};
use ftl::Ftl;

/// A drive as a device file describes it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FlashSpec {
    /// the part
    pub part: Sourced<NamedPart>,
    /// buses side by side
    pub channels: Sourced<u32>,
    /// dies of a channel
    pub dies: Sourced<u32>,
    /// bytes of the cells that the host does not see, as a share of those that it sees
    pub over_provisioning: Sourced<f64>,
    /// rule that chooses the block to erase next
    pub collector: Sourced<Collector>,
    /// erased blocks of a die below which garbage collection works
    pub free_blocks: Sourced<u32>,
    /// state of the drive when a run begins
    pub precondition: Sourced<Precondition>,
    /// translation, error correction and firmware, for each request `[ns]`
    pub controller_latency: Sourced<Time>,
}

impl FlashSpec {
    /// The shape of a drive that shows the host `capacity` in units of `unit`.
    ///
    /// # Errors
    /// [`FlashError`] names the invalid parameter and the valid values.
    pub fn geometry(&self, capacity: Bytes, unit: Bytes) -> Result<Geometry, FlashError> {
        let geometry = Geometry::new(self, capacity, unit)?;
        if !(2..=geometry.spare() - 3).contains(&*self.free_blocks) {
            let valid = "2, one of them for collection, to three less than a die's spare blocks";
            return Err(FlashError::out_of_range("flash.free_blocks", *self.free_blocks, valid));
        }
        Ok(geometry)
    }

    /// Time that a read of a unit keeps its die: the cells, and the bus of the channel.
    #[must_use]
    pub fn die_time(&self, unit: Bytes) -> Time {
        let times = self.times(unit);
        times.read + times.transfer
    }

    fn times(&self, unit: Bytes) -> Times {
        let part = self.part.part();
        Times {
            read: *part.read,
            program: *part.program,
            erase: *part.erase,
            suspend: part.suspend.as_ref().map(|time| **time),
            transfer: unit / *part.bus,
            controller: *self.controller_latency,
        }
    }
}

/// State of a drive.
#[derive(Clone, Debug)]
pub struct Flash {
    geometry: Geometry,
    times: Times,
    dies: Vec<Die>,
    buses: Vec<Server>,
    stats: FlashStats,
    log: Option<Vec<Operation>>,
}

impl Flash {
    /// A drive that shows the host `capacity` in units of `unit`.
    ///
    /// # Errors
    /// [`FlashError`] names the invalid parameter and the valid values.
    pub fn new(spec: &FlashSpec, capacity: Bytes, unit: Bytes) -> Result<Flash, FlashError> {
        let (geometry, free_blocks) = (spec.geometry(capacity, unit)?, *spec.free_blocks);
        let times = spec.times(unit);
        let ftl = Ftl::new(geometry, *spec.collector, free_blocks, *spec.precondition);
        let dies = (0..geometry.dies).map(|die| Die::new(die, ftl.clone())).collect();
        let buses = vec![Server::default(); geometry.channels as usize];
        Ok(Flash { geometry, times, dies, buses, stats: FlashStats::default(), log: None })
    }

    #[must_use]
    pub fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    #[must_use]
    pub fn stats(&self) -> &FlashStats {
        &self.stats
    }

    /// Starts all statistics again at zero.
    pub fn clear_stats(&mut self) {
        self.stats = FlashStats::default();
        self.buses.iter_mut().for_each(Server::clear_busy);
    }

    /// Statistics of the drive over `elapsed`.
    #[must_use]
    pub fn report(&self, elapsed: Time) -> Vec<Entry> {
        let wear = self.dies.iter().map(|die| die.ftl.wear());
        let wear = wear.reduce(|one, other| (one.0.min(other.0), one.1.max(other.1))).unwrap_or_default();
        let busy: f64 = self.buses.iter().map(|bus| bus.busy().as_seconds()).sum();
        self.stats.report(wear, busy / elapsed.as_seconds() / self.buses.len() as f64)
    }

    /// Begins to log each operation.
    pub fn begin_log(&mut self) {
        self.log = Some(Vec::new());
    }

    /// Takes the operations since the log began, or since it was last taken.
    pub fn take_log(&mut self) -> Vec<Operation> {
        self.log.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// A checker of the log. The log must begin before the first operation.
    #[must_use]
    pub fn checker(&self) -> checker::Checker {
        let full = self.dies.first().map_or(0, |die| die.ftl.full_blocks());
        checker::Checker::new(self.geometry.stripes, full)
    }

    /// A die, with the parts of the drive that it needs.
    fn die(&mut self, number: u32) -> (&mut Die, Drive<'_>) {
        let Flash { geometry, times, dies, buses, stats, log } = self;
        let bus = &mut buses[geometry.channel(number) as usize];
        (&mut dies[number as usize], Drive { geometry, times, bus, stats, log })
    }
}

impl Media for Flash {
    /// Serves an access to the whole unit that contains the address.
    fn arrive<D: Driver>(&mut self, now: Time, access: Access, driver: &mut D) {
        let Access { dpa, kind, tag } = access;
        let (number, unit) = self.geometry.locate(dpa.get() / self.geometry.unit_bytes);
        let (die, drive) = self.die(number);
        match kind {
            AccessKind::Read => die.read(now, tag, unit, drive, driver),
            AccessKind::Write => die.write(now, tag, unit, drive, driver),
        }
    }

    fn wake<D: Driver>(&mut self, now: Time, wake: Wake, driver: &mut D) {
        let Wake::Channel(number) = wake else { unreachable!("dies alone ask to be woken, but {wake:?} came") };
        let (die, drive) = self.die(number);
        die.wake(now, drive, driver);
    }
}
