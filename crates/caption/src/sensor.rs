//! M1's sources of samples.
//!
//! ```text
//!   perf     hardware counters, one sample an interval      (sensor/perf.rs; events.rs, pmu.rs)
//!   replay   a JSONL file, as fast as it reads              (sensor/replay.rs)
//!   stream   JSONL lines from a device, a pipe or stdin     (sensor/stream.rs)
//!   simulated  the counters of the simulated machine around us (sensor/simulated.rs)
//! ```

pub mod events;
mod perf;
pub mod pmu;
mod replay;
mod simulated;
mod stream;

pub use perf::Perf;
pub use replay::Replay;
pub use simulated::Simulated;
pub use stream::Stream;

use crate::error::Result;
use crate::interrupt::Interrupt;
use crate::sample::Sample;

#[derive(Debug)]
pub enum Reading {
    Sample(Box<Sample>),
    /// The source has no more.
    Ended,
    Interrupted,
}

#[derive(Debug)]
pub enum Sensor {
    Perf(Box<Perf>),
    Replay(Replay),
    Stream(Stream),
    Simulated(Simulated),
}

impl Sensor {
    /// As messages name it.
    pub fn name(&self) -> String {
        match self {
            Sensor::Perf(perf) => perf.name(),
            Sensor::Replay(replay) => replay.name(),
            Sensor::Stream(stream) => stream.name(),
            Sensor::Simulated(simulated) => simulated.name(),
        }
    }

    /// Waits for the next sample.
    pub fn next(&mut self, interrupt: &Interrupt) -> Result<Reading> {
        match self {
            Sensor::Perf(perf) => perf.next(interrupt),
            Sensor::Replay(replay) => replay.next(interrupt),
            Sensor::Stream(stream) => stream.next(interrupt),
            Sensor::Simulated(simulated) => simulated.next(interrupt),
        }
    }
}
