//! Bandwidth by thread count: load threads without delay, sequential or random, by instruction or by mix.

use crate::buffer::Buffer;
use crate::error::{Error, Result};
use crate::instruction::Instruction;
use crate::isa::LINE;
use crate::measure::loaded_latency::check_size;
use crate::mix::{Load, Mix, Store};
use crate::progress::Progress;
use crate::report::{Point, mb_s};
use crate::session::Session;
use crate::summary::Summary;
use crate::team::{lines, require_cpus, under_load};
use crate::traffic::{Pattern, Traffic};
use crate::tsc;
use cxlab_kernel::Bytes;
use std::time::Duration;

/// Work of the threads.
#[derive(Clone, Copy, Debug)]
pub enum Work {
    Instruction(Instruction),
    Mix(Mix, Store),
}

impl Work {
    pub(super) fn traffic(self, pattern: Pattern) -> Result<Traffic> {
        let (mix, load, store) = match self {
            Work::Mix(mix, store) => (mix, Load::Ordinary, store),
            Work::Instruction(Instruction::Load) => (Mix::READS, Load::Ordinary, Store::Ordinary),
            Work::Instruction(Instruction::NontemporalLoad) => (Mix::READS, Load::Nontemporal, Store::Ordinary),
            Work::Instruction(instruction @ Instruction::StoreAndWriteBack) => {
                let valid = "ld, nt-ld, st, nt-st; its latency is measured by memo".into();
                return Err(Error::Parameter { parameter: "--instruction", given: instruction.to_string(), valid });
            }
            Work::Instruction(Instruction::Store) => (Mix::HALF, Load::Ordinary, Store::Ordinary),
            Work::Instruction(Instruction::NontemporalStore) => (Mix::WRITES, Load::Ordinary, Store::Nontemporal),
        };
        Ok(Traffic { round: mix.round(store)?, load, store, pattern, delay: 0 })
    }

    fn point(self) -> Point {
        match self {
            Work::Instruction(instruction) => Point { instruction: Some(instruction), ..Point::default() },
            Work::Mix(mix, _) => Point { mix: Some(mix.to_string()), ..Point::default() },
        }
    }

    fn name(self) -> String {
        match self {
            Work::Instruction(instruction) => instruction.to_string(),
            Work::Mix(mix, _) => format!("mix {mix}"),
        }
    }
}

#[derive(Clone, Debug)]
pub struct Bandwidth {
    pub threads: Vec<usize>,
    pub works: Vec<Work>,
    pub patterns: Vec<Pattern>,
    /// Memory of each thread.
    pub size: Bytes,
    pub warm_up: Duration,
    pub window: Duration,
    pub repeats: usize,
}

/// 1, 2, 4 ... and `most`.
#[must_use]
pub fn thread_counts(most: usize) -> Vec<usize> {
    let mut counts: Vec<usize> = (0..usize::BITS).map(|p| 1 << p).take_while(|&n| n < most).collect();
    counts.push(most);
    counts
}

impl Bandwidth {
    pub fn run(&self, session: &Session, points: &mut Vec<Point>) -> Result<()> {
        let most = self.threads.iter().max().copied().unwrap_or(0);
        require_cpus(session, most, 0)?;
        let mut plan = Vec::new();
        for &pattern in &self.patterns {
            for &work in &self.works {
                plan.push((work, work.traffic(pattern)?));
            }
        }
        check_size(self.size, plan.iter().map(|(_, t)| t.least_lines()).max().unwrap_or(0))?;
        let buffers = (0..most).map(|_| session.buffer(self.size)).collect::<Result<Vec<Buffer>>>()?;
        let progress = Progress::of(plan.len() * self.threads.len());
        for (work, traffic) in &plan {
            for &threads in &self.threads {
                progress.starts(format!("{}, {threads} threads", work.name()));
                let bandwidths = self.measure(session, traffic, &session.cpus[..threads], &buffers[..threads])?;
                let Some(bandwidth) = Summary::of(&bandwidths) else { return Ok(()) };
                points.push(Point {
                    threads: Some(threads),
                    pattern: Some(traffic.pattern),
                    bandwidth_mb_s: Some(bandwidth.median),
                    bandwidth: Some(bandwidth),
                    ..work.point()
                });
                progress.finished_one();
            }
        }
        Ok(())
    }

    /// `[MB/s]`, one for each window.
    pub(super) fn measure(
        &self,
        session: &Session,
        traffic: &Traffic,
        cpus: &[usize],
        buffers: &[Buffer],
    ) -> Result<Vec<f64>> {
        under_load(session, traffic, cpus, buffers, self.warm_up, |counters| {
            let window = || {
                let (began, before) = (tsc::now(), lines(counters));
                session.interrupt.sleep(self.window);
                let (ended, after) = (tsc::now(), lines(counters));
                mb_s((after - before) * LINE as u64, session.tsc.nanoseconds(ended - began))
            };
            let windows = (0..self.repeats).take_while(|_| !session.interrupt.has_come());
            session.roi.around(|| windows.map(|_| window()).collect())
        })
    }
}
