//! Synthetic applications: programs with a stated law of access to the lines of an address space.
//!
//! ```text
//!   key_value     YCSB's mixes over a store of records, Zipfian, latest or uniform; arrivals or back to back
//!   embedding     rows at random, summed: DLRM's embedding reduction
//!   streaming     a[i] = b[i] + s c[i]
//!   pointer_rich  a list of arcs in order, the two nodes of each at random
//!   phased        streaming, then a part that computes, in turn
//!   scan          partitions in order, results to places at random: a shuffle
//! ```
//! Each counts its work, so that throughputs of placements can be compared. Not modelled: instructions beside those
//! that touch memory, but for stated computing times.

mod arrivals;
mod embedding;
mod key_value;
mod keys;
mod phased;
mod pointer_rich;
mod scan;
mod streaming;

use cxlab_kernel::statistic::Latency;
use cxlab_kernel::{Stream, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::addr::VirtualLine;

pub use arrivals::Arrivals;
pub use key_value::{KeyValue, KeyValueSpec, Ycsb};
pub use keys::{Distribution, Keys};

use embedding::Embedding;
use phased::Phased;
use pointer_rich::PointerRich;
use scan::Scan;
use streaming::Streaming;

/// Next act of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    /// load a line whose address is known
    Load(VirtualLine),
    /// load a line whose address comes from the `Load` or `Chase` before
    Chase(VirtualLine),
    /// load a line whose address is known; no address waits for it
    Aside(VirtualLine),
    Store(VirtualLine),
    /// let time pass in the core
    Compute(Time),
    /// wait until all before is done, and be told the time
    AskTime,
    /// nothing to do until then
    Sleep {
        until: Time,
    },
}

/// An application as people ask for it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum AppSpec {
    KeyValue(KeyValueSpec),
    Embedding {},
    Streaming {},
    PointerRich {},
    Phased {},
    Scan {},
}

/// A thread's part of an address space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Region {
    pub first: VirtualLine,
    /// lines of the whole space
    pub lines: u64,
    /// which thread of how many
    pub thread: u64,
    pub threads: u64,
}

/// An application on a core.
#[derive(Clone, Debug)]
pub enum App {
    KeyValue(Box<KeyValue>),
    Embedding(Embedding),
    Streaming(Streaming),
    PointerRich(PointerRich),
    Phased(Phased),
    Scan(Scan),
}

impl AppSpec {
    /// The application on one of its threads. The error says what cannot be.
    pub fn thread(&self, region: Region, random: Stream) -> Result<App, String> {
        Ok(match self {
            AppSpec::KeyValue(spec) => App::KeyValue(Box::new(KeyValue::new(spec, region, random)?)),
            AppSpec::Embedding {} => App::Embedding(Embedding::new(region, random)),
            AppSpec::Streaming {} => App::Streaming(Streaming::new(region)),
            AppSpec::PointerRich {} => App::PointerRich(PointerRich::new(region, random)),
            AppSpec::Phased {} => App::Phased(Phased::new(region)),
            AppSpec::Scan {} => App::Scan(Scan::new(region, random)),
        })
    }

    /// Whether a core's prefetchers know the next lines, so that it keeps a stream's lines under way.
    #[must_use]
    pub fn streams(&self) -> bool {
        matches!(self, AppSpec::Streaming {} | AppSpec::Phased {} | AppSpec::Scan {})
    }

    /// Unit of its work.
    #[must_use]
    pub fn unit(&self) -> &'static str {
        match self {
            AppSpec::KeyValue(_) => "requests",
            AppSpec::Embedding {} => "rows",
            AppSpec::Streaming {} | AppSpec::Phased {} | AppSpec::Scan {} => "lines",
            AppSpec::PointerRich {} => "arcs",
        }
    }
}

impl App {
    #[inline]
    pub fn act(&mut self) -> Act {
        match self {
            App::KeyValue(app) => app.act(),
            App::Embedding(app) => app.act(),
            App::Streaming(app) => app.act(),
            App::PointerRich(app) => app.act(),
            App::Phased(app) => app.act(),
            App::Scan(app) => app.act(),
        }
    }

    /// The time at an `AskTime`.
    pub fn told(&mut self, now: Time) {
        if let App::KeyValue(app) = self {
            app.told(now);
        }
    }

    /// Units of work done since counting began.
    #[must_use]
    pub fn work(&self) -> u64 {
        match self {
            App::KeyValue(app) => app.work,
            App::Embedding(app) => app.work,
            App::Streaming(app) => app.work,
            App::PointerRich(app) => app.work,
            App::Phased(app) => app.work(),
            App::Scan(app) => app.work,
        }
    }

    /// Latency of requests, from arrival to answer.
    #[must_use]
    pub fn latency(&self) -> Option<&Latency> {
        match self {
            App::KeyValue(app) => Some(&app.latency),
            _ => None,
        }
    }

    pub fn clear_stats(&mut self) {
        match self {
            App::KeyValue(app) => app.clear_stats(),
            App::Embedding(app) => app.work = 0,
            App::Streaming(app) => app.work = 0,
            App::PointerRich(app) => app.work = 0,
            App::Phased(app) => app.clear_stats(),
            App::Scan(app) => app.work = 0,
        }
    }
}

impl Region {
    /// The thread's own stretch of the whole: first line, lines.
    fn own(&self) -> (u64, u64) {
        let lines = self.lines / self.threads;
        (self.first.0 + self.thread * lines, lines)
    }
}
