//! A machine: a host and the memory nodes that an operating system sees, in the order of their numbers.

use std::ops::Range;

use cxlab_kernel::{Bytes, Stream, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::HostSpec;
use crate::cache::ClusterId;
use crate::core::Core;
use crate::cxl::LinkSpec;
use crate::document::Fitted;
use crate::drive::DriveSpec;
use crate::fabric::{DeviceCacheSpec, DeviceInterleave, ExpanderSpec, Fabric, HdmDecoders, SwitchSpec};
use crate::fact::Sourced;
use crate::home::{Floorplan, Mesh, Socket, SocketLinkSpec};
use crate::media::flash::{Flash, FlashSpec};
use crate::media::{Memory, MemorySpec};
use crate::mem::AccessKind;
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
    /// under the guest's disk, if it may have one
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drive: Option<DriveSpec>,
    /// node 0 first
    pub nodes: Vec<NodeSpec>,
    /// keys of the machine's files whose values were fitted, and to what
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fitted: Vec<Fitted>,
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

/// The way between the home agent and the cells.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Path {
    /// the socket's own memory channels
    Dram { memory: MemorySpec },
    /// type-3 devices, each behind a root port of its own
    Cxl {
        expander: Box<ExpanderSpec>,
        memory: MemorySpec,
        interleave: Option<DeviceInterleave>,
        /// between root port and device, from the host on
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        switches: Vec<SwitchSpec>,
        /// the devices are those of another node
        #[serde(default, skip_serializing_if = "Option::is_none")]
        share: Option<ShareSpec>,
        /// flash, before which the memory is a cache
        #[serde(default, skip_serializing_if = "Option::is_none")]
        flash: Option<Box<CachedFlash>>,
    },
}

/// Flash of a device, and the cache before it, whose DRAM is the device's memory.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CachedFlash {
    pub cache: DeviceCacheSpec,
    pub flash: FlashSpec,
}

impl CachedFlash {
    /// The drive of a device of this capacity.
    pub(crate) fn drive(&self, capacity: Bytes) -> Result<Memory, String> {
        let flash = Flash::new(&self.flash, capacity, *self.cache.line).map_err(|error| error.to_string())?;
        Ok(Memory::Flash(Box::new(flash)))
    }
}

/// A part of another node's devices.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ShareSpec {
    /// whose devices they are: a CXL node that stands before this one in the machine file
    pub node: String,
    /// where this node's part of each device begins `[bytes from 0]`
    pub from: Sourced<Bytes>,
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

    /// The parts of the host that the mesh is laid out from.
    #[must_use]
    pub fn floorplan(&self) -> Floorplan<'_> {
        let HostSpec { mesh, llc, cores, .. } = &self.host;
        Floorplan { mesh, llc, cores: **cores, clusters: self.clusters() }
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
            Path::Cxl { expander, memory, switches, flash, .. } => {
                let stages = expander.unloaded(switches, AccessKind::Read);
                // Where there is flash, of a line that the device's cache has.
                let look_up = flash.as_ref().map_or(Time::ZERO, |flash| *flash.cache.look_up);
                (alone(memory), stages.iter().map(|(_, span)| *span).sum::<Time>() + look_up)
            }
        };
        let slices = self.slices(&self.nodes[usize::from(node.0)]);
        let chip =
            Mesh::new(&self.floorplan()).expect("the machine has been checked").mean_round_trip(CoreId(0), slices);
        chip + mesh + self.socket_way(node) + path + memory
    }

    /// The most that a node's reads can bring `[GB/s]`.
    #[must_use]
    pub fn peak_read_gb_s(&self, node: NodeId) -> f64 {
        let spec = &self.nodes[usize::from(node.0)];
        let peak = match &spec.path {
            Path::Dram { memory } => memory.peak_gb_s(),
            Path::Cxl { expander, memory, switches, .. } => {
                let links = switches.iter().map(|switch| &switch.link).chain([&expander.link]);
                let bound = |link: &LinkSpec| link.bound(1, 0).expect("a mix of reads alone is no empty mix");
                let link = links.map(bound).fold(f64::INFINITY, f64::min);
                memory.peak_gb_s().min(link / 1e9) * f64::from(self.devices(node))
            }
        };
        match (&self.socket_link, spec.socket) {
            (Some(link), Socket::Other) => peak.min(64.0 / link.serialise(*link.data).as_ns()),
            _ => peak,
        }
    }

    pub(super) fn check(&self) -> Result<(), String> {
        if !matches!(self.nodes.first().map(|node| &node.path), Some(Path::Dram { .. })) {
            return Err("nodes: a machine has one or more, the first of them the socket's own `memory`".into());
        }
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        let wrong = |name: &str| !(1..=64).contains(&name.len()) || !name.chars().all(plain);
        if let Some(NodeSpec { name, .. }) = self.nodes.iter().find(|node| wrong(&node.name)) {
            return Err(format!("nodes.{name}: valid names: 1 to 64 letters, digits, `-` and `_`"));
        }
        self.check_sockets()?;
        self.check_parts()
    }

    /// Whether each part can be built.
    fn check_parts(&self) -> Result<(), String> {
        if let Some(drive) = &self.drive {
            drive.check().map_err(|error| format!("drive: {error}"))?;
        }
        Core::new(CoreId(0), self.host.core_parts())?;
        for node in &self.nodes {
            node.path.check().map_err(|cause| format!("nodes.{}: {cause}", node.name))?;
        }
        Ok(())
    }

    fn check_sockets(&self) -> Result<(), String> {
        let clusters = self.clusters();
        for NodeSpec { name, sub_numa_cluster, socket, path, .. } in &self.nodes {
            if let Some(ClusterId(given)) = sub_numa_cluster.as_deref() {
                if u32::from(*given) >= clusters {
                    return Err(format!(
                        "nodes.{name}.sub_numa_cluster = {given}; valid: below sub_numa_clusters = {clusters}"
                    ));
                }
                if *socket == Socket::Other || matches!(path, Path::Cxl { .. }) {
                    return Err(format!("nodes.{name}: only the socket's own DDR is of a sub-NUMA cluster"));
                }
            }
            if *socket == Socket::Other && self.socket_link.is_none() {
                return Err(format!("nodes.{name} is of the other socket, but there is no [socket_link]"));
            }
        }
        self.socket_link.as_ref().map_or(Ok(()), SocketLinkSpec::check)
    }
}

impl Path {
    fn check(&self) -> Result<(), String> {
        let (Path::Dram { memory } | Path::Cxl { memory, .. }) = self;
        let memory = Memory::new(memory).map_err(|error| error.to_string())?;
        if let Path::Cxl { expander, interleave, switches, flash, .. } = self {
            let added = Fabric::default().add_expander(expander, switches, memory, Stream::new(0, &expander.name));
            added.map_err(|error| error.to_string())?;
            if let Some(cached) = flash {
                cached.cache.check(expander.capacity()).map_err(|error| error.to_string())?;
                let (flash, line) = (&cached.flash, *cached.cache.line);
                flash.geometry(expander.capacity(), line).map_err(|error| error.to_string())?;
            }
            if let Some(interleave) = interleave {
                HdmDecoders::interleaved(interleave, expander).map_err(|error| error.to_string())?;
            }
        }
        Ok(())
    }
}
