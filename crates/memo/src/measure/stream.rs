//! The STREAM benchmark: threads run its kernels over three arrays. Each kernel's best repeat after the first counts.
//! Source: J. D. McCalpin, STREAM 5.10 (stream.c, "run rules").

use crate::buffer::Buffer;
use crate::cpu;
use crate::error::{Error, Result};
use crate::progress::Progress;
use crate::report::{Point, mb_s};
use crate::session::Session;
use crate::stream_kernel::{GRAIN, Kernel, SCALAR};
use crate::summary::Summary;
use crate::team::require_cpus;
use crate::tsc::{self, Ticks};
use cxlab_kernel::Bytes;
use std::ops::Range;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};

#[derive(Clone, Debug)]
pub struct StreamBenchmark {
    pub threads: usize,
    /// Size of each of the three arrays.
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
            for repeat in 0..self.repeats {
                if thread == 0 {
                    // The first repeat is not counted, so it needs no detail.
                    if repeat == 1 {
                        session.roi.begin();
                    }
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
            // The region holds the last kernel of every thread.
            barrier.wait();
            if thread == 0 && !times.is_empty() {
                session.roi.end();
            }
            pinned?;
            check(times.len(), a, b, c);
            Ok(times)
        };
        let work = &work;
        let times = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..self.threads).map(|thread| scope.spawn(move || work(thread))).collect();
            threads.into_iter().map(|t| t.join().expect("a thread does not panic")).collect::<Result<Vec<_>>>()
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
