//! Latency and bandwidth from CPUs to nodes: an idle chase from one CPU, reads from all given CPUs of its node.

use crate::buffer::Buffer;
use crate::error::Result;
use crate::instruction::Instruction;
use crate::measure::bandwidth::{Bandwidth, Work};
use crate::measure::latency::Latency;
use crate::progress::Progress;
use crate::report::Point;
use crate::session::Session;
use crate::summary::Summary;
use crate::traffic::Pattern;

#[derive(Clone, Debug)]
pub struct Matrix {
    /// Every CPU, or one for each node.
    pub sources: Sources,
    pub latency: Latency,
    /// Settings of the threads that measure bandwidth. Their counts, work and patterns are the matrix's own.
    pub bandwidth: Bandwidth,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Sources {
    Nodes,
    Cpus,
}

impl Matrix {
    pub fn run(&self, session: &Session, points: &mut Vec<Point>) -> Result<()> {
        let sources = self.sources(session);
        let targets: Vec<u32> = session.nodes.with_memory().map(|n| n.id).collect();
        let progress = Progress::of(sources.len() * targets.len());
        for cpus in &sources {
            for &node in &targets {
                progress.starts(format!("CPU {} to node {node}", cpus[0]));
                let from = Session { cpus: cpus.clone(), node, ..session.clone() };
                let mut found = Vec::new();
                self.latency.run(&from, &mut found)?;
                let Some(chased) = found.pop() else { return Ok(()) };
                let Some(bandwidth) = Summary::of(&self.bandwidths(&from)?) else { return Ok(()) };
                points.push(Point {
                    cpu: Some(cpus[0]),
                    from: session.nodes.of_cpu(cpus[0]).map(|n| n.id),
                    to: Some(node),
                    threads: Some(cpus.len()),
                    bandwidth_mb_s: Some(bandwidth.median),
                    bandwidth: Some(bandwidth),
                    ..chased
                });
                progress.finished_one();
            }
        }
        Ok(())
    }

    /// The CPUs of each row; the first one chases.
    fn sources(&self, session: &Session) -> Vec<Vec<usize>> {
        match self.sources {
            Sources::Cpus => session.cpus.iter().map(|&cpu| vec![cpu]).collect(),
            Sources::Nodes => session
                .nodes
                .iter()
                .map(|n| session.cpus.iter().copied().filter(|cpu| n.cpus.contains(cpu)).collect::<Vec<_>>())
                .filter(|cpus| !cpus.is_empty())
                .collect(),
        }
    }

    fn bandwidths(&self, from: &Session) -> Result<Vec<f64>> {
        let traffic = Work::Instruction(Instruction::Load).traffic(Pattern::Sequential)?;
        let buffers = from.cpus.iter().map(|_| from.buffer(self.bandwidth.size)).collect::<Result<Vec<Buffer>>>()?;
        self.bandwidth.measure(from, &traffic, &from.cpus, &buffers)
    }
}
