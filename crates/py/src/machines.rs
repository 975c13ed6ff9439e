//! Machines in JSON: the figures that people compare, and the whole description.

use cxlab_model::config::{HostSpec, Path, Vendor};
use cxlab_model::drive::DriveSpec;
use cxlab_model::request::NodeId;
use cxlab_model::translation::ArraySpec;
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
    /// the SSD under the guest's disk; none: the machine has no drive
    drive: Option<DriveFigures>,
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
    processor: ProcessorFigures,
    /// of the frequency
    source: String,
}

/// Identity of a processor, with its caches and TLBs.
#[derive(Serialize, JsonSchema)]
pub struct ProcessorFigures {
    /// intel or amd
    vendor: Vendor,
    family: u32,
    model: u32,
    stepping: u32,
    brand: String,
    l1: CacheFigures,
    l2: CacheFigures,
    /// all slices
    llc: CacheFigures,
    /// first level, of loads
    load_tlb: TlbFigures,
    /// first level, large pages of loads, where they have an array of their own
    large_load_tlb: Option<TlbFigures>,
    /// first level, of stores, where they have an array of their own
    store_tlb: Option<TlbFigures>,
    second_tlb: TlbFigures,
}

/// A cache of lines of 64 bytes.
#[derive(Serialize, JsonSchema)]
pub struct CacheFigures {
    bytes: u64,
    ways: u32,
}

/// An array of translations.
#[derive(Serialize, JsonSchema)]
pub struct TlbFigures {
    entries: u32,
    ways: u32,
    /// ways that may hold a page of 2 MiB
    large_ways: u32,
}

/// Kind of a node's memory.
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
    /// peak of reads `[10^9 B/s]`
    bandwidth_gb_s: f64,
    /// of the latency
    source: String,
    devices: u8,
    /// bytes in a row on one device; none where there is no interleave
    granularity_bytes: Option<u64>,
}

/// Key figures of an SSD.
#[derive(Serialize, JsonSchema)]
pub struct DriveFigures {
    name: String,
    /// of the link, each way `[B/s]`
    link_bytes_s: u64,
    /// pages in a row lie on as many dies, one after the other
    dies: u32,
    /// a read of a page keeps its die so long: the cells, and the bus of the channel `[ps]`
    die_ps: u64,
    /// the controller's part of each request `[ps]`
    controller_ps: u64,
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
            processor: processor(&spec.host),
            source: core.frequency.source.clone(),
        },
        nodes: (0..spec.nodes.len()).map(|number| node(&spec, NodeId(number as u16))).collect(),
        drive: spec.drive.as_ref().map(drive),
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

fn drive(spec: &DriveSpec) -> DriveFigures {
    DriveFigures {
        name: spec.name.clone(),
        link_bytes_s: spec.link.bytes_per_second(),
        dies: *spec.flash.channels * *spec.flash.dies,
        die_ps: spec.die_time().as_ps(),
        controller_ps: spec.flash.controller_latency.as_ps(),
    }
}

fn processor(host: &HostSpec) -> ProcessorFigures {
    let (identity, tlb) = (&host.identity, &host.tlb);
    let array = |of: &ArraySpec| TlbFigures { entries: *of.entries, ways: *of.ways, large_ways: *of.large_ways };
    ProcessorFigures {
        vendor: *identity.vendor,
        family: *identity.family,
        model: *identity.model,
        stepping: *identity.stepping,
        brand: identity.brand.value.clone(),
        l1: CacheFigures { bytes: host.l1.capacity.get(), ways: *host.l1.ways },
        l2: CacheFigures { bytes: host.l2.capacity.get(), ways: *host.l2.ways },
        llc: CacheFigures { bytes: host.llc.capacity().get(), ways: *host.llc.ways },
        load_tlb: array(&tlb.load),
        large_load_tlb: tlb.load_large.as_ref().map(array),
        store_tlb: tlb.store.as_ref().map(array),
        second_tlb: array(&tlb.second),
    }
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
