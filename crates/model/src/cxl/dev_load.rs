//! DevLoad is the load that a device reports in each response. The host throttles by it.
//!
//! ```text
//!   queue occupancy   0 --------- optimal --------- moderate --------- severe ------- 1
//!   DevLoad             light load     optimal load   moderate overload  severe overload
//!   host, an interval   one more        as before      one fewer          half           requests in flight
//! ```
//!
//! The specification's reference model names the host's reaction (reduce throttling, hold, throttle, throttle
//! heavily) and leaves the means open. Here it is the number of requests in flight to the device.
//!
//! Not modelled: QoS classes, the device's own throttling by egress port backpressure.
//!
//! Source: CXL 2.0, 3.3.2 (QoS telemetry for memory).

use cxlab_kernel::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::CxlError;
use crate::fact::Sourced;

/// The load that a response reports, two bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DevLoad {
    Light,
    Optimal,
    ModerateOverload,
    SevereOverload,
}

/// From which occupancy of its queue on a device reports which load [0..1].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DevLoadSpec {
    pub optimal: Sourced<f64>,
    pub moderate: Sourced<f64>,
    pub severe: Sourced<f64>,
}

impl DevLoadSpec {
    pub fn check(&self) -> Result<(), CxlError> {
        let (optimal, moderate, severe) = (*self.optimal, *self.moderate, *self.severe);
        let keys = [
            ("device.dev_load.optimal", optimal),
            ("device.dev_load.moderate", moderate),
            ("device.dev_load.severe", severe),
        ];
        for (key, value) in keys {
            if !(0.0..1.0).contains(&value) {
                return Err(CxlError::Share { key, value, below: 1.0 });
            }
        }
        if !(optimal < moderate && moderate < severe) {
            return Err(CxlError::Thresholds { optimal, moderate, severe });
        }
        Ok(())
    }
}

/// The thresholds in entries of a queue.
#[derive(Clone, Copy, Debug)]
pub struct Thresholds {
    optimal: u32,
    moderate: u32,
    severe: u32,
}

impl Thresholds {
    pub fn new(spec: &DevLoadSpec, depth: u32) -> Thresholds {
        let entries = |share: f64| (share * f64::from(depth)).ceil() as u32;
        Thresholds { optimal: entries(*spec.optimal), moderate: entries(*spec.moderate), severe: entries(*spec.severe) }
    }

    /// The load with so many requests in the queue or waiting for it.
    pub fn load(self, requests: u32) -> DevLoad {
        if requests >= self.severe {
            DevLoad::SevereOverload
        } else if requests >= self.moderate {
            DevLoad::ModerateOverload
        } else if requests >= self.optimal {
            DevLoad::Optimal
        } else {
            DevLoad::Light
        }
    }
}

/// How a host reacts to DevLoad; a host that ignores it has none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ThrottleSpec {
    /// one decision each `[ns]`, on the highest load reported in it
    pub interval: Sourced<Time>,
    /// requests in flight that throttling leaves at least `[requests]`
    pub floor: Sourced<u32>,
}

impl ThrottleSpec {
    pub fn check(&self, response_fifo: u32) -> Result<(), CxlError> {
        let floor = *self.floor;
        if floor == 0 {
            return Err(CxlError::Zero { key: "throttle.floor" });
        }
        if floor > response_fifo {
            return Err(CxlError::Floor { floor, response_fifo });
        }
        Ok(())
    }
}

/// The host's limit on requests in flight to one device.
#[derive(Clone, Debug)]
pub struct Throttle {
    spec: Option<(Time, u32)>,
    /// of the limit `[requests]`
    most: u32,
    limit: u32,
    /// highest load since the last decision
    highest: DevLoad,
    decided: Time,
}

impl Throttle {
    pub fn new(spec: Option<&ThrottleSpec>, most: u32) -> Throttle {
        let spec = spec.map(|spec| (*spec.interval, *spec.floor));
        Throttle { spec, most, limit: most, highest: DevLoad::Light, decided: Time::ZERO }
    }

    /// Requests that may be in flight, reads and writes; a host that ignores DevLoad sets no limit.
    pub fn limit(&self) -> Option<u32> {
        self.spec.map(|_| self.limit)
    }

    /// A response came and reported `load`: whether the limit went down.
    pub fn observe(&mut self, now: Time, load: DevLoad) -> bool {
        let Some((interval, floor)) = self.spec else { return false };
        self.highest = self.highest.max(load);
        if now < self.decided + interval {
            return false;
        }
        let before = self.limit;
        self.limit = match self.highest {
            DevLoad::Light => before + 1,
            DevLoad::Optimal => before,
            DevLoad::ModerateOverload => before - 1,
            DevLoad::SevereOverload => before / 2,
        }
        .clamp(floor, self.most);
        (self.highest, self.decided) = (DevLoad::Light, now);
        self.limit < before
    }
}
