//! The traffic of a load thread: rounds of loads and stores over its own memory, with a delay after each round.
//!
//! ```text
//!   | loads ... | stores ... | delay |  loads ... | stores ... | delay |      lines moved -> counter
//!     read region  write region
//! ```
//! The delay is a loop of that many dependent decrements: one core cycle each on the CPUs that memo runs on.
//! Not modelled: MLC's exact grouping, which is not published: compare tools at equal bandwidth, never at equal delay.

use crate::buffer::Buffer;
use crate::isa::{LINE, Vector, leave_vectors};
use crate::mix::{Load, Round, Store};
use serde::Serialize;
use std::arch::asm;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Pattern {
    Sequential,
    Random,
}

/// Lines that a thread has moved, alone on its pair of cache lines: the adjacent-line prefetcher fetches two.
#[derive(Debug, Default)]
#[repr(align(128))]
pub struct Counter(AtomicU64);

impl Counter {
    #[must_use]
    pub fn lines(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

#[derive(Clone, Copy, Debug)]
pub struct Traffic {
    pub round: Round,
    pub load: Load,
    pub store: Store,
    pub pattern: Pattern,
    /// Core cycles after each round.
    pub delay: u64,
}

/// A walker over one half of a thread's buffer.
struct Region {
    start: *mut u8,
    lines: usize,
    next: usize,
    state: u64,
}

impl Region {
    /// The line that comes next in address order, from the start again after the last.
    #[inline(always)]
    fn sequential(&mut self) -> *mut u8 {
        // SAFETY: `next` is below `lines`, all of which are in the buffer.
        let line = unsafe { self.start.add(self.next * LINE) };
        self.next = if self.next + 1 == self.lines { 0 } else { self.next + 1 };
        line
    }

    /// A uniformly drawn line; independent of the one before but for the generator (Knuth's MMIX, TAOCP vol. 2, 3.3.4).
    #[inline(always)]
    fn random(&mut self) -> *mut u8 {
        self.state = self.state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let index = ((self.state >> 32) * self.lines as u64) >> 32;
        // SAFETY: `index` is below `lines`, all of which are in the buffer.
        unsafe { self.start.add(index as usize * LINE) }
    }
}

impl Traffic {
    /// Lines that a thread's buffer needs: a round of either kind must fit.
    #[must_use]
    pub fn least_lines(&self) -> usize {
        2 * self.round.lines as usize
    }

    /// Until `stop`.
    ///
    /// # Safety
    /// The CPU has `V`; the buffer is this thread's to overwrite.
    pub unsafe fn run<V: Vector>(&self, buffer: &Buffer, seed: u64, counter: &Counter, stop: &AtomicBool) {
        let (reads, writes) = self.regions(buffer, seed);
        // SAFETY: lines of the regions are in the buffer; the CPU has V.
        unsafe {
            match (self.load, self.store) {
                (Load::Ordinary, Store::Ordinary) => {
                    self.patterned(reads, writes, |l| V::load(l), |l| V::store(l), counter, stop);
                }
                (Load::Ordinary, Store::Nontemporal) => {
                    self.patterned(reads, writes, |l| V::load(l), |l| V::store_nontemporal(l), counter, stop);
                }
                (Load::Nontemporal, Store::Ordinary) => {
                    self.patterned(reads, writes, |l| V::load_nontemporal(l), |l| V::store(l), counter, stop);
                }
                (Load::Nontemporal, Store::Nontemporal) => {
                    self.patterned(
                        reads,
                        writes,
                        |l| V::load_nontemporal(l),
                        |l| V::store_nontemporal(l),
                        counter,
                        stop,
                    );
                }
            }
        }
        leave_vectors();
    }

    /// Half of the buffer for loads, half for stores; all of it for the one that is alone.
    fn regions(&self, buffer: &Buffer, seed: u64) -> (Region, Region) {
        let all = buffer.lines();
        let for_reads = match (self.round.loads, self.round.stores) {
            (_, 0) => all,
            (0, _) => 0,
            _ => all / 2,
        };
        let region = |first: usize, lines, salt| Region {
            start: buffer.start().wrapping_add(first * LINE),
            lines,
            next: 0,
            state: seed ^ salt,
        };
        (region(0, for_reads, 0), region(for_reads, all - for_reads, 0x9e37_79b9_7f4a_7c15))
    }

    fn patterned(
        &self,
        reads: Region,
        writes: Region,
        load: impl Fn(*mut u8),
        store: impl Fn(*mut u8),
        counter: &Counter,
        stop: &AtomicBool,
    ) {
        match self.pattern {
            Pattern::Sequential => self.rounds(reads, writes, Region::sequential, load, store, counter, stop),
            Pattern::Random => self.rounds(reads, writes, Region::random, load, store, counter, stop),
        }
    }

    #[allow(clippy::too_many_arguments)] // the hot loop's parts, each monomorphised
    #[inline(always)]
    fn rounds(
        &self,
        mut reads: Region,
        mut writes: Region,
        next: impl Fn(&mut Region) -> *mut u8,
        load: impl Fn(*mut u8),
        store: impl Fn(*mut u8),
        counter: &Counter,
        stop: &AtomicBool,
    ) {
        let mut lines = 0;
        while !stop.load(Relaxed) {
            for _ in 0..self.round.loads {
                load(next(&mut reads));
            }
            for _ in 0..self.round.stores {
                store(next(&mut writes));
            }
            lines += u64::from(self.round.lines);
            counter.0.store(lines, Relaxed);
            wait(self.delay);
        }
    }
}

/// `cycles` dependent decrements.
#[inline(always)]
fn wait(cycles: u64) {
    if cycles > 0 {
        // SAFETY: counts a register down.
        unsafe { asm!("2:", "dec {0}", "jnz 2b", inout(reg) cycles => _, options(nostack, nomem)) }
    }
}
