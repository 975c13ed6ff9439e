//! The line that a person watches. Each sample rewrites it, and each decision keeps it. Without a terminal there is
//! none.

use crate::actuator::Applied;
use crate::controller::Step;
use std::fmt::Write as _;
use std::io::{IsTerminal, Write};

#[derive(Debug)]
pub struct Live {
    shown: bool,
}

impl Live {
    pub fn on_terminal() -> Live {
        Live { shown: std::io::stderr().is_terminal() }
    }

    pub fn show(&self, step: &Step, in_force: &Applied) {
        if self.shown {
            let end = if step.decision.is_some() { "\n" } else { "" };
            // A terminal that went away is no reason to stop steering.
            let _ = write!(std::io::stderr(), "\r\x1b[2K{}{end}", line(step, in_force));
        }
    }

    /// A line to be seen, terminal or not.
    pub fn note(&self, text: &str) {
        let _ = writeln!(std::io::stderr(), "cxlab-caption: {text}");
    }

    /// Leaves the last line standing.
    pub fn end(&self) {
        if self.shown {
            let _ = writeln!(std::io::stderr());
        }
    }
}

fn line(step: &Step, in_force: &Applied) -> String {
    let sample = &step.averaged;
    let mut text = format!(
        "{:>8.1} s  CXL {} ({})  Y {:.2}",
        sample.time_s.0, in_force.share, in_force.placement, step.performance
    );
    let ipc = sample.ipc.or(sample.norm_ipc).map(|ipc| format!("IPC {ipc:.2}"));
    let l1 = sample.l1_miss_latency_ns.map(|l| format!("L1 miss {l}"));
    let ddr = sample.ddr_read_latency_ns.map(|l| format!("DDR {l}"));
    let cxl = sample.cxl_read_latency_ns.map(|l| format!("CXL {l}"));
    for part in [ipc, l1, ddr, cxl].into_iter().flatten() {
        let _ = write!(text, "  {part}");
    }
    if let Some(decision) = step.decision {
        let _ = write!(text, "  {} -> {}", decision.verdict, decision.share);
    }
    text
}
