//! Loaded latency, as Intel MLC measures it: load threads at an inject delay, one latency thread in a random chase.
//!
//! ```text
//!   CPU 0   chase chase chase chase ...     latency [ns]: median over the means of short walks
//!   CPU 1.. traffic | delay | traffic ...   bandwidth [MB/s]: lines of all threads, the chase's too, over the same window
//! ```

use crate::buffer::Buffer;
use crate::chase::{Chase, Order};
use crate::cpu;
use crate::distribution::Distribution;
use crate::error::{Error, Result};
use crate::isa::LINE;
use crate::mix::{Load, Mix, Store};
use crate::progress::Progress;
use crate::report::{Point, mb_s};
use crate::session::Session;
use crate::summary::Summary;
use crate::team::{self, lines, require_cpus, under_load};
use crate::traffic::{Pattern, Traffic};
use crate::tsc::{self, Ticks};
use cxlab_kernel::{Bytes, Stream};
use std::time::Duration;

/// MLC's inject delays. Source: the output of `mlc --loaded_latency`, versions 3.5 to 3.11.
pub const DELAYS: [u64; 19] =
    [0, 2, 8, 15, 50, 100, 200, 300, 400, 500, 700, 1000, 1300, 1700, 2500, 3500, 5000, 9000, 20000];

#[derive(Clone, Debug)]
pub struct LoadedLatency {
    pub threads: usize,
    pub mixes: Vec<Mix>,
    pub store: Store,
    pub pattern: Pattern,
    pub delays: Vec<u64>,
    /// Memory of each thread, the latency thread too.
    pub size: Bytes,
    pub warm_up: Duration,
    pub window: Duration,
    pub repeats: usize,
}

/// Loads of one latency sample: some 10 us, short against a time slice.
const HOPS: usize = 128;

impl LoadedLatency {
    pub fn run(&self, session: &Session, points: &mut Vec<Point>) -> Result<()> {
        require_cpus(session, self.threads, 1)?;
        let rounds = self.mixes.iter().map(|mix| mix.round(self.store)).collect::<Result<Vec<_>>>()?;
        check_size(self.size, rounds.iter().map(|r| 2 * r.lines as usize).max().unwrap_or(0))?;
        let (latency_cpu, load_cpus) = (session.cpus[0], &session.cpus[1..=self.threads]);
        let _pinned = cpu::Pinned::to(latency_cpu)?;
        let mut chased = session.buffer(self.size)?;
        let places = chased.lines();
        let mut random = Stream::new(session.seed, "chase");
        let mut chase = Chase::over(&mut chased, places, 1, Order::Random, &mut random);
        let buffers = (0..self.threads).map(|_| session.buffer(self.size)).collect::<Result<Vec<Buffer>>>()?;
        let progress = Progress::of(rounds.len() * self.delays.len());
        for (&mix, &round) in self.mixes.iter().zip(&rounds) {
            for &delay in &self.delays {
                progress.starts(format!("mix {mix}, delay {delay}"));
                let traffic = Traffic { round, load: Load::Ordinary, store: self.store, pattern: self.pattern, delay };
                let (latencies, bandwidths) = self.measure(session, &traffic, load_cpus, &buffers, &mut chase)?;
                let (Some(latency), Some(bandwidth)) = (Summary::of(&latencies), Summary::of(&bandwidths)) else {
                    return Ok(());
                };
                points.push(Point {
                    delay: Some(delay),
                    mix: Some(mix.to_string()),
                    threads: Some(self.threads),
                    latency_ns: Some(latency.median),
                    bandwidth_mb_s: Some(bandwidth.median),
                    latency: Some(latency),
                    bandwidth: Some(bandwidth),
                    distribution: Some(Distribution::of(&latencies)),
                    ..Point::default()
                });
                progress.finished_one();
            }
        }
        Ok(())
    }

    /// Latencies `[ns]` of short walks, and bandwidths `[MB/s]`, one for each window.
    fn measure(
        &self,
        session: &Session,
        traffic: &Traffic,
        cpus: &[usize],
        buffers: &[Buffer],
        chase: &mut Chase,
    ) -> Result<(Vec<f64>, Vec<f64>)> {
        let (mut latencies, mut bandwidths) = (Vec::new(), Vec::new());
        under_load(session, traffic, cpus, buffers, self.warm_up, |counters| {
            chase.walk(HOPS);
            session.roi.around(|| {
                for _ in (0..self.repeats).take_while(|_| !session.interrupt.has_come()) {
                    let (began, before) = (tsc::now(), team::lines(counters));
                    let (ended, hops) = self.window(session, chase, began, &mut latencies);
                    let moved = lines(counters) - before + hops;
                    bandwidths.push(mb_s(moved * LINE as u64, session.tsc.nanoseconds(ended - began)));
                }
            });
        })?;
        Ok((latencies, bandwidths))
    }

    /// Walks for a window; returns when it ended and how many loads it made.
    fn window(&self, session: &Session, chase: &mut Chase, began: Ticks, latencies: &mut Vec<f64>) -> (Ticks, u64) {
        let window = self.window.as_nanos() as f64;
        let (mut last, mut hops) = (began, 0);
        while session.tsc.nanoseconds(last - began) < window && !session.interrupt.has_come() {
            chase.walk(HOPS);
            let now = tsc::now();
            latencies.push(session.tsc.between(last, now) / HOPS as f64);
            (last, hops) = (now, hops + HOPS as u64);
        }
        (last, hops)
    }
}

/// MEM002 unless `size` has room for `least_lines`.
pub(super) fn check_size(size: Bytes, least_lines: usize) -> Result<()> {
    let needed = Bytes::new((least_lines * LINE) as u64);
    if size >= needed {
        return Ok(());
    }
    let reason = "each half of a thread's memory holds one round of the mix".to_string();
    Err(Error::TooSmall { what: "--size", given: size, needed, reason })
}
