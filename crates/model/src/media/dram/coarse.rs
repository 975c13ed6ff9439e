//! The coarse model: a latency, and for each channel a bus and banks as servers. It has no commands and no events of
//! its own.
//!
//! ```text
//!   arrival -> [ bus: 64 B at the bandwidth, first come first served ] -> [ bank: bank_busy ] -> latency -> done
//! ```
//!
//! The bus takes lines as they arrive, and the banks delay them after the bus. So an access to a busy bank delays only
//! accesses to the same bank, as in a reordering controller. From the start to any time, the model never serves more
//! lines than the bus can carry. When a read arrives, its completion time is known.
//!
//! Not modelled: open rows, bus turn-around between reads and writes, refresh, bounded queues. The model's efficiency
//! is therefore 100 %, unless `bandwidth` is the bandwidth that a channel delivers.

use cxlab_kernel::statistic::{Entry, Group, Unit, Value};
use cxlab_kernel::{Bandwidth, Bytes, Server, Time, statistics};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::channel_map::{ChannelMap, Granularity};
use super::{ChannelStats, DramError};
use crate::addr::LINE_BYTES;
use crate::fact::Sourced;
use crate::mem::{Access, AccessKind, Driver};

/// A memory in the coarse model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CoarseSpec {
    /// latency of a read alone, from arrival to its last beat at the requester, all included `[ns]`
    pub latency: Sourced<Time>,
    /// banks of a channel that work at once
    pub banks: Sourced<u32>,
    /// how long an access keeps its bank, the row cycle `[ns]`
    pub bank_busy: Sourced<Time>,
    /// bandwidth of one channel's bus `[GB/s]`
    pub bandwidth: Sourced<Bandwidth>,
    /// buses side by side
    pub channels: Sourced<u32>,
    /// bytes that stay together in one channel `[B]`
    pub interleave: Sourced<Bytes>,
}

statistics! {
    /// Statistics of a channel in the coarse model.
    pub struct CoarseStats {
        reads: Counter [Lines] "lines read",
        writes: Counter [Lines] "lines written",
        bus_wait: Span [Nanoseconds] "mean wait for the channel's bus",
        bank_wait: Span [Nanoseconds] "mean wait for the bank, after that for the bus",
        read_latency: Latency [Nanoseconds] "a read's time from its arrival to its last beat at the requester",
    }
}

/// Channels as servers.
#[derive(Clone, Debug)]
pub struct Coarse {
    map: ChannelMap,
    latency: Time,
    bank_busy: Time,
    /// time of a line on the bus `[ps]`
    burst: Time,
    channels: Vec<Channel>,
}

#[derive(Clone, Debug)]
struct Channel {
    bus: Server,
    /// when each bank is free again
    banks: Vec<Time>,
    stats: CoarseStats,
}

impl Coarse {
    /// # Errors
    /// [`DramError`] names the invalid parameter and the valid values.
    pub fn new(spec: &CoarseSpec) -> Result<Coarse, DramError> {
        let banks = *spec.banks;
        if !(1..=4096).contains(&banks) {
            return Err(DramError::out_of_range("banks", banks, "1 to 4096"));
        }
        let burst = Bytes::new(LINE_BYTES) / *spec.bandwidth;
        if *spec.latency < burst {
            return Err(DramError::out_of_range("latency", *spec.latency, "at least one line at the bandwidth"));
        }
        let map = ChannelMap::new(*spec.channels, Granularity::new("interleave", *spec.interleave)?)?;
        let channel =
            Channel { bus: Server::default(), banks: vec![Time::ZERO; banks as usize], stats: CoarseStats::default() };
        let channels = vec![channel; map.channels() as usize];
        Ok(Coarse { map, latency: *spec.latency, bank_busy: *spec.bank_busy, burst, channels })
    }

    /// Takes in `access` and tells the driver at once when it will be done.
    pub fn arrive<D: Driver>(&mut self, now: Time, access: Access, driver: &mut D) {
        let place = self.map.place(access.dpa);
        let channel = &mut self.channels[place.channel as usize];
        let on_bus = channel.bus.reserve(now, self.burst);
        let bank = (place.line % channel.banks.len() as u64) as usize;
        let start = on_bus.max(channel.banks[bank]);
        channel.banks[bank] = start + self.bank_busy;
        channel.stats.bus_wait.record(on_bus - now);
        channel.stats.bank_wait.record(start - on_bus);
        let done = match access.kind {
            AccessKind::Read => {
                channel.stats.reads.increment();
                channel.stats.read_latency.record(start + self.latency - now);
                start + self.latency
            }
            AccessKind::Write => {
                channel.stats.writes.increment();
                start
            }
        };
        driver.done(done, access.tag);
    }

    /// Starts all statistics again at zero.
    pub fn clear_stats(&mut self) {
        for channel in &mut self.channels {
            channel.stats = CoarseStats::default();
            channel.bus.clear_busy();
        }
    }

    /// Statistics of each channel over `elapsed`.
    #[must_use]
    pub fn stats(&self, elapsed: Time) -> Vec<ChannelStats> {
        let channels = self.channels.iter().enumerate();
        channels
            .map(|(number, channel)| {
                let mut entries = channel.stats.entries();
                entries.push(Entry {
                    name: "bus_utilisation",
                    unit: Unit::Ratio,
                    description: "share of the time with data on the bus",
                    value: Value::Real(channel.bus.busy().as_seconds() / elapsed.as_seconds()),
                });
                ChannelStats { channel: number as u32, entries }
            })
            .collect()
    }
}
