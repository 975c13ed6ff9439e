//! A machine's memory, put together from its description: ways of the fabric for each node, and what decodes to them.

use cxlab_kernel::Stream;

use crate::addr::LINE_BYTES;
use crate::config::{MachineSpec, NodeSpec, Path};
use crate::cxl::CxlError;
use crate::fabric::{Fabric, HdmDecoders, WayId};
use crate::home::{Behind, Decode, Home, HomeParts, NodeParts, Region};
use crate::media::{Memory, MemorySpec};

/// The fabric, and the home agents before it.
pub(super) fn memory_system(
    spec: &MachineSpec,
    cores: u16,
    ranges: &[crate::home::AddressRange],
    regions: &[Region],
) -> Result<(Home, Fabric), String> {
    let mut fabric = Fabric::default();
    let mut nodes: Vec<NodeParts> = Vec::with_capacity(spec.nodes.len());
    for (number, node) in spec.nodes.iter().enumerate() {
        let region = regions.iter().find(|region| usize::from(region.node) == number);
        let behind = lay(spec, node, region, &nodes, &mut fabric)?;
        nodes.push(NodeParts {
            socket: node.socket,
            cluster: node.sub_numa_cluster.as_deref().copied(),
            cxl: matches!(node.path, Path::Cxl { .. }),
            behind,
        });
    }
    let host = &spec.host;
    let parts = HomeParts {
        plan: spec.floorplan(),
        spec: &host.home,
        socket_link: spec.socket_link.as_ref(),
        snooped: host.core.frequency.cycles(host.l2.latency.0),
        private_lines: host.l2.capacity.get() / LINE_BYTES,
        nodes,
    };
    let ranges: Vec<_> = ranges.iter().copied().chain(regions.iter().map(Region::range)).collect();
    Ok((Home::new(parts, cores, &ranges)?, fabric))
}

/// The ways to a node's memory; a `region` says how Linux interleaved it.
fn lay(
    machine: &MachineSpec,
    node: &NodeSpec,
    region: Option<&Region>,
    before: &[NodeParts],
    fabric: &mut Fabric,
) -> Result<Behind, String> {
    let memory = |spec: &MemorySpec| Memory::new(spec).map_err(|error| error.to_string());
    let (expander, behind, interleave, switches, share, flash) = match &node.path {
        Path::Dram { .. } if region.is_some() => return Err(format!("{} is no CXL memory", node.name)),
        Path::Dram { memory: spec } => {
            return Ok(Behind { ways: vec![fabric.add_local(memory(spec)?)], decode: Decode::One, from: 0 });
        }
        Path::Cxl { expander, memory, interleave, switches, share, flash } => {
            (expander, memory, interleave, switches, share, flash)
        }
    };
    let count = match (region, interleave) {
        (Some(region), _) => region.targets.len() as u8,
        (None, interleave) => interleave.as_ref().map_or(1, |interleave| *interleave.devices),
    };
    let (ways, from): (Vec<WayId>, u64) = if let Some(share) = share {
        let of = usize::from(machine.node(&share.node)?.0);
        let other =
            before.get(of).ok_or_else(|| format!("{} comes before {}, which it shares", node.name, share.node))?;
        (other.behind.ways.clone(), share.from.get())
    } else {
        let way = |device| {
            let errors = Stream::new(u64::from(device), &expander.name);
            let broken = |error: CxlError| error.to_string();
            let way = fabric.add_expander(expander, switches, memory(behind)?, errors).map_err(broken)?;
            if let Some(cached) = flash {
                let capacity = expander.capacity();
                fabric.put_cache(way, &cached.cache, capacity, cached.drive(capacity)?).map_err(broken)?;
            }
            Ok::<_, String>(way)
        };
        ((0..count).map(way).collect::<Result<_, _>>()?, 0)
    };
    let decode = match (region, interleave) {
        (Some(region), _) => Decode::Committed(region.decoders(expander)?),
        (None, Some(interleave)) => {
            Decode::ByOffset(HdmDecoders::interleaved(interleave, expander).map_err(|error| error.to_string())?)
        }
        (None, None) => Decode::One,
    };
    Ok(Behind { ways, decode, from })
}
