//! A key-value store as Redis keeps YCSB's records: hashes of ten fields of 100 B.
//!
//! ```text
//!   request -> compute -> bucket -> entry -> key -> object -> dict -> table -> field entry -> value   (each from the one before)
//!                                                                     read: all ten fields; update: one
//! ```
//! Sizes are jemalloc's classes of Redis' structures (src/dict.h, src/sds.h): each kind lies in slabs of its own, so
//! a record is on many pages. Between two fields lie more instructions than a core's window holds. So a field waits
//! for the one before. Assumption: replies are built field by field. 100 B are more than hash-max-listpack-value
//! (64), so fields are dictEntries. Not modelled: the network and the client, the allocator, expansion of tables; an
//! insert takes the place of the oldest record.

use cxlab_kernel::statistic::Latency;
use cxlab_kernel::{Stream, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Act, Arrivals, Distribution, Keys, Region};
use crate::addr::LINE_BYTES;
use crate::addr::VirtualLine;

/// YCSB's core workloads: reads and updates 50:50, 95:5, reads only, reads and inserts 95:5.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Ycsb {
    A,
    B,
    C,
    D,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KeyValueSpec {
    pub workload: Ycsb,
    pub keys: Distribution,
    /// what a request costs on the core beside its misses: protocol, system calls, copying
    #[schemars(with = "String")]
    pub compute: Time,
    /// requests a second that come to each thread; none: the next comes when the last is answered
    pub rate: Option<f64>,
}

/// Bytes of each kind of a record.
const BUCKET: u64 = 8;
const ENTRY: u64 = 32;
const KEY: u64 = 32;
const OBJECT: u64 = 16;
const DICT: u64 = 96;
const TABLE: u64 = 128;
const FIELD_ENTRY: u64 = 32;
const FIELD_NAME: u64 = 16;
const VALUE: u64 = 128;
const FIELDS: u64 = 10;
const RECORD: u64 = BUCKET + ENTRY + KEY + OBJECT + DICT + TABLE + FIELDS * (FIELD_ENTRY + FIELD_NAME + VALUE);

/// Offsets at which the slabs begin `[B]`.
#[derive(Clone, Copy, Debug)]
struct Slabs {
    first: u64,
    records: u64,
}

/// The server's thread.
#[derive(Clone, Debug)]
pub struct KeyValue {
    slabs: Slabs,
    keys: Keys,
    workload: Ycsb,
    compute: Time,
    arrivals: Option<Arrivals>,
    random: Stream,
    /// acts of the request in hand, last first
    acts: Vec<Act>,
    newest: u64,
    /// when the request in hand arrived, or was begun
    arrived: Option<Time>,
    now: Time,
    pub(super) work: u64,
    pub(super) latency: Latency,
}

impl Slabs {
    fn line(self, before: u64, size: u64, number: u64) -> VirtualLine {
        VirtualLine((self.first + before * self.records + size * number) / LINE_BYTES)
    }

    /// The six steps to a record's fields.
    fn way(self, record: u64) -> [VirtualLine; 6] {
        // The bucket is where the key's hash says, the others are where they were allocated.
        let bucket = record.wrapping_mul(0x9e37_79b9_7f4a_7c15) % self.records;
        let mut before = 0;
        let mut line = |size: u64, number: u64| {
            let line = self.line(before, size, number);
            before += size;
            line
        };
        [
            line(BUCKET, bucket),
            line(ENTRY, record),
            line(KEY, record),
            line(OBJECT, record),
            line(DICT, record),
            line(TABLE, record),
        ]
    }

    /// A field's entry, name, and the two lines of its value.
    fn field(self, record: u64, field: u64) -> (VirtualLine, VirtualLine, [VirtualLine; 2]) {
        let before = BUCKET + ENTRY + KEY + OBJECT + DICT + TABLE;
        let number = record * FIELDS + field;
        let entry = self.line(before, FIELD_ENTRY, number);
        let name = self.line(before + FIELDS * FIELD_ENTRY, FIELD_NAME, number);
        let value = self.line(before + FIELDS * (FIELD_ENTRY + FIELD_NAME), VALUE, number);
        (entry, name, [value, VirtualLine(value.0 + 1)])
    }
}

impl KeyValue {
    pub fn new(spec: &KeyValueSpec, region: Region, mut random: Stream) -> Result<KeyValue, String> {
        let records = region.lines * LINE_BYTES / RECORD;
        if records < 2 {
            return Err(format!("a store of {} B holds no two records of {RECORD} B", region.lines * LINE_BYTES));
        }
        if spec.rate.is_some_and(|rate| !rate.is_finite() || rate <= 0.0) {
            return Err("a rate of requests must be above 0".into());
        }
        Ok(KeyValue {
            slabs: Slabs { first: region.first.0 * LINE_BYTES, records },
            keys: Keys::new(spec.keys, records),
            workload: spec.workload,
            compute: spec.compute,
            arrivals: spec.rate.map(|rate| Arrivals::poisson(rate, Stream::new(random.next_u64(), "arrivals"))),
            random,
            acts: Vec::new(),
            newest: records - 1,
            arrived: None,
            now: Time::ZERO,
            work: 0,
            latency: Latency::default(),
        })
    }

    pub(super) fn act(&mut self) -> Act {
        if let Some(act) = self.acts.pop() {
            return act;
        }
        if self.arrived.is_some() {
            // `told` ends the request.
            return Act::AskTime;
        }
        let arrived = match &mut self.arrivals {
            Some(arrivals) if arrivals.next() > self.now => {
                self.now = arrivals.next();
                return Act::Sleep { until: arrivals.next() };
            }
            Some(arrivals) => arrivals.take(),
            None => self.now,
        };
        self.arrived = Some(arrived);
        self.write_request();
        Act::Compute(self.compute)
    }

    pub(super) fn told(&mut self, now: Time) {
        self.now = now;
        if let Some(arrived) = self.arrived.take() {
            self.work += 1;
            self.latency.record(now.since(arrived));
        }
    }

    pub(super) fn clear_stats(&mut self) {
        (self.work, self.latency) = (0, Latency::default());
    }

    fn write_request(&mut self) {
        let reads = match self.workload {
            Ycsb::A => 0.5,
            Ycsb::B | Ycsb::D => 0.95,
            Ycsb::C => 1.0,
        };
        let read = self.random.unit() < reads;
        let insert = !read && self.workload == Ycsb::D;
        if insert {
            self.newest = (self.newest + 1) % self.slabs.records;
        }
        let record = if insert { self.newest } else { self.keys.next(&mut self.random, self.newest) };
        self.acts.extend(self.slabs.way(record).map(Act::Chase));
        let fields = if read || insert { 0..FIELDS } else { one(self.random.below(FIELDS)) };
        for field in fields {
            let (entry, name, value) = self.slabs.field(record, field);
            self.acts.push(Act::Chase(entry));
            if read {
                self.acts.extend([Act::Aside(name), Act::Aside(value[1]), Act::Chase(value[0])]);
            } else {
                self.acts.extend([Act::Chase(name), Act::Store(value[0]), Act::Store(value[1])]);
            }
        }
        self.acts.reverse();
    }
}

fn one(field: u64) -> std::ops::Range<u64> {
    field..field + 1
}
