//! The description of a machine, from its file and the files that it names, and the machine that is assembled from
//! it.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::HostSpec;
use super::machine::{CachedFlash, MachineSpec, NodeSpec, Path, ShareSpec};
use crate::cache::ClusterId;
use crate::cxl::{CxlError, LinkSpec, ThrottleSpec};
use crate::document::{Fitted, Kind, Mistake, Tree, Whole, bounds, nodes, parts, read, settings};
use crate::drive::DriveSpec;
use crate::error::ModelError;
use crate::fabric::{DeviceCacheSpec, DeviceInterleave, DeviceSpec, ExpanderSpec, RatedSpec, RootPortSpec, SwitchSpec};
use crate::fact::Sourced;
use crate::home::{Socket, SocketLinkSpec};
use crate::media::MemorySpec;
use crate::media::flash::FlashSpec;

/// A machine: a host, and memory as NUMA nodes.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MachineFile {
    /// what results call the machine; the file's name where it is not given
    name: String,
    /// one sentence for people
    description: String,
    /// the processor
    host: HostSpec,
    /// equal parts of the socket whose DDR has LLC slices of its own (SNC); one where it is not given
    sub_numa_clusters: Option<Sourced<u32>>,
    /// the link to the other socket; a machine with a node of that socket needs it
    socket_link: Option<SocketLinkSpec>,
    /// the SSD under the guest's disk; a machine without one has no swap
    drive: Option<DriveSpec>,
    /// memory by the node's name, in the order of Linux's numbers; the first is the socket's own
    nodes: IndexMap<String, NodeFile>,
}

/// A NUMA node: the socket's own channels (`memory`), type-3 devices (`device`), or a part of another node's (`shared`).
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NodeFile {
    /// one sentence for people
    description: String,
    /// the cores' own socket where it is not given
    #[serde(default)]
    socket: Socket,
    /// the cluster whose LLC slices the node's lines stay in; any slice where it is not given
    sub_numa_cluster: Option<Sourced<ClusterId>>,
    /// channels of the socket
    memory: Option<MemorySpec>,
    /// a type-3 device behind a root port
    device: Option<Box<DeviceFile>>,
    /// several such devices as one node
    interleave: Option<DeviceInterleave>,
    /// switches between root port and device by their names, from the host on; none where it is not given
    #[serde(default)]
    switches: IndexMap<String, SwitchSpec>,
    /// a part of another node's devices
    shared: Option<ShareSpec>,
}

/// A type-3 device with the root port and the link that it was measured behind, and its memory.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeviceFile {
    /// the model's name; devices of one name are equal
    name: String,
    /// one sentence for people
    description: String,
    root_port: RootPortSpec,
    link: LinkSpec,
    device: DeviceSpec,
    /// the host's reaction to DevLoad; none where it is not given
    throttle: Option<ThrottleSpec>,
    /// a bandwidth that the vendor states
    rated: Option<RatedSpec>,
    /// channels behind the device; where it has flash, the DRAM of the cache before that
    memory: MemorySpec,
    /// the cache before the flash; given with `flash`
    cache: Option<DeviceCacheSpec>,
    /// the drive behind the cache; none where it is not given
    flash: Option<FlashSpec>,
}

/// One value of a machine, with all that its files say of it.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(rename = "MachineEntry")]
pub struct Entry {
    /// path, as `--set` takes it
    pub key: String,
    /// as a file writes it
    pub value: String,
    pub source: Option<String>,
    /// file, line and column
    pub place: String,
    /// the point that it was fitted to
    pub fitted: Option<String>,
    /// the least and the most, with the reason
    pub bounds: Option<String>,
}

impl DeviceFile {
    fn resolve(self) -> Result<(ExpanderSpec, MemorySpec, Option<Box<CachedFlash>>), String> {
        let DeviceFile { name, description, root_port, link, device, throttle, rated, memory, cache, flash } = self;
        let behind = match (cache, flash) {
            (Some(cache), Some(flash)) => Some(Box::new(CachedFlash { cache, flash })),
            (None, None) => None,
            _ => return Err("only one of `cache` and `flash` is given; valid: both, or neither".into()),
        };
        Ok((ExpanderSpec { name, description, root_port, link, device, throttle, rated }, memory, behind))
    }
}

impl NodeFile {
    /// `before` are the nodes that stand before this one in the file.
    fn resolve(self, name: String, before: &[NodeSpec]) -> Result<NodeSpec, String> {
        let NodeFile { description, socket, sub_numa_cluster, memory, device, interleave, switches, shared } = self;
        let of_devices = interleave.is_some() || !switches.is_empty();
        let path = match (memory, device, shared) {
            (Some(memory), None, None) if !of_devices => Path::Dram { memory },
            (None, None, Some(shared)) if !of_devices => {
                shared_path(shared, before).map_err(|cause| format!("nodes.{name}.shared: {cause}"))?
            }
            (None, Some(device), None) => {
                let (expander, memory, flash) =
                    device.resolve().map_err(|cause| format!("nodes.{name}.device: {cause}"))?;
                expander.check().map_err(|cause| format!("nodes.{name}.device: {cause}"))?;
                let switches = switches.into_values().collect();
                Path::Cxl { expander: Box::new(expander), memory, interleave, switches, share: None, flash }
            }
            (Some(_), None, None) | (None, None, Some(_)) => {
                return Err(format!("nodes.{name}: `interleave` and `switches` are valid beside `device` only"));
            }
            _ => return Err(format!("nodes.{name}: valid: one of `memory`, `device` and `shared`")),
        };
        Ok(NodeSpec { name, description, socket, sub_numa_cluster, path })
    }
}

/// The path of the node whose devices another one shares.
fn shared_path(share: ShareSpec, before: &[NodeSpec]) -> Result<Path, String> {
    let owns = |node: &&NodeSpec| matches!(node.path, Path::Cxl { share: None, .. });
    let Some(other) = before.iter().filter(owns).find(|node| node.name == share.node) else {
        let names: Vec<_> = before.iter().filter(owns).map(|node| node.name.as_str()).collect();
        let valid = if names.is_empty() { "none".into() } else { names.join(", ") };
        return Err(format!("no node `{}` with devices stands before this one; valid: {valid}", share.node));
    };
    let mut path = other.path.clone();
    if let Path::Cxl { expander, share: of, .. } = &mut path {
        if *share.from >= expander.capacity() {
            let (from, capacity) = (*share.from, expander.capacity());
            return Err(format!("from = {from}; valid: below the device's capacity of {capacity}"));
        }
        *of = Some(share);
    }
    Ok(path)
}

impl MachineFile {
    fn resolve(self, fitted: Vec<Fitted>) -> Result<MachineSpec, String> {
        let MachineFile { name, description, host, sub_numa_clusters, socket_link, drive, nodes } = self;
        host.check().map_err(|cause| format!("host: {cause}"))?;
        let mut resolved = Vec::with_capacity(nodes.len());
        for (node, file) in nodes {
            resolved.push(file.resolve(node, &resolved)?);
        }
        let spec =
            MachineSpec { name, description, host, sub_numa_clusters, socket_link, drive, nodes: resolved, fitted };
        spec.check()?;
        Ok(spec)
    }
}

/// A machine as it was asked for, before its values have types.
struct Asked {
    whole: Whole,
    file: String,
}

fn ask(name: &str, settings: &[String]) -> Result<Asked, ModelError> {
    let trees = settings.iter().map(|setting| settings::parse(setting)).collect::<Result<Vec<_>, _>>()?;
    let whole = nodes::machine(name, &trees)?;
    let file = whole.tree.place.origin.file.clone();
    if let Some(fitted) = whole.fitted.iter().find(|fitted| whole.tree.at(&fitted.keys()).is_none()) {
        let cause = format!("fitted: there is no value `{}`; a fitted key is the path of a value", fitted.key);
        return Err(ModelError::Inconsistent { file, cause });
    }
    Ok(Asked { whole, file })
}

impl MachineSpec {
    /// Reads a machine by its shipped name or from a file, with the host and the devices that it names.
    pub fn load(name: &str) -> Result<MachineSpec, ModelError> {
        MachineSpec::load_with(name, &[])
    }

    /// Reads a machine and changes it by settings of the command line, each `KEY=VALUE`.
    pub fn load_with(name: &str, settings: &[String]) -> Result<MachineSpec, ModelError> {
        let Asked { whole, file } = ask(name, settings)?;
        let machine: MachineFile = read::read(&whole.tree, "")?;
        machine.resolve(whole.fitted).map_err(|cause| {
            let given = settings.iter().map(|setting| format!(" --set {setting}")).collect::<String>();
            ModelError::Inconsistent { file: format!("{file}{given}"), cause }
        })
    }

    /// Every value of a machine, in the order of its files.
    pub fn entries(name: &str, settings: &[String]) -> Result<Vec<Entry>, ModelError> {
        MachineSpec::load_with(name, settings)?;
        let Asked { whole, .. } = ask(name, settings)?;
        let mut entries = Vec::new();
        collect(&whole.tree, String::new(), &whole.fitted, &mut entries);
        Ok(entries)
    }
}

fn collect(tree: &Tree, key: String, fitted: &[Fitted], entries: &mut Vec<Entry>) {
    if let Some(table) = tree.table().filter(|_| tree.is_branch()) {
        for (name, below) in table {
            let key = if key.is_empty() { name.clone() } else { format!("{key}.{name}") };
            collect(below, key, fitted, entries);
        }
        return;
    }
    let given = tree.at(&["source"]).and_then(Tree::text).map(str::to_owned);
    entries.push(Entry {
        value: tree.written(),
        source: given.or_else(|| tree.place.origin.author.source().map(str::to_owned)),
        place: tree.place.to_string(),
        fitted: fitted.iter().find(|fitted| fitted.key == key).map(|fitted| fitted.point.clone()),
        bounds: bounds::of(&key).map(ToString::to_string),
        key,
    });
}

/// Reads a device by its shipped name or from a file, without the memory behind it.
pub fn device(name: &str) -> Result<ExpanderSpec, ModelError> {
    let Whole { tree, .. } = parts::load(Kind::Device, name, None)?;
    let mistake = |cause| Mistake { place: tree.place.clone(), cause };
    let (expander, ..) = read::read::<DeviceFile>(&tree, "device")?.resolve().map_err(mistake)?;
    expander.check().map_err(|cause: CxlError| mistake(cause.to_string()))?;
    Ok(expander)
}
