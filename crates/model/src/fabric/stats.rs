//! Statistics of a way's components: each declared once, with unit and description.
//!
//! Occupancies are Little's: the sum of residence times over the elapsed time is the mean number resident.

use cxlab_kernel::statistic::{Entry, Group, Span, Unit, Value};
use cxlab_kernel::{Time, statistics};

use super::device_cache::{DeviceCacheStats, WriteLogReport};
use crate::cxl::{Occupied, WireReport};
use crate::mem::MOST_SWITCHES;

statistics! {
    /// The host's end.
    pub struct RootPortStats {
        requests: Counter [Requests] "requests taken from the home agent",
        full: Counter [Events] "requests that found the request or response FIFO full (bridge full events)",
        wait: Span [Nanoseconds] "mean wait for FIFO entries, of all requests",
        request_fifo: Span [Nanoseconds] "mean residence in the request FIFO",
        response_fifo: Span [Nanoseconds] "mean time a response FIFO entry is reserved for a read",
        req_credit_waits: Counter [Events] "M2S Req messages that waited for a credit",
        rwd_credit_waits: Counter [Events] "M2S RwD messages that waited for a credit",
        credit_wait: Span [Nanoseconds] "mean wait for a credit, of those that waited",
        throttled: Counter [Events] "times that DevLoad made the host reduce its requests in flight",
    }
}

statistics! {
    /// The type-3 device.
    pub struct DeviceStats {
        reads: Counter [Requests] "M2S Req received",
        writes: Counter [Requests] "M2S RwD received",
        read_queue_full: Counter [Events] "reads that found the read queue full",
        write_queue_full: Counter [Events] "writes that found the write queue full",
        queue_wait: Span [Nanoseconds] "mean wait for a queue entry, of all requests",
        read_queue: Span [Nanoseconds] "mean residence in the read queue, media and response packing included",
        write_queue: Span [Nanoseconds] "mean residence in the write queue, media and response packing included",
        response_time: Latency [Nanoseconds] "from the request's last flit in to the response's last flit out",
        drs_credit_waits: Counter [Events] "S2M DRS messages that waited for a credit",
        ndr_credit_waits: Counter [Events] "S2M NDR messages that waited for a credit",
        light_load: Counter [Requests] "responses with DevLoad light load",
        optimal_load: Counter [Requests] "responses with DevLoad optimal load",
        moderate_overload: Counter [Requests] "responses with DevLoad moderate overload",
        severe_overload: Counter [Requests] "responses with DevLoad severe overload",
    }
}

/// The host's end over the elapsed time.
#[derive(Clone, Debug)]
pub struct RootPortReport {
    pub counts: RootPortStats,
    /// mean number in the request FIFO `[requests]`
    pub request_fifo: f64,
    /// mean number of response FIFO entries that are reserved `[requests]`
    pub response_fifo: f64,
}

/// The device over the elapsed time.
#[derive(Clone, Debug)]
pub struct DeviceReport {
    pub counts: DeviceStats,
    /// mean number in the read queue `[requests]`
    pub read_queue: f64,
    /// mean number in the write queue `[requests]`
    pub write_queue: f64,
}

impl RootPortReport {
    pub(super) fn new(counts: RootPortStats, elapsed: Time) -> Self {
        let (request_fifo, response_fifo) = (counts.request_fifo, counts.response_fifo);
        let resident = |residence| mean_resident(residence, elapsed);
        RootPortReport { counts, request_fifo: resident(request_fifo), response_fifo: resident(response_fifo) }
    }
}

impl DeviceReport {
    pub(super) fn new(counts: DeviceStats, elapsed: Time) -> Self {
        let (read_queue, write_queue) = (counts.read_queue, counts.write_queue);
        let resident = |residence| mean_resident(residence, elapsed);
        DeviceReport { counts, read_queue: resident(read_queue), write_queue: resident(write_queue) }
    }
}

impl Group for RootPortReport {
    fn visit(&self, visitor: &mut dyn FnMut(Entry)) {
        self.counts.visit(visitor);
        visitor(occupancy("request_fifo_occupancy", "mean number in the request FIFO", self.request_fifo));
        visitor(occupancy(
            "response_fifo_occupancy",
            "mean number of reserved response FIFO entries",
            self.response_fifo,
        ));
    }
}

impl Group for DeviceReport {
    fn visit(&self, visitor: &mut dyn FnMut(Entry)) {
        self.counts.visit(visitor);
        visitor(occupancy("read_queue_occupancy", "mean number in the read queue", self.read_queue));
        visitor(occupancy("write_queue_occupancy", "mean number in the write queue", self.write_queue));
    }
}

fn occupancy(name: &'static str, description: &'static str, mean: f64) -> Entry {
    Entry { name, unit: Unit::Requests, description, value: Value::Real(mean) }
}

/// Mean number resident over `elapsed`, by Little's law.
fn mean_resident(residence: Span, elapsed: Time) -> f64 {
    if elapsed == Time::ZERO { 0.0 } else { residence.sum().as_ns() / elapsed.as_ns() }
}

/// A hop, such as a switch, and the link below it.
#[derive(Clone, Debug)]
pub struct HopStats {
    /// the hop's own Stats, of whatever kind it is
    pub hop: Vec<Entry>,
    pub m2s: WireReport,
    pub s2m: WireReport,
}

/// The statistics of a way from root port to device at one time.
#[derive(Clone, Debug)]
pub struct ExpanderStats {
    pub root_port: RootPortReport,
    pub m2s: WireReport,
    /// the hops and the links below them, from the host's side on
    pub hops: Vec<HopStats>,
    pub device: DeviceReport,
    pub device_cache: Option<DeviceCacheStats>,
    pub write_log: Option<WriteLogReport>,
    pub s2m: WireReport,
}

/// The names of a hop's parts: its switch, and both directions of the link below it.
const HOPS: [[&str; 3]; MOST_SWITCHES] =
    [["switch", "switch_m2s", "switch_s2m"], ["switch_2", "switch_2_m2s", "switch_2_s2m"]];

impl ExpanderStats {
    /// The groups under the names of their parts, in the order in which a request meets them.
    pub fn parts(&self) -> impl Iterator<Item = (&'static str, &dyn Group)> {
        let first: [(&'static str, &dyn Group); 2] = [("root_port", &self.root_port), ("m2s", &self.m2s)];
        let last: [(&'static str, &dyn Group); 2] = [("device", &self.device), ("s2m", &self.s2m)];
        let hops = self.hops.iter().zip(HOPS).flat_map(|(stats, [hop, m2s, s2m])| {
            let parts: [(&'static str, &dyn Group); 3] = [(hop, &stats.hop), (m2s, &stats.m2s), (s2m, &stats.s2m)];
            parts
        });
        let cache = self.device_cache.iter().map(|cache| ("device_cache", cache as &dyn Group));
        let log = self.write_log.iter().map(|log| ("write_log", log as &dyn Group));
        first.into_iter().chain(hops).chain(last).chain(cache).chain(log)
    }
}

/// Every buffer of the path at one time: where a request is stuck, if one is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Occupancy {
    pub request_fifo: Occupied,
    /// with those who wait for either FIFO
    pub response_fifo: Occupied,
    pub req_credits: Occupied,
    pub rwd_credits: Occupied,
    pub read_queue: Occupied,
    pub write_queue: Occupied,
    pub drs_credits: Occupied,
    pub ndr_credits: Occupied,
}
