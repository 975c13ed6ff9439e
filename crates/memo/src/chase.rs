//! The pointer chase is one cycle through all lines. Each load's address is the value of the load before.
//!
//! A random order is a uniformly drawn cycle (Sattolo 1986). So the walk visits every line once before it repeats, and
//! no short cycle can hide in a cache. A sequential order is lmbench's stride, which prefetchers see through.

use crate::buffer::Buffer;
use crate::isa::LINE;
use cxlab_kernel::Stream;
use serde::Serialize;
use std::arch::asm;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Order {
    Random,
    Sequential,
}

/// Successors that make one cycle through `0..count`: `next[i]` follows `i`.
pub trait Successors {
    fn set(&mut self, index: usize, next: usize);
    fn get(&self, index: usize) -> usize;
}

impl Successors for Vec<usize> {
    fn set(&mut self, index: usize, next: usize) {
        self[index] = next;
    }
    fn get(&self, index: usize) -> usize {
        self[index]
    }
}

/// Fills `0..count` with one cycle.
pub fn make_cycle(successors: &mut impl Successors, count: usize, order: Order, random: &mut Stream) {
    match order {
        Order::Sequential => (0..count).for_each(|i| successors.set(i, (i + 1) % count)),
        Order::Random => {
            (0..count).for_each(|i| successors.set(i, i));
            for i in (1..count).rev() {
                let j = below(random, i);
                let (a, b) = (successors.get(i), successors.get(j));
                successors.set(i, b);
                successors.set(j, a);
            }
        }
    }
}

/// Uniform over `0..bound` but for 2^-64 of bias (Lemire 2019, without the rejection).
#[must_use]
pub fn below(random: &mut Stream, bound: usize) -> usize {
    ((u128::from(random.next_u64()) * bound as u128) >> 64) as usize
}

/// Every `spacing`-th line of a buffer as a place for a pointer.
struct Lines<'a> {
    buffer: &'a Buffer,
    spacing: usize,
}

impl Lines<'_> {
    fn place(&self, index: usize) -> *mut usize {
        self.buffer.line(index * self.spacing).cast()
    }
}

impl Successors for Lines<'_> {
    fn set(&mut self, index: usize, next: usize) {
        // SAFETY: a mapped, aligned line of a buffer that this thread alone uses while the cycle is made.
        unsafe { self.place(index).write(next) }
    }
    fn get(&self, index: usize) -> usize {
        // SAFETY: as in `set`.
        unsafe { self.place(index).read() }
    }
}

/// A walker on its cycle.
#[derive(Debug)]
pub struct Chase<'a> {
    at: *const u8,
    lines: usize,
    /// The pointers live in it.
    _buffer: &'a Buffer,
}

// SAFETY: it only reads a buffer that is shared already; the address stays valid while the buffer is borrowed.
unsafe impl Send for Chase<'_> {}

impl<'a> Chase<'a> {
    /// Over the first `lines` places of `buffer`, `spacing` lines apart.
    pub fn over(buffer: &'a mut Buffer, lines: usize, spacing: usize, order: Order, random: &mut Stream) -> Chase<'a> {
        let mut places = Lines { buffer, spacing };
        make_cycle(&mut places, lines, order, random);
        for index in 0..lines {
            let next = places.place(places.get(index)) as usize;
            places.set(index, next);
        }
        Chase { at: buffer.start(), lines, _buffer: buffer }
    }

    #[must_use]
    pub fn lines(&self) -> usize {
        self.lines
    }

    /// Index of the line that the walker stands on, from the buffer's start.
    #[must_use]
    pub fn line(&self) -> usize {
        (self.at as usize - self._buffer.start() as usize) / LINE
    }

    /// `hops` dependent loads, `hops` being a multiple of 16.
    #[inline(never)]
    pub fn walk(&mut self, hops: usize) {
        let mut at = self.at;
        for _ in 0..hops / 16 {
            // SAFETY: every place of the cycle holds the address of another place of it.
            unsafe {
                asm!(
                    "mov {at}, [{at}]", "mov {at}, [{at}]", "mov {at}, [{at}]", "mov {at}, [{at}]",
                    "mov {at}, [{at}]", "mov {at}, [{at}]", "mov {at}, [{at}]", "mov {at}, [{at}]",
                    "mov {at}, [{at}]", "mov {at}, [{at}]", "mov {at}, [{at}]", "mov {at}, [{at}]",
                    "mov {at}, [{at}]", "mov {at}, [{at}]", "mov {at}, [{at}]", "mov {at}, [{at}]",
                    at = inout(reg) at, options(nostack, preserves_flags, readonly),
                );
            }
        }
        self.at = at;
    }
}
