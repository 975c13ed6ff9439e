//! The host that memo runs on: processor, nodes, tiers, firmware's figures, and what makes measurements unreliable.
//!
//! Everything here is read, nothing is set. What cannot be read is `None`, and the caveats say so where it matters.

mod caveat;
mod disturbance;
mod node;
mod prefetcher;
mod processor;
mod tree;
mod virtualisation;

pub use caveat::caveats;
pub use disturbance::{Disturbance, Watch};
pub use node::{Access, Node, Nodes};
pub use prefetcher::{Prefetcher, decode as decode_prefetchers};
pub use processor::Processor;
pub use tree::Tree;

use crate::error::Result;
use serde::Serialize;

#[derive(Clone, Debug, Serialize)]
pub struct Host {
    pub hostname: String,
    pub kernel: String,
    pub processor: Processor,
    pub nodes: Nodes,
    /// The hypervisor's name; `None` on bare metal.
    pub hypervisor: Option<String>,
    /// `None` where model-specific registers cannot be read.
    pub prefetchers: Option<Vec<Prefetcher>>,
    pub transparent_huge_pages: Option<String>,
    /// kernel.numa_balancing: 0 off, 1 balancing, 2 memory tiering.
    pub numa_balancing: Option<u64>,
    /// Mean runnable threads of the last minute.
    pub load_average: Option<f64>,
}

impl Host {
    pub fn read(tree: &Tree) -> Result<Host> {
        let uname = rustix::system::uname();
        let processor = Processor::read(tree);
        Ok(Host {
            hostname: uname.nodename().to_string_lossy().into_owned(),
            kernel: uname.release().to_string_lossy().into_owned(),
            nodes: Nodes::read(tree)?,
            hypervisor: virtualisation::hypervisor(tree),
            prefetchers: prefetcher::read(tree, &processor),
            transparent_huge_pages: tree.text("sys/kernel/mm/transparent_hugepage/enabled"),
            numa_balancing: tree.number("proc/sys/kernel/numa_balancing"),
            load_average: tree.text("proc/loadavg").and_then(|t| t.split_whitespace().next()?.parse().ok()),
            processor,
        })
    }

    /// One line that names the machine in a result.
    #[must_use]
    pub fn machine(&self) -> String {
        format!("{} ({})", self.hostname, self.processor.model.as_deref().unwrap_or("unknown processor"))
    }
}
