//! A machine: a host and the memory nodes that an operating system sees, in the order of their numbers.

use std::ops::Range;

use cxlab_kernel::{Bytes, Time};
use serde::{Deserialize, Serialize};

use super::{HostSpec, SocketLinkSpec, Sourced};
use crate::cache::ClusterId;
use crate::cxl::{self, ExpanderSpec};
use crate::dram::MemorySpec;
use crate::machine::Mesh;
use crate::request::{CoreId, NodeId};

/// A machine with all its references resolved.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MachineSpec {
    pub name: String,
    pub description: String,
    pub host: HostSpec,
    /// equal parts of the socket whose DDR has LLC slices of its own (SNC); one where it is not said
    pub sub_numa_clusters: Option<Sourced<u32>>,
    /// to the other socket; there is one where a node is of that socket
    pub socket_link: Option<SocketLinkSpec>,
    /// node 0 first
    pub nodes: Vec<NodeSpec>,
}

/// A NUMA node: where its lines are.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NodeSpec {
    pub name: String,
    pub description: String,
    pub socket: Socket,
    /// the cluster whose LLC slices the node's lines stay in; any slice where there is none
    pub sub_numa_cluster: Option<Sourced<ClusterId>>,
    #[serde(flatten)]
    pub path: Path,
}

/// Where a node's memory is, seen from the cores.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Socket {
    /// the cores' own socket
    #[default]
    Own,
    /// behind the socket-to-socket link
    Other,
}

/// Equal devices that one node is interleaved over, by an HDM decoder.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeviceInterleave {
    /// 1, 2, 4 or 8
    pub devices: Sourced<u8>,
    /// bytes in a row on one device, 256 B to 16 KiB
    pub granularity: Sourced<Bytes>,
}

/// What lies between the home agent and the cells.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Path {
    /// the socket's own memory channels
    Dram { memory: MemorySpec },
    /// type-3 devices, each behind a root port of its own
    Cxl { expander: Box<ExpanderSpec>, memory: MemorySpec, interleave: Option<DeviceInterleave> },
}

impl MachineSpec {
    /// The node of this name; the error lists those there are.
    pub fn node(&self, name: &str) -> Result<NodeId, String> {
        let place = self.nodes.iter().position(|node| node.name == name);
        place.map(|place| NodeId(place as u16)).ok_or_else(|| {
            let names: Vec<_> = self.nodes.iter().map(|node| node.name.as_str()).collect();
            format!("machine {} has no node `{name}`; valid: {}", self.name, names.join(", "))
        })
    }

    /// Sub-NUMA clusters of the socket.
    #[must_use]
    pub fn clusters(&self) -> u32 {
        self.sub_numa_clusters.as_deref().copied().unwrap_or(1)
    }

    /// LLC slices whose home agents serve the node's lines.
    #[must_use]
    pub fn slices(&self, node: &NodeSpec) -> Range<u16> {
        let all = *self.host.llc.slices as u16;
        let Some(cluster) = node.sub_numa_cluster.as_deref() else { return 0..all };
        let each = all / self.clusters() as u16;
        cluster.0 * each..(cluster.0 + 1) * each
    }

    /// Root ports, or groups of channels, of a node.
    #[must_use]
    pub fn devices(&self, node: NodeId) -> u8 {
        match &self.nodes[usize::from(node.0)].path {
            Path::Cxl { interleave: Some(interleave), .. } => *interleave.devices,
            Path::Cxl { .. } | Path::Dram { .. } => 1,
        }
    }

    /// The way to the other socket and back, if the node is there.
    fn socket_way(&self, node: NodeId) -> Time {
        let spec = &self.nodes[usize::from(node.0)];
        let (Socket::Other, Some(link)) = (spec.socket, &self.socket_link) else { return Time::ZERO };
        let check = match spec.path {
            Path::Dram { .. } => *link.coherence_check,
            Path::Cxl { .. } => *link.remote_snoop_filter.look_up,
        };
        let wires = link.serialise(*link.request) + link.serialise(*link.data);
        wires + *link.flight * 2 + check + *link.mesh * 2
    }

    /// Load to use by core 0 on an idle machine, mean over the slices: the sum of the stages that a read meets. The machine has been checked.
    #[must_use]
    pub fn idle_latency(&self, node: NodeId) -> Time {
        let mesh = *self.host.mesh.home_to_memory * 2;
        let alone = |memory: &MemorySpec| memory.idle_read_latency().expect("the machine has been checked");
        let (memory, path) = match &self.nodes[usize::from(node.0)].path {
            Path::Dram { memory } => (alone(memory), Time::ZERO),
            Path::Cxl { expander, memory, .. } => {
                let stages = expander.unloaded(cxl::AccessKind::Read);
                (alone(memory), stages.iter().map(|(_, span)| *span).sum())
            }
        };
        let slices = self.slices(&self.nodes[usize::from(node.0)]);
        let chip = Mesh::new(self).expect("the machine has been checked").mean_round_trip(CoreId(0), slices);
        chip + mesh + self.socket_way(node) + path + memory
    }

    /// The most that a node's reads can bring [GB/s].
    #[must_use]
    pub fn peak_read_gb_s(&self, node: NodeId) -> f64 {
        let spec = &self.nodes[usize::from(node.0)];
        let peak = match &spec.path {
            Path::Dram { memory } => memory.peak_gb_s(),
            Path::Cxl { expander, memory, .. } => {
                let link = expander.link.bound(1, 0).expect("a mix of reads alone is no empty mix");
                memory.peak_gb_s().min(link / 1e9) * f64::from(self.devices(node))
            }
        };
        match (&self.socket_link, spec.socket) {
            (Some(link), Socket::Other) => peak.min(64.0 / link.serialise(*link.data).as_ns()),
            _ => peak,
        }
    }
}
