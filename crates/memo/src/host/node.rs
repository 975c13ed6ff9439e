//! Memory nodes: their CPUs, sizes, distances, memory tier, and firmware's figures (HMAT) as Linux shows them.
//!
//! Source: Documentation/admin-guide/mm/numaperf.rst (access classes), Documentation/ABI/testing/sysfs-kernel-mm-memory-tiers.

use super::tree::Tree;
use crate::error::{Error, Result};
use crate::list;
use cxlab_kernel::Bytes;
use serde::Serialize;

/// Firmware's figures of a node, for the initiators of one access class.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Access {
    /// 0: the best initiators, generic ones too. 1: the best that have CPUs.
    pub class: u32,
    pub read_latency_ns: Option<u64>,
    pub write_latency_ns: Option<u64>,
    pub read_bandwidth_mb_s: Option<u64>,
    pub write_bandwidth_mb_s: Option<u64>,
}

#[derive(Clone, Debug, Serialize)]
pub struct Node {
    pub id: u32,
    pub cpus: Vec<usize>,
    /// Zero for a node of CPUs only.
    pub memory: Bytes,
    pub free: Bytes,
    /// To each node in order, local being 10 (ACPI SLIT).
    pub distances: Vec<u64>,
    pub tier: Option<u32>,
    pub hmat: Vec<Access>,
}

#[derive(Clone, Debug, Serialize)]
#[serde(transparent)]
pub struct Nodes(Vec<Node>);

const NODES: &str = "sys/devices/system/node";
const TIERS: &str = "sys/devices/virtual/memory_tiering";

impl Nodes {
    pub fn read(tree: &Tree) -> Result<Nodes> {
        let numbers = tree.numbered(NODES, "node");
        if numbers.is_empty() {
            let source = std::io::Error::from(std::io::ErrorKind::NotFound);
            return Err(Error::io("find nodes in", tree.path(NODES))(source));
        }
        Ok(Nodes(numbers.into_iter().map(|id| Node::read(tree, id)).collect()))
    }

    pub fn iter(&self) -> impl Iterator<Item = &Node> {
        self.0.iter()
    }

    pub fn with_memory(&self) -> impl Iterator<Item = &Node> {
        self.iter().filter(|n| n.memory > Bytes::ZERO)
    }

    /// The node whose CPUs `cpu` belongs to.
    #[must_use]
    pub fn of_cpu(&self, cpu: usize) -> Option<&Node> {
        self.iter().find(|n| n.cpus.contains(&cpu))
    }

    /// MEM020 unless `node` exists and has memory.
    pub fn require_memory(&self, node: u32) -> Result<&Node> {
        self.with_memory().find(|n| n.id == node).ok_or_else(|| {
            let valid: Vec<usize> = self.with_memory().map(|n| n.id as usize).collect();
            Error::NodeWithoutMemory { node, valid: list::write(&valid) }
        })
    }

    /// MEM021 unless `needed` fits into what is free now: past that, the kernel would end a process to find room.
    pub fn require_free(&self, node: u32, needed: Bytes) -> Result<()> {
        let free = Node::read(&Tree::real(), node).free;
        if needed <= free { Ok(()) } else { Err(Error::NodeFull { node, free, needed }) }
    }
}

impl Node {
    fn read(tree: &Tree, id: u32) -> Node {
        let folder = format!("{NODES}/node{id}");
        let file = |name: &str| tree.text(format!("{folder}/{name}"));
        let meminfo = file("meminfo").unwrap_or_default();
        let words = file("distance").unwrap_or_default();
        let tier = tree.numbered(TIERS, "memory_tier").into_iter().find(|tier| {
            let nodes = tree.text(format!("{TIERS}/memory_tier{tier}/nodelist")).and_then(|t| list::parse(&t));
            nodes.is_some_and(|nodes| nodes.contains(&(id as usize)))
        });
        Node {
            id,
            cpus: file("cpulist").and_then(|t| list::parse(&t)).unwrap_or_default(),
            memory: meminfo_line(&meminfo, "MemTotal:"),
            free: meminfo_line(&meminfo, "MemFree:"),
            distances: words.split_whitespace().filter_map(|w| w.parse().ok()).collect(),
            tier,
            hmat: tree.numbered(&folder, "access").into_iter().filter_map(|c| Access::read(tree, &folder, c)).collect(),
        }
    }
}

impl Access {
    /// `None` where firmware gave no figures.
    fn read(tree: &Tree, folder: &str, class: u32) -> Option<Access> {
        let figure = |name: &str| tree.number(format!("{folder}/access{class}/initiators/{name}"));
        let access = Access {
            class,
            read_latency_ns: figure("read_latency"),
            write_latency_ns: figure("write_latency"),
            read_bandwidth_mb_s: figure("read_bandwidth"),
            write_bandwidth_mb_s: figure("write_bandwidth"),
        };
        (access.read_latency_ns.is_some() || access.read_bandwidth_mb_s.is_some()).then_some(access)
    }
}

/// "Node 0 MemTotal:  24684100 kB", where kB means KiB.
fn meminfo_line(meminfo: &str, key: &str) -> Bytes {
    let line = meminfo.lines().find_map(|l| l.split_once(key));
    let kib = line.and_then(|(_, rest)| rest.split_whitespace().next()?.parse().ok());
    Bytes::kib(kib.unwrap_or(0))
}
