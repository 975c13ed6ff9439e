//! The library of shipped files, and reading one with all that it names.

use std::path::{Path as FilePath, PathBuf};

use include_dir::{Dir, include_dir};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::machine::{DeviceInterleave, MachineSpec, NodeSpec, Path, Socket};
use super::{HostSpec, SocketLinkSpec, Sourced};
use crate::cache::ClusterId;
use crate::cxl::{self, ExpanderSpec};
use crate::dram::MemorySpec;
use crate::error::ModelError;

static DATA: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../data");

/// A machine file as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MachineFile {
    name: String,
    description: String,
    host: String,
    sub_numa_clusters: Option<Sourced<u32>>,
    socket_link: Option<SocketLinkSpec>,
    nodes: Vec<NodeFile>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NodeFile {
    name: String,
    description: String,
    /// the cores' own socket where it is not said
    #[serde(default)]
    socket: Socket,
    sub_numa_cluster: Option<Sourced<ClusterId>>,
    path: PathFile,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum PathFile {
    /// local channels
    Dram(MemorySpec),
    Cxl(CxlFile),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CxlFile {
    /// a shipped device's name, or a path
    device: Sourced<String>,
    /// the memory behind each device
    memory: MemorySpec,
    /// several devices as one node
    interleave: Option<DeviceInterleave>,
}

/// Names of the shipped machines, sorted.
#[must_use]
pub fn machine_names() -> Vec<String> {
    names("machines")
}

/// The text of a shipped file by its path in `data/`, such as `hosts/xeon-8468v.toml`.
#[must_use]
pub fn shipped_file(path: &str) -> Option<&'static str> {
    DATA.get_file(path)?.contents_utf8()
}

fn names(folder: &str) -> Vec<String> {
    let files = DATA.get_dir(folder).into_iter().flat_map(Dir::files);
    let mut names: Vec<_> =
        files.filter_map(|file| Some(file.path().file_stem()?.to_string_lossy().into_owned())).collect();
    names.sort();
    names
}

/// Where a file was found: shipped, or in a folder of the user's.
struct Found {
    file: String,
    text: String,
    folder: Option<PathBuf>,
}

/// `name` is a shipped file's name, or a path ending in `.toml`, relative to `beside`.
fn find(kind: &'static str, folder: &str, name: &str, beside: Option<&FilePath>) -> Result<Found, ModelError> {
    if name.ends_with(".toml") {
        let path = beside.map_or_else(|| PathBuf::from(name), |beside| beside.join(name));
        let text =
            std::fs::read_to_string(&path).map_err(|cause| ModelError::Unreadable { path: path.clone(), cause })?;
        return Ok(Found { file: path.display().to_string(), text, folder: path.parent().map(Into::into) });
    }
    let file = format!("{folder}/{name}.toml");
    let text = shipped_file(&file).ok_or_else(|| {
        let valid = format!("{}, or a path ending in .toml", names(folder).join(", "));
        ModelError::UnknownName { kind, name: name.into(), valid }
    })?;
    Ok(Found { file: format!("data/{file}"), text: text.into(), folder: None })
}

fn parse<T: DeserializeOwned>(found: &Found) -> Result<T, ModelError> {
    toml::from_str(&found.text).map_err(|error| {
        let at = error.span().map_or(0, |span| span.start).min(found.text.len());
        let before = &found.text[..at];
        let line = before.matches('\n').count() + 1;
        let column = at - before.rfind('\n').map_or(0, |newline| newline + 1) + 1;
        ModelError::Invalid { file: found.file.clone(), line, column, cause: error.message().into() }
    })
}

impl MachineSpec {
    /// Read a machine by its shipped name or from a file, with the host and the devices that it names.
    pub fn load(name: &str) -> Result<MachineSpec, ModelError> {
        let found = find("machine", "machines", name, None)?;
        let file: MachineFile = parse(&found)?;
        let folder = found.folder.as_deref();
        let host_file = find("host", "hosts", &file.host, folder)?;
        let host: HostSpec = parse(&host_file)?;
        host.check().map_err(|cause| ModelError::Inconsistent { file: host_file.file, cause })?;
        let nodes = file.nodes.into_iter().map(|node| resolve(node, folder)).collect::<Result<Vec<_>, _>>()?;
        let MachineFile { name, description, sub_numa_clusters, socket_link, .. } = file;
        let spec = MachineSpec { name, description, host, sub_numa_clusters, socket_link, nodes };
        spec.check().map_err(|cause| ModelError::Inconsistent { file: found.file, cause })?;
        Ok(spec)
    }

    fn check(&self) -> Result<(), String> {
        let mut names: Vec<_> = self.nodes.iter().map(|node| &node.name).collect();
        names.sort();
        names.dedup();
        if names.len() != self.nodes.len() || !matches!(self.nodes.first().map(|n| &n.path), Some(Path::Dram { .. })) {
            return Err("a machine has one or more nodes of different names, the first of them dram".into());
        }
        self.check_sockets()?;
        crate::machine::Machine::check(self)
    }

    fn check_sockets(&self) -> Result<(), String> {
        let clusters = self.clusters();
        for NodeSpec { name, sub_numa_cluster, socket, path, .. } in &self.nodes {
            if let Some(ClusterId(given)) = sub_numa_cluster.as_deref() {
                if u32::from(*given) >= clusters {
                    return Err(format!(
                        "node {name}: sub_numa_cluster = {given}; valid: below sub_numa_clusters = {clusters}"
                    ));
                }
                if *socket == Socket::Other || matches!(path, Path::Cxl { .. }) {
                    return Err(format!("node {name}: only the socket's own DDR is of a sub-NUMA cluster"));
                }
            }
            if *socket == Socket::Other && self.socket_link.is_none() {
                return Err(format!("node {name} is of the other socket, but there is no [socket_link]"));
            }
        }
        self.socket_link.as_ref().map_or(Ok(()), SocketLinkSpec::check)
    }
}

fn resolve(node: NodeFile, folder: Option<&FilePath>) -> Result<NodeSpec, ModelError> {
    let path = match node.path {
        PathFile::Dram(memory) => Path::Dram { memory },
        PathFile::Cxl(CxlFile { device, memory, interleave }) => {
            let found = find("device", "devices", &device, folder)?;
            let expander: ExpanderSpec = parse(&found)?;
            let inconsistent =
                |cause: cxl::CxlError| ModelError::Inconsistent { file: found.file, cause: cause.to_string() };
            expander.check().map_err(inconsistent)?;
            Path::Cxl { expander: Box::new(expander), memory, interleave }
        }
    };
    let NodeFile { name, description, socket, sub_numa_cluster, .. } = node;
    Ok(NodeSpec { name, description, socket, sub_numa_cluster, path })
}
