//! The detailed model: channels of a DRAM part, each sub-channel with a controller of its own.
//!
//! ```text
//!   dpa -> channel map -> channel 0 [ sub-channel 0 | sub-channel 1 ] each: controller -> ranks of devices
//!                         channel 1 [ ..
//! ```

use cxlab_kernel::statistic::{Entry, Group, Unit, Value};
use cxlab_kernel::{Bytes, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::channel_map::{ChannelMap, Granularity};
use super::checker::Checker;
use super::clock::Clock;
use super::command::Issued;
use super::controller::Controller;
use super::controller_spec::ControllerSpec;
use super::refresh::SubChannel;
use super::shape::MOST_BANKS;
use super::standard::{Dram, Part};
use super::{ChannelStats, DramError};
use crate::fact::Sourced;
use crate::mem::{Access, Driver};

/// A memory in the detailed model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DetailedSpec {
    /// the part
    pub dram: Sourced<Part>,
    /// channels of 64 bits side by side; a DDR5 channel is two sub-channels
    pub channels: Sourced<u32>,
    /// ranks of a channel
    pub ranks: Sourced<u32>,
    /// bytes that stay together in one sub-channel `[B]`
    pub interleave: Sourced<Bytes>,
    pub controller: ControllerSpec,
}

/// Channels of a DRAM part.
#[derive(Clone, Debug)]
pub struct Detailed {
    map: ChannelMap,
    controllers: Vec<Controller>,
    /// a checker that has seen no command, by the standard of the controllers, and its clock
    standard: (Box<Checker>, Clock),
}

impl Detailed {
    /// # Errors
    /// [`DramError`] names the invalid parameter and the valid values.
    pub fn new(spec: &DetailedSpec) -> Result<Detailed, DramError> {
        Detailed::with_dram(spec, spec.dram.dram())
    }

    /// A memory like [`Detailed::new`], with another part.
    ///
    /// # Errors
    /// [`DramError`] names the invalid parameter and the valid values.
    pub fn with_dram(spec: &DetailedSpec, dram: &Dram) -> Result<Detailed, DramError> {
        let ranks = *spec.ranks;
        if !ranks.is_power_of_two() || ranks > MOST_BANKS || ranks * dram.organisation.banks() > MOST_BANKS {
            return Err(DramError::out_of_range("ranks", ranks, "1, 2 or 4, with at most 128 banks in all"));
        }
        if !(1..=64).contains(&*spec.channels) {
            return Err(DramError::out_of_range("channels", *spec.channels, "1 to 64"));
        }
        let sub_channels = *spec.channels * *dram.organisation.sub_channels;
        let map = ChannelMap::new(sub_channels, Granularity::new("interleave", *spec.interleave)?)?;
        let controller =
            |number| Controller::new(&spec.controller, dram, ranks, SubChannel { number, of: sub_channels });
        let controllers = (0..sub_channels).map(controller).collect::<Result<_, _>>()?;
        Ok(Detailed { map, controllers, standard: (Box::new(Checker::new(dram, ranks)), dram.clock()) })
    }

    pub fn arrive<D: Driver>(&mut self, now: Time, access: Access, driver: &mut D) {
        let place = self.map.place(access.dpa);
        self.controllers[place.channel as usize].arrive(now, place.line, access, driver);
    }

    /// Wakes a sub-channel that is due.
    pub fn wake<D: Driver>(&mut self, now: Time, channel: u32, driver: &mut D) {
        self.controllers[channel as usize].wake(now, driver);
    }

    /// Capacity of the ranks, without ECC.
    #[must_use]
    pub fn capacity(&self) -> Bytes {
        self.controllers.iter().map(Controller::capacity).sum()
    }

    /// Begins to keep each command for [`Detailed::log`].
    pub fn keep_log(&mut self) {
        self.controllers.iter_mut().for_each(Controller::keep_log);
    }

    /// The commands of sub-channel `number` so far.
    #[must_use]
    pub fn log(&self, number: usize) -> &[Issued] {
        self.controllers[number].log()
    }

    /// Takes the commands of sub-channel `number` since they were last taken.
    pub fn take_log(&mut self, number: usize) -> Vec<Issued> {
        self.controllers[number].take_log()
    }

    /// A new checker for each sub-channel, and the clock that counts the commands' cycles.
    #[must_use]
    pub fn checkers(&self) -> (Vec<Checker>, Clock) {
        let (checker, clock) = &self.standard;
        (vec![(**checker).clone(); self.controllers.len()], *clock)
    }

    /// Starts all statistics again at zero.
    pub fn clear_stats(&mut self) {
        self.controllers.iter_mut().for_each(Controller::clear_stats);
    }

    /// Statistics of each sub-channel over `elapsed`.
    #[must_use]
    pub fn stats(&self, elapsed: Time) -> Vec<ChannelStats> {
        let channels = self.controllers.iter().enumerate();
        channels.map(|(number, controller)| channel_stats(number as u32, controller, elapsed)).collect()
    }
}

fn channel_stats(channel: u32, controller: &Controller, elapsed: Time) -> ChannelStats {
    let stats = controller.stats();
    let mut entries = stats.entries();
    let occupancy = |residence: Time| residence.as_seconds() / elapsed.as_seconds();
    for (name, description, value) in [
        ("read_queue_occupancy", "mean reads in or before the read queue", occupancy(stats.read_queue_latency.sum())),
        (
            "write_queue_occupancy",
            "mean writes in or before the write queue",
            occupancy(stats.write_queue_latency.sum()),
        ),
        ("bus_utilisation", "share of the time with data on the bus", controller.bus_utilisation(elapsed)),
    ] {
        entries.push(Entry { name, unit: Unit::Ratio, description, value: Value::Real(value) });
    }
    ChannelStats { channel, entries }
}
