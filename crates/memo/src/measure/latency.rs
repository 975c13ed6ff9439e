//! Idle latency: a serial pointer chase, over one size or over a sweep of sizes (lat_mem_rd's curve).

use crate::chase::{Chase, Order};
use crate::cpu;
use crate::error::{Error, Result};
use crate::isa::LINE;
use crate::progress::Progress;
use crate::report::Point;
use crate::session::Session;
use crate::tsc;
use cxlab_kernel::{Bytes, Stream};

#[derive(Clone, Debug)]
pub struct Latency {
    pub sizes: Vec<Bytes>,
    /// From one place of the chase to the next in address order: a multiple of a line.
    pub stride: Bytes,
    pub order: Order,
    /// Loads of a sample: one sample is their mean.
    pub hops: usize,
    pub samples: usize,
}

/// Loads before the first sample, at most: a pass that fills the caches, or 2^20 loads.
const WARM_UP: usize = 1 << 20;

/// Two sizes a doubling, from 4 KiB to `largest`, as lmbench steps.
#[must_use]
pub fn sweep(largest: Bytes) -> Vec<Bytes> {
    let doublings = (12..63).flat_map(|power| [1u64 << power, (1u64 << power) * 3 / 2]);
    let mut sizes: Vec<u64> = doublings.take_while(|&size| size < largest.get()).collect();
    sizes.push(largest.get());
    sizes.into_iter().map(Bytes::new).collect()
}

/// Loads rounded up to what the unrolled walk does at a time.
#[must_use]
pub fn whole_hops(hops: usize) -> usize {
    hops.div_ceil(16).max(1) * 16
}

impl Latency {
    pub fn run(&self, session: &Session, points: &mut Vec<Point>) -> Result<()> {
        self.check()?;
        let largest = self.sizes.iter().max().copied().unwrap_or(Bytes::ZERO);
        let _pinned = cpu::Pinned::to(session.cpus[0])?;
        let mut buffer = session.buffer(largest)?;
        let mut random = Stream::new(session.seed, "chase");
        let progress = Progress::of(self.sizes.len());
        for &size in &self.sizes {
            progress.starts(size.to_string());
            let places = (size.get() / self.stride.get()) as usize;
            let spacing = self.stride.get() as usize / LINE;
            let mut chase = Chase::over(&mut buffer, places, spacing, self.order, &mut random);
            let Some(point) = Point::of_latencies(&self.latencies(session, &mut chase)) else { break };
            points.push(Point { size: Some(size), ..point });
            progress.finished_one();
        }
        Ok(())
    }

    fn check(&self) -> Result<()> {
        if self.stride.get() == 0 || !self.stride.get().is_multiple_of(LINE as u64) {
            let valid = format!("a multiple of the line, {LINE} B");
            return Err(Error::Parameter { parameter: "--stride", given: self.stride.to_string(), valid });
        }
        let needed = Bytes::new(2 * self.stride.get());
        match self.sizes.iter().find(|&&size| size < needed) {
            Some(&given) => {
                let reason = format!("a chase with a stride of {} needs two places", self.stride);
                Err(Error::TooSmall { what: "--size", given, needed, reason })
            }
            None => Ok(()),
        }
    }

    /// `[ns]`, means over `hops` loads.
    pub(super) fn latencies(&self, session: &Session, chase: &mut Chase) -> Vec<f64> {
        let hops = whole_hops(self.hops);
        chase.walk(whole_hops(chase.lines().min(WARM_UP)));
        let mut latencies = Vec::with_capacity(self.samples.min(1 << 20));
        session.roi.around(|| {
            for _ in (0..self.samples).take_while(|_| !session.interrupt.has_come()) {
                let began = tsc::now();
                chase.walk(hops);
                latencies.push(session.tsc.between(began, tsc::now()) / hops as f64);
            }
        });
        latencies
    }
}
