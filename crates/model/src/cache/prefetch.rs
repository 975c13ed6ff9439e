//! Prefetchers of a core: they request lines before an instruction wants them.
//!
//! ```text
//!   loads ----------------> stride, by instruction;
//!                           next line -----------------> L1 while half of the fill buffers are free
//!                                                         |
//!   all that looks into L2, .-----------------------------'
//!   these prefetches too ---> stream, ascending or
//!                             descending; pair -------+--> L2 while the superqueue has room;
//!   loads without a fill                              |    nothing while the table of the line's
//!   buffer -----------------> homeless: their own line'    slice has no free entry
//! ```
//!
//! Each prefetcher is a file: it remembers accesses and chooses the next line. The bounds are common to all. They are
//! the superqueue, the LLC prefetches per core (occupancy), and the home agents' sign of distress. The sign is that of
//! the mesh's Dynamic Prefetch Throttle (Intel, Sapphire Rapids uncore performance monitoring, DISTRESS_ASSERTED). The
//! papers' benches of latency have prefetchers off. A host file says whether its machine has them on, and a bench may
//! override it.
//! A load that finds all fill buffers taken is homeless in L1, and its line comes to L2 meanwhile. So a core's loads
//! have as many lines under way as the superqueue has entries. Source: Intel PerfSpect, internal/extract/prefetcher.go,
//! for Sapphire Rapids and its successors. Intel prints no rule by which a homeless load asks again after a refusal.
//! L1's prefetchers work only while "not many other load misses are in progress" (Intel optimization manual, 248966).
//! Assumption: while half of the fill buffers are free. Not modelled: useless prefetches on the wrong path, and that L1's
//! prefetchers pause during fences and runs of stores.

mod next_line;
mod stream;
mod stride;

use schemars::JsonSchema;

use serde::{Deserialize, Serialize};

use crate::addr::{Hpa, LINE_BYTES};
use crate::fact::Sourced;

use next_line::NextLine;
use stream::Streams;
use stride::Strides;

/// The prefetchers of a core, and their bounds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PrefetchSpec {
    /// whether the machine has them on
    pub enabled: Sourced<bool>,
    /// load instructions whose stride is followed
    pub strides: Sourced<u32>,
    /// whether a load above recently loaded data brings the next line to L1
    pub next_line: Sourced<bool>,
    /// streams followed at once
    pub streams: Sourced<u32>,
    /// how far a stream runs ahead of its last access `[lines]`
    pub stream_distance: Sourced<u32>,
    /// whether a line that misses L2 brings the other one of its aligned 128 bytes
    pub pairs: Sourced<bool>,
    /// whether a load that finds no free fill buffer has its line brought to L2 meanwhile
    pub homeless: Sourced<bool>,
    /// L2 misses and prefetches under way at once `[lines]`
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
    /// line number of the first line
    next: u64,
    /// distance from one line to the next `[lines]`; 1 or -1 for a stream
    step: i64,
    left: u32,
}

impl Wanted {
    /// Number of lines that have not been taken.
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

/// State of a core's prefetchers.
#[derive(Clone, Debug)]
pub struct Prefetchers {
    strides: Strides,
    /// `None` if the core has none
    next_line: Option<NextLine>,
    streams: Streams,
    pairs: bool,
    homeless: bool,
}

impl Prefetchers {
    pub fn new(spec: &PrefetchSpec) -> Prefetchers {
        let streams = Streams::new(*spec.streams as usize, *spec.stream_distance);
        Prefetchers {
            strides: Strides::new(*spec.strides as usize),
            next_line: spec.next_line.then(NextLine::default),
            streams,
            pairs: *spec.pairs,
            homeless: *spec.homeless,
        }
    }

    /// Shows the prefetchers of L1 a load by the instruction at `place`. Returns the lines that the program may want
    /// next.
    #[inline]
    pub fn loaded(&mut self, place: u64, line: Hpa) -> [Wanted; 2] {
        let next = self.next_line.as_mut().map_or_else(Wanted::default, |next| next.loaded(line));
        [self.strides.loaded(place, line), next]
    }

    /// Shows the streamer a look-up of L2 for a load, a store or a prefetch to L1. Returns the lines ahead of it.
    pub fn looked_up(&mut self, line: Hpa) -> Wanted {
        self.streams.looked_up(line)
    }

    /// The other line of the aligned 128 bytes, if a look-up of L2 misses.
    #[inline]
    pub fn pair(&self, line: Hpa, hit: bool) -> Wanted {
        if hit || !self.pairs {
            return Wanted::default();
        }
        Wanted { next: line.line_number() ^ 1, step: 1, left: 1 }
    }

    /// The line of a load that missed L1 and found no free fill buffer. L2 may bring the line meanwhile.
    #[inline]
    pub fn homeless(&self, line: Hpa) -> Wanted {
        Wanted { next: line.line_number(), step: 1, left: u32::from(self.homeless) }
    }

    /// Tells that `count` of the lines last wanted by [`Prefetchers::looked_up`] were refused. The stream wants them
    /// again at its next access.
    pub fn refused(&mut self, count: u32) {
        self.streams.refused(count);
    }
}
