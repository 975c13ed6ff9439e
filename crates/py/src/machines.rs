//! Machines in JSON: the figures that people compare, and the whole description.

use serde_json::{Value, json};

use cxlab_model::config::Path;
use cxlab_model::request::NodeId;
use cxlab_model::{MachineSpec, ModelError};

/// Key figures of a machine, with `spec`, its whole description.
pub fn describe(name_or_path: &str) -> Result<String, ModelError> {
    let spec = MachineSpec::load(name_or_path)?;
    let nodes: Vec<Value> = (0..spec.nodes.len()).map(|number| node(&spec, NodeId(number as u16))).collect();
    let core = &spec.host.core;
    Ok(json!({
        "name": spec.name,
        "description": spec.description,
        "host": {
            "name": spec.host.name,
            "description": spec.host.description,
            "cores": *spec.host.cores,
            "frequency_ghz": core.frequency.as_hz() as f64 / 1e9,
            "tsc_hz": core.tsc.as_hz(),
            "source": core.frequency.source,
        },
        "nodes": nodes,
        "spec": spec,
    })
    .to_string())
}

fn node(spec: &MachineSpec, id: NodeId) -> Value {
    let node = &spec.nodes[usize::from(id.0)];
    let (kind, source, interleave) = match &node.path {
        Path::Dram { memory } => ("dram", memory.latency_source().to_owned(), None),
        Path::Cxl { expander, interleave, .. } => {
            ("cxl", expander.device.protocol_latency.source.clone(), interleave.as_ref())
        }
    };
    json!({
        "name": node.name,
        "description": node.description,
        "kind": kind,
        "latency_ns": spec.idle_latency(id).as_ns(),
        "bandwidth_gb_s": spec.peak_read_gb_s(id),
        "source": source,
        "devices": spec.devices(id),
        "granularity_bytes": interleave.map(|interleave| interleave.granularity.get()),
    })
}
