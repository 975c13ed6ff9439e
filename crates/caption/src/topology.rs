//! Finds which memory nodes are DDR and which are CXL.
//!
//! A CXL node is a node with memory and no processor. Memory on the package (HBM) looks the same: such machines name
//! their nodes. Source: Documentation/ABI/stable/sysfs-devices-node (has_memory, has_cpu).

use crate::error::{Error, Result};
use crate::root::Root;
use crate::weights::Nodes;
use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

const NODES: &str = "sys/devices/system/node";

/// Memory nodes, in the kernel's list format ("0-1,3").
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeSet(BTreeSet<u32>);

impl NodeSet {
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.0.iter().copied()
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn contains(&self, node: u32) -> bool {
        self.0.contains(&node)
    }

    pub fn union(&self, other: &NodeSet) -> NodeSet {
        NodeSet(&self.0 | &other.0)
    }

    fn without(&self, other: &NodeSet) -> NodeSet {
        NodeSet(&self.0 - &other.0)
    }

    /// The kernel's bit mask, as words.
    pub fn mask(&self) -> Vec<u64> {
        let words = self.iter().last().map_or(1, |node| node as usize / 64 + 1);
        let mut mask = vec![0; words];
        for node in self.iter() {
            mask[node as usize / 64] |= 1 << (node % 64);
        }
        mask
    }
}

impl FromIterator<u32> for NodeSet {
    fn from_iter<I: IntoIterator<Item = u32>>(nodes: I) -> NodeSet {
        NodeSet(nodes.into_iter().collect())
    }
}

/// Largest node id that Linux is built for (CONFIG_NODES_SHIFT up to 10).
const MOST_NODES: u32 = 1 << 10;

impl FromStr for NodeSet {
    type Err = Error;

    fn from_str(text: &str) -> Result<NodeSet> {
        let refused = || Error::Parameter {
            parameter: "nodes",
            given: text.to_string(),
            valid: "a list below 1024, as 0 or 0-1,3",
        };
        let number = |t: &str| t.trim().parse::<u32>().ok().filter(|n| *n < MOST_NODES).ok_or_else(refused);
        let mut nodes = BTreeSet::new();
        for part in text.trim().split(',').filter(|part| !part.is_empty()) {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let (first, last) = (number(first)?, number(last)?);
            if first > last {
                return Err(refused());
            }
            nodes.extend(first..=last);
        }
        Ok(NodeSet(nodes))
    }
}

impl fmt::Display for NodeSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.iter().map(|n| format!("node{n}")).collect();
        f.write_str(&names.join(", "))
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Topology {
    pub ddr: NodeSet,
    pub cxl: NodeSet,
}

impl Topology {
    /// Finds the nodes of the machine. `ddr` and `cxl` are those that the user named. Fails with CAP030 on a machine
    /// with one node.
    pub fn detect(root: &Root, ddr: Option<NodeSet>, cxl: Option<NodeSet>) -> Result<Topology> {
        let memory: NodeSet = root.read(format!("{NODES}/has_memory"))?.parse()?;
        if let (1, Some(only)) = (memory.len(), memory.iter().next()) {
            return Err(Error::OneNode { only });
        }
        let cpus: NodeSet = root.read(format!("{NODES}/has_cpu"))?.parse()?;
        let found_cxl = memory.without(&cpus);
        let cxl = cxl.unwrap_or_else(|| found_cxl.clone());
        let ddr = ddr.unwrap_or_else(|| memory.without(&found_cxl).without(&cxl));
        let named = ddr.union(&cxl);
        if let Some(node) = named.iter().find(|node| !memory.contains(*node)) {
            return Err(Error::UnknownNode { node, valid: memory.to_string() });
        }
        Topology { ddr, cxl }.checked(&memory)
    }

    /// For a dry run on a machine that has no CXL node: the next node stands for it.
    pub fn assumed(root: &Root, ddr: Option<NodeSet>, cxl: Option<NodeSet>) -> Result<Topology> {
        let memory: NodeSet = root.read(format!("{NODES}/has_memory"))?.parse()?;
        let next = memory.iter().last().unwrap_or(0) + 1;
        let cxl = cxl.unwrap_or_else(|| NodeSet::from_iter([next]));
        let ddr = ddr.unwrap_or_else(|| memory.without(&cxl));
        Topology { ddr, cxl }.checked(&memory)
    }

    fn checked(self, memory: &NodeSet) -> Result<Topology> {
        let refused = |detail: String| Error::Topology { detail, valid: memory.to_string() };
        if self.ddr.is_empty() {
            return Err(refused("no node is left for DDR".into()));
        }
        if self.cxl.is_empty() {
            return Err(refused("every node with memory has processors: none looks like CXL".into()));
        }
        if let Some(both) = self.ddr.iter().find(|node| self.cxl.contains(*node)) {
            return Err(refused(format!("node{both} is named as DDR and as CXL")));
        }
        Ok(self)
    }

    pub fn counts(&self) -> Nodes {
        Nodes { ddr: self.ddr.len(), cxl: self.cxl.len() }
    }

    pub fn all(&self) -> NodeSet {
        self.ddr.union(&self.cxl)
    }
}

impl fmt::Display for Topology {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DDR {}; CXL {}", self.ddr, self.cxl)
    }
}
