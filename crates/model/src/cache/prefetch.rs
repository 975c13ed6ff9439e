//! Prefetchers of a core: lines asked for before an instruction wants them.
//!
//! ```text
//!   loads ----------------> stride, by instruction --+--> L2 while the superqueue has room;
//!   loads and stores that                            |    nothing while the table of the line's
//!   look into L2 ---------> stream, ascending or     |    slice has no free entry
//!                           descending; pair --------+
//!   loads without a fill                             |
//!   buffer ---------------> homeless: their own line-+
//! ```
//!
//! A prefetcher is a file: what it has seen, and which line it asks for next. The bounds are common to all: superqueue
//! and LLC prefetches per core (occupancy), and the home agents' sign of distress (the mesh's Dynamic Prefetch
//! Throttle; Intel, Sapphire Rapids uncore performance monitoring, DISTRESS_ASSERTED). Latency benchmarks of the papers have
//! prefetchers off; a host file says what its machine has, and a bench may say otherwise.
//! A load that finds all fill buffers taken is homeless in L1: its line comes to L2 meanwhile. So a core's loads have as many
//! lines under way as the superqueue has entries. Source: Intel PerfSpect, internal/extract/prefetcher.go, of Sapphire Rapids
//! and its successors. Not modelled: prefetches into L1, useless prefetches on the wrong path; Intel prints no rule by which
//! a homeless load asks again after it was refused.

mod stream;
mod stride;

use schemars::JsonSchema;

use serde::{Deserialize, Serialize};

use crate::addr::{Hpa, LINE_BYTES};
use crate::fact::Sourced;

use stream::Streams;
use stride::Strides;

/// The prefetchers of a core, and what bounds them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PrefetchSpec {
    /// whether the machine has them on
    pub enabled: Sourced<bool>,
    /// load instructions whose stride is followed
    pub strides: Sourced<u32>,
    /// streams followed at once
    pub streams: Sourced<u32>,
    /// how far a stream runs ahead of its last access [lines]
    pub stream_distance: Sourced<u32>,
    /// whether a line that misses L2 brings the other one of its aligned 128 bytes
    pub pairs: Sourced<bool>,
    /// whether a load that finds no free fill buffer has its line brought to L2 meanwhile
    pub homeless: Sourced<bool>,
    /// L2 misses and prefetches under way at once [lines]
    pub superqueue: Sourced<u32>,
}

impl PrefetchSpec {
    pub fn check(&self) -> Result<(), String> {
        for (key, value) in [
            ("strides", *self.strides),
            ("streams", *self.streams),
            ("stream_distance", *self.stream_distance),
            ("superqueue", *self.superqueue),
        ] {
            if !(1..=4096).contains(&value) {
                return Err(format!("prefetch.{key} = {value}; valid: 1 to 4096"));
            }
        }
        Ok(())
    }
}

/// A run of lines that a prefetcher wants, nearest first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// line number of the first
    next: u64,
    /// lines from one to the next, 1 or -1 for a stream
    step: i64,
    left: u32,
}

impl Wanted {
    /// Lines that have not been taken.
    pub fn left(self) -> u32 {
        self.left
    }
}

impl Iterator for Wanted {
    type Item = Hpa;

    fn next(&mut self) -> Option<Hpa> {
        self.left = self.left.checked_sub(1)?;
        let line = self.next;
        self.next = line.wrapping_add_signed(self.step);
        Some(Hpa::new(line.wrapping_mul(LINE_BYTES)))
    }
}

/// What a core's prefetchers have seen.
#[derive(Clone, Debug)]
pub struct Prefetchers {
    strides: Strides,
    streams: Streams,
    pairs: bool,
    homeless: bool,
}

impl Prefetchers {
    pub fn new(spec: &PrefetchSpec) -> Prefetchers {
        let streams = Streams::new(*spec.streams as usize, *spec.stream_distance);
        Prefetchers {
            strides: Strides::new(*spec.strides as usize),
            streams,
            pairs: *spec.pairs,
            homeless: *spec.homeless,
        }
    }

    /// A load by the instruction at `place`: the line that it may want next.
    #[inline]
    pub fn loaded(&mut self, place: u64, line: Hpa) -> Wanted {
        self.strides.loaded(place, line)
    }

    /// L2 is looked up for a load or store: the lines ahead of it.
    pub fn looked_up(&mut self, line: Hpa) -> Wanted {
        self.streams.looked_up(line)
    }

    /// L2 is looked up for a load or store: the other line of its aligned 128 bytes, if it misses.
    #[inline]
    pub fn pair(&self, line: Hpa, hit: bool) -> Wanted {
        if hit || !self.pairs {
            return Wanted::default();
        }
        Wanted { next: line.line_number() ^ 1, step: 1, left: 1 }
    }

    /// A load missed L1 and found no free fill buffer: its line, which L2 may bring meanwhile.
    #[inline]
    pub fn homeless(&self, line: Hpa) -> Wanted {
        Wanted { next: line.line_number(), step: 1, left: u32::from(self.homeless) }
    }

    /// Of the last lines wanted by [`Prefetchers::looked_up`], so many were not asked for: they are wanted at its next access.
    pub fn refused(&mut self, count: u32) {
        self.streams.refused(count);
    }
}
