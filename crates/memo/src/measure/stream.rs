//! STREAM's four kernels, by its rules: three arrays, bytes as it counts them, the best of the repeats after the first.
//!
//! ```text
//!   copy   c = a          scale  b = 3 c          add  c = a + b          triad  a = b + 3 c
//!   16 B an element       16 B                    24 B                    24 B
//! ```
//! STREAM does not count the read for ownership of ordinary stores, so the memory moves up to 3/2 (copy, scale) or 4/3 (add,
//! triad) of what is printed. The stores are ordinary: copy is kept from becoming memcpy, which may store past the caches.
//! Source: J. D. McCalpin, STREAM 5.10 (stream.c, "run rules").

use crate::buffer::Buffer;
use crate::cpu;
use crate::error::{Error, Result};
use crate::progress::Progress;
use crate::report::{Point, mb_s};
use crate::session::Session;
use crate::summary::Summary;
use crate::team::require_cpus;
use crate::tsc::{self, Ticks};
use cxlab_kernel::Bytes;
use serde::Serialize;
use std::arch::asm;
use std::fmt;
use std::ops::Range;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kernel {
    Copy,
    Scale,
    Add,
    Triad,
}

const SCALAR: f64 = 3.0;
/// Doubles of a cache line: threads share no line.
const GRAIN: usize = 8;

impl Kernel {
    pub const ALL: [Kernel; 4] = [Kernel::Copy, Kernel::Scale, Kernel::Add, Kernel::Triad];

    /// Bytes that STREAM counts for an element.
    #[must_use]
    pub fn bytes(self) -> u64 {
        match self {
            Kernel::Copy | Kernel::Scale => 16,
            Kernel::Add | Kernel::Triad => 24,
        }
    }

    /// Over slices of one length, a multiple of 8.
    #[inline(never)]
    pub fn run(self, a: &mut [f64], b: &mut [f64], c: &mut [f64]) {
        match self {
            Kernel::Copy => {
                for (c, a) in c.chunks_exact_mut(GRAIN).zip(a.chunks_exact(GRAIN)) {
                    c.copy_from_slice(a);
                    keep_order();
                }
            }
            Kernel::Scale => b.iter_mut().zip(&*c).for_each(|(b, c)| *b = SCALAR * c),
            Kernel::Add => c.iter_mut().zip(&*a).zip(&*b).for_each(|((c, a), b)| *c = a + b),
            Kernel::Triad => a.iter_mut().zip(&*b).zip(&*c).for_each(|((a, b), c)| *a = b + SCALAR * c),
        }
    }
}

impl fmt::Display for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Kernel::Copy => "copy",
            Kernel::Scale => "scale",
            Kernel::Add => "add",
            Kernel::Triad => "triad",
        })
    }
}

/// The compiler may not merge what is before with what is after, so a loop around it stays a loop.
#[inline(always)]
fn keep_order() {
    // SAFETY: no instruction.
    unsafe { asm!("", options(nostack, preserves_flags)) }
}

#[derive(Clone, Debug)]
pub struct StreamBenchmark {
    pub threads: usize,
    /// Of each of the three arrays.
    pub size: Bytes,
    /// The first is not counted.
    pub repeats: usize,
}

/// The three arrays, split among threads.
struct Arrays([Buffer; 3]);

impl Arrays {
    /// # Safety
    /// No two live slices of one array overlap.
    #[allow(clippy::mut_from_ref)] // threads write disjoint parts of one array
    unsafe fn slice(&self, array: usize, range: &Range<usize>) -> &mut [f64] {
        let start = self.0[array].start().cast::<f64>();
        // SAFETY: the range is inside the array; any bits are a double.
        unsafe { std::slice::from_raw_parts_mut(start.add(range.start), range.len()) }
    }
}

impl StreamBenchmark {
    pub fn run(&self, session: &Session, points: &mut Vec<Point>) -> Result<()> {
        require_cpus(session, self.threads, 0)?;
        let needed = Bytes::new((self.threads * GRAIN * size_of::<f64>()) as u64);
        if self.size < needed {
            let reason = format!("each of {} threads has a line of the array", self.threads);
            return Err(Error::TooSmall { what: "--size", given: self.size, needed, reason });
        }
        let arrays = Arrays([session.buffer(self.size)?, session.buffer(self.size)?, session.buffer(self.size)?]);
        let ranges = self.ranges();
        let elements: usize = ranges.iter().map(Range::len).sum();
        let spans = self.iterate(session, &arrays, &ranges)?;
        for (index, kernel) in Kernel::ALL.into_iter().enumerate() {
            let rates: Vec<f64> = spans[index]
                .iter()
                .skip(1)
                .map(|&span| mb_s(elements as u64 * kernel.bytes(), session.tsc.nanoseconds(span)))
                .collect();
            let Some(bandwidth) = Summary::of(&rates) else { return Ok(()) };
            points.push(Point {
                kernel: Some(kernel),
                threads: Some(self.threads),
                bandwidth_mb_s: Some(bandwidth.maximum),
                bandwidth: Some(bandwidth),
                ..Point::default()
            });
        }
        Ok(())
    }

    /// Whole lines for each thread; what does not divide is left out.
    fn ranges(&self) -> Vec<Range<usize>> {
        let each = self.size.get() as usize / size_of::<f64>() / GRAIN / self.threads * GRAIN;
        (0..self.threads).map(|t| t * each..(t + 1) * each).collect()
    }

    /// For each kernel, the span of each repeat: from the first thread's start to the last one's end.
    fn iterate(&self, session: &Session, arrays: &Arrays, ranges: &[Range<usize>]) -> Result<[Vec<Ticks>; 4]> {
        let (barrier, ended, unpinned) = (Barrier::new(self.threads), AtomicBool::new(false), AtomicUsize::new(0));
        let progress = Progress::of(self.repeats);
        let work = |thread: usize| -> Result<Vec<[(Ticks, Ticks); 4]>> {
            // SAFETY: the ranges of the threads are disjoint.
            let (a, b, c) = unsafe {
                let of = |array| arrays.slice(array, &ranges[thread]);
                (of(0), of(1), of(2))
            };
            a.fill(1.0);
            b.fill(2.0);
            c.fill(0.0);
            let pinned = cpu::pin(session.cpus[thread]);
            unpinned.fetch_add(usize::from(pinned.is_err()), SeqCst);
            barrier.wait();
            let mut times = Vec::with_capacity(self.repeats);
            for _ in 0..self.repeats {
                if thread == 0 {
                    ended.store(session.interrupt.has_come() || unpinned.load(SeqCst) > 0, SeqCst);
                    progress.finished_one();
                }
                barrier.wait();
                if ended.load(SeqCst) {
                    break;
                }
                times.push(Kernel::ALL.map(|kernel| {
                    barrier.wait();
                    let began = tsc::now();
                    kernel.run(a, b, c);
                    (began, tsc::now())
                }));
            }
            pinned?;
            check(times.len(), a, b, c);
            Ok(times)
        };
        let work = &work;
        let times = session.roi.around(|| {
            std::thread::scope(|scope| {
                let threads: Vec<_> = (0..self.threads).map(|thread| scope.spawn(move || work(thread))).collect();
                threads.into_iter().map(|t| t.join().expect("a thread does not panic")).collect::<Result<Vec<_>>>()
            })
        })?;
        Ok(std::array::from_fn(|kernel| (0..times[0].len()).map(|repeat| span(&times, repeat, kernel)).collect()))
    }
}

fn span(times: &[Vec<[(Ticks, Ticks); 4]>], repeat: usize, kernel: usize) -> Ticks {
    let began = times.iter().map(|t| t[repeat][kernel].0).min();
    let ended = times.iter().map(|t| t[repeat][kernel].1).max();
    ended.unwrap_or_default() - began.unwrap_or_default()
}

/// The arrays hold what so many repeats leave in exact arithmetic; as stream.c, within 1e-13 of it.
fn check(repeats: usize, a: &[f64], b: &[f64], c: &[f64]) {
    let (mut x, mut y, mut z) = (1.0, 2.0, 0.0);
    for _ in 0..repeats {
        z = x;
        y = SCALAR * z;
        z = x + y;
        x = y + SCALAR * z;
    }
    for (array, expected) in [(a, x), (b, y), (c, z)] {
        let worst = array.iter().map(|v| ((v - expected) / expected.max(1.0)).abs()).fold(0.0, f64::max);
        assert!(worst <= 1e-13, "STREAM's arrays are wrong by {worst}");
    }
}
