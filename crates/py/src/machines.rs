//! Machines in JSON: the figures that people compare, and the whole description.

use cxlab_model::config::Path;
use cxlab_model::request::NodeId;
use cxlab_model::{MachineSpec, ModelError};
use schemars::JsonSchema;
use serde::Serialize;

/// Key figures of a machine.
#[derive(Serialize, JsonSchema)]
pub struct MachineFigures {
    name: String,
    description: String,
    host: HostFigures,
    nodes: Vec<NodeFigures>,
    /// settings of the command line that changed it
    set: Vec<String>,
    /// the whole description, as the machine's files resolve
    #[schemars(with = "serde_json::Value")]
    spec: MachineSpec,
}

/// Key figures of a host.
#[derive(Serialize, JsonSchema)]
pub struct HostFigures {
    name: String,
    description: String,
    cores: u32,
    frequency_ghz: f64,
    /// of the time stamp counter
    tsc_hz: u64,
    /// of the frequency
    source: String,
}

/// What a node's memory is on.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NodeKind {
    /// the socket's own channels
    Dram,
    /// type-3 devices
    Cxl,
}

/// Key figures of a node.
#[derive(Serialize, JsonSchema)]
pub struct NodeFigures {
    name: String,
    description: String,
    kind: NodeKind,
    /// load to use, without load
    latency_ns: f64,
    /// peak of reads [10^9 B/s]
    bandwidth_gb_s: f64,
    /// of the latency
    source: String,
    devices: u8,
    /// bytes in a row on one device; none where there is no interleave
    granularity_bytes: Option<u64>,
}

/// Key figures of a machine, with `spec`, its whole description.
pub fn describe(name_or_path: &str, settings: &[String]) -> Result<String, ModelError> {
    let spec = MachineSpec::load_with(name_or_path, settings)?;
    let core = &spec.host.core;
    let figures = MachineFigures {
        name: spec.name.clone(),
        description: spec.description.clone(),
        host: HostFigures {
            name: spec.host.name.clone(),
            description: spec.host.description.clone(),
            cores: *spec.host.cores,
            frequency_ghz: core.frequency.as_hz() as f64 / 1e9,
            tsc_hz: core.tsc.as_hz(),
            source: core.frequency.source.clone(),
        },
        nodes: (0..spec.nodes.len()).map(|number| node(&spec, NodeId(number as u16))).collect(),
        set: settings.to_vec(),
        spec,
    };
    Ok(serde_json::to_string(&figures).expect("plain data is JSON"))
}

/// Every value of a machine, in the order of its files.
pub fn entries(name_or_path: &str, settings: &[String]) -> Result<String, ModelError> {
    let entries = MachineSpec::entries(name_or_path, settings)?;
    Ok(serde_json::to_string(&entries).expect("plain data is JSON"))
}

fn node(spec: &MachineSpec, id: NodeId) -> NodeFigures {
    let node = &spec.nodes[usize::from(id.0)];
    let (kind, source, interleave) = match &node.path {
        Path::Dram { memory } => (NodeKind::Dram, memory.latency_source().to_owned(), None),
        Path::Cxl { expander, interleave, .. } => {
            (NodeKind::Cxl, expander.device.protocol_latency.source.clone(), interleave.as_ref())
        }
    };
    NodeFigures {
        name: node.name.clone(),
        description: node.description.clone(),
        kind,
        latency_ns: spec.idle_latency(id).as_ns(),
        bandwidth_gb_s: spec.peak_read_gb_s(id),
        source,
        devices: spec.devices(id),
        granularity_bytes: interleave.map(|interleave| interleave.granularity.get()),
    }
}
