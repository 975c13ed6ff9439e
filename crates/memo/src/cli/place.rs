//! Options for the place of a measurement: CPUs, node, pages. All measuring commands share them.

use super::output::Output;
use clap::Args;
use cxlab_kernel::Bytes;
use cxlab_memo::host::{Host, Tree, Watch, caveats};
use cxlab_memo::interrupt::Interrupt;
use cxlab_memo::isa::Isa;
use cxlab_memo::page::PageSize;
use cxlab_memo::report::{Benchmark, Measured, Point, Provenance, Report};
use cxlab_memo::roi::Roi;
use cxlab_memo::session::Session;
use cxlab_memo::summary::RULE;
use cxlab_memo::tsc::Tsc;
use cxlab_memo::{Error, Result, cpu, list};
use serde_json::Value;
use std::process::ExitCode;
use std::time::SystemTime;

#[derive(Args)]
pub struct Place {
    /// CPUs that may be used, such as 0-3,8; the first one measures latency [all that this process may use]
    #[arg(long, value_name = "LIST")]
    cpus: Option<String>,
    /// The memory's node [that of the first CPU]
    #[arg(long)]
    node: Option<u32>,
    /// Pages of the memory
    #[arg(long, value_enum, default_value = "2MiB")]
    pages: PageSize,
    /// Instruction set of the accesses [the widest that the CPU has]
    #[arg(long, value_enum)]
    isa: Option<Isa>,
    /// Seed of every random sequence
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Put markers around the measured loops, for a simulated machine under --detail marker
    #[arg(long)]
    roi: bool,
}

/// A command's request, except for its place.
pub struct Plan<'a> {
    pub benchmark: Benchmark,
    /// The memory that caveats judge.
    pub size: Bytes,
    /// an object
    pub settings: Value,
    pub method: String,
    pub output: &'a Output,
}

impl Place {
    fn session(&self, host: &Host, tsc: Tsc) -> Result<Session> {
        let cpus = cpu::choose(self.cpus.as_deref(), &cpu::allowed()?)?;
        let node = match self.node {
            Some(node) => node,
            None => self.nearest(host, cpus[0])?,
        };
        host.nodes.require_memory(node)?;
        Ok(Session {
            tsc,
            isa: Isa::choose(self.isa)?,
            nodes: host.nodes.clone(),
            node,
            pages: self.pages,
            cpus,
            seed: self.seed,
            roi: if self.roi { Roi::Marked } else { Roi::Unmarked },
            interrupt: Interrupt::install()?,
        })
    }

    /// The node of `cpu`; where it has no memory, the first node that has.
    fn nearest(&self, host: &Host, cpu: usize) -> Result<u32> {
        let own = host.nodes.of_cpu(cpu).filter(|n| n.memory > Bytes::ZERO);
        let node = own.or_else(|| host.nodes.with_memory().next());
        node.map(|n| n.id).ok_or_else(|| Error::NodeWithoutMemory { node: 0, valid: list::write(&[]) })
    }

    /// CPUs that there are, for a default thread count.
    pub fn cpu_count(&self) -> Result<usize> {
        Ok(cpu::choose(self.cpus.as_deref(), &cpu::allowed()?)?.len())
    }

    /// Measures and writes the results; what there is, after a signal.
    pub fn measure(&self, plan: Plan, run: impl FnOnce(&Session, &mut Vec<Point>) -> Result<()>) -> Result<ExitCode> {
        plan.output.check()?;
        let started = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
        let host = Host::read(&Tree::real())?;
        let session = self.session(&host, Tsc::calibrate()?)?;
        let watch = Watch::start();
        let mut points = Vec::new();
        run(&session, &mut points)?;
        let disturbance = watch.disturbance();
        let complete = !session.interrupt.has_come();
        if points.is_empty() {
            return Err(Error::NothingMeasured);
        }
        let report = Report {
            benchmark: plan.benchmark,
            machine: host.machine(),
            node: session.node.to_string(),
            settings: plan.settings.as_object().cloned().unwrap_or_default(),
            complete,
            points,
            provenance: Provenance::Measured(Box::new(Measured {
                tool: "cxlab-memo",
                version: env!("CARGO_PKG_VERSION"),
                command: std::env::args().collect(),
                started,
                caveats: caveats(&host, &session.tsc, Some((plan.size, session.pages, &disturbance))),
                host,
                tsc: session.tsc,
                instruction_set: session.isa,
                pages: session.pages,
                cpus: session.cpus,
                seed: session.seed,
                method: format!("{}; {RULE}", plan.method),
                disturbance,
            })),
        };
        plan.output.write(&report)?;
        /// Status that a shell reports after SIGINT.
        const INTERRUPTED: u8 = 130;
        Ok(if complete { ExitCode::SUCCESS } else { ExitCode::from(INTERRUPTED) })
    }
}
