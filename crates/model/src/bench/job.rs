//! The request for a point, as it crosses from the command line. It is checked against its machine.

use cxlab_kernel::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::buffers::FRAME_BYTES;
use crate::MachineSpec;
use crate::config::{NodeSpec, Path};
use crate::request::NodeId;
use crate::translation::PageSize;

/// A point of a bench.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "BenchJob")]
pub struct Job {
    /// a shipped machine's name, or a path
    pub machine: String,
    /// settings of the command line, each `KEY=VALUE`, that the machine is changed by
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub set: Vec<String>,
    /// pages of the buffers go round these nodes, so many to each
    pub placement: Vec<Share>,
    /// load threads
    pub threads: u16,
    /// inject delay after every four loads or stores `[core cycles]`
    pub delay: u64,
    pub work: Work,
    /// of which the buffers are made
    pub pages: Pages,
    /// the node that the page tables are on; the machine's first one where it is not said
    pub page_tables: Option<String>,
    /// prefetchers on or off; as the host file has them where it is not said
    #[serde(default)]
    pub prefetch: Option<bool>,
    /// bytes of all buffers together, over those of the device's cache; as the work has them where it is not said
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of_cache: Option<f64>,
    /// have what the parts of the machine do checked
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub check: bool,
    pub seed: u64,
}

/// Pages of the buffers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Pages {
    #[serde(rename = "4KiB")]
    Kib4,
    #[serde(rename = "2MiB")]
    Mib2,
}

impl Pages {
    #[must_use]
    pub fn size(self) -> PageSize {
        match self {
            Pages::Kib4 => PageSize::Kib4,
            Pages::Mib2 => PageSize::Mib2,
        }
    }
}

/// A node's share of the pages.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "NodeWeight")]
#[serde(deny_unknown_fields)]
pub struct Share {
    pub node: String,
    pub weight: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Work {
    /// load threads, and perhaps a latency thread in a random chase
    LoadedLatency {
        mix: Mix,
        store: Store,
        pattern: Pattern,
        latency_thread: bool,
        /// of the latency thread
        #[serde(default)]
        chase: ChaseOrder,
        /// of the load threads
        #[serde(default)]
        isa: Isa,
    },
    /// STREAM (McCalpin)
    Stream { kernel: StreamKernel },
    /// embedding reduction (MERCI): rows of a table gathered at random and added up
    Embedding {},
    /// one thread in a random chase over the first `size` bytes of its buffer, from warm caches (LMbench's lat_mem_rd)
    Walk {
        #[schemars(with = "String")]
        size: Bytes,
    },
    /// batches of 16 random accesses to flushed lines (MICRO'23, 4.1)
    Memo {
        instruction: Instruction,
        #[serde(default)]
        isa: Isa,
    },
}

/// Lines read to lines written at the memory, ownership reads included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Mix {
    pub reads: u32,
    pub writes: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Store {
    /// the line is read to be owned, and written back later
    Ordinary,
    /// the line is written past the caches
    NonTemporal,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Pattern {
    Sequential,
    Random,
}

/// The order in which the latency thread goes through its buffer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ChaseOrder {
    /// every other line of 512 KiB at random, then of the next: Intel MLC
    #[default]
    Blocks,
    /// every line of the buffer at random: lat_mem_rd of LMbench, Mess
    Buffer,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum StreamKernel {
    Copy,
    Scale,
    Add,
    Triad,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Instruction {
    #[serde(rename = "ld")]
    Load,
    /// on write-back memory movntdqa is a load (Intel SDM vol. 1, 12.10.3)
    #[serde(rename = "nt-ld")]
    NonTemporalLoad,
    #[serde(rename = "st")]
    Store,
    /// a store, then clwb of its line: `st` of the latency test in MICRO'23's artifact
    #[serde(rename = "st-wb")]
    StoreAndWriteBack,
    #[serde(rename = "nt-st")]
    NonTemporalStore,
}

/// The vectors that an access is made of; as `cxlab-memo --isa` (crates/memo/src/isa.rs).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Isa {
    /// one of 64 B, as on the processors of the papers, and where nothing is said
    #[default]
    Avx512,
    /// two of 32 B, as in the simulated guest (DEVIATIONS GST-4)
    Avx2,
}

impl Isa {
    /// Accesses to a line.
    pub const fn accesses(self) -> usize {
        match self {
            Isa::Avx512 => 1,
            Isa::Avx2 => 2,
        }
    }
}

impl Job {
    /// The node that the page tables are on.
    pub fn page_tables(&self, spec: &MachineSpec) -> Result<NodeId, String> {
        self.page_tables.as_ref().map_or(Ok(NodeId(0)), |name| spec.node(name))
    }

    /// Arrays of all threads: load threads that store have two.
    pub fn buffers(&self) -> u16 {
        match self.work {
            Work::LoadedLatency { mix, .. } if mix.writes > 0 => 2 * self.threads + 1,
            _ => self.threads + 1,
        }
    }

    /// Bytes of all buffers together, where they are said as a ratio of the device's cache.
    pub fn working_set(&self, spec: &MachineSpec, shares: &[(NodeId, u32)]) -> Result<Option<u64>, String> {
        let Some(ratio) = self.of_cache else { return Ok(None) };
        if !matches!(self.work, Work::LoadedLatency { .. }) {
            return Err("of_cache is given; valid with latency, loaded-latency and bandwidth only".into());
        }
        let [(node, _)] = shares else {
            return Err("of_cache is given with several nodes; valid: one node, whose device has a cache".into());
        };
        let NodeSpec { name, path, .. } = &spec.nodes[usize::from(node.0)];
        let Path::Cxl { expander, flash: Some(cached), .. } = path else {
            return Err(format!(
                "of_cache is given, but node {name} of {} has no device with a cache; valid: a node of flash",
                spec.name
            ));
        };
        let devices = f64::from(spec.devices(*node));
        let (cache, all) = (cached.cache.capacity.get() as f64 * devices, expander.capacity().get() as f64 * devices);
        let (least, most) = (f64::from(self.buffers()) * FRAME_BYTES as f64 / cache, all / cache);
        if !(least..=most).contains(&ratio) {
            return Err(format!(
                "of_cache = {ratio}; valid: {least:.2e} (2 MiB for each of {} buffers) to {most:.3} (the whole device)",
                self.buffers()
            ));
        }
        Ok(Some((ratio * cache) as u64))
    }

    /// Whether the machine can do this; the nodes of the placement by their numbers.
    pub fn check(&self, spec: &MachineSpec) -> Result<Vec<(NodeId, u32)>, String> {
        let most = (*spec.host.cores).min(64) as u16;
        let extra = match self.work {
            Work::LoadedLatency { latency_thread, mix, store, .. } => {
                mix.check(store)?;
                u16::from(latency_thread)
            }
            Work::Stream { .. } | Work::Embedding {} => 0,
            Work::Walk { size } => {
                if !(1 << 10..=1 << 32).contains(&size.get()) {
                    return Err(format!("a walk over {size}; valid: 1 KiB to 4 GiB"));
                }
                1
            }
            Work::Memo { .. } => 1,
        };
        let threads = self.threads + extra;
        if threads == 0 || threads > most {
            let latency = if extra == 1 { " and one for latency" } else { "" };
            return Err(format!(
                "{} load threads{latency} on {}; valid: 1 to {most} threads in all",
                self.threads, spec.name
            ));
        }
        let mut shares: Vec<(NodeId, u32)> = Vec::new();
        for Share { node, weight } in &self.placement {
            let id = spec.node(node)?;
            if !(1..=255).contains(weight) {
                return Err(format!("node {node} has weight {weight}; valid: 1 to 255"));
            }
            if shares.iter().any(|(other, _)| *other == id) {
                return Err(format!("node {node} stands twice in the interleave; valid: each node once"));
            }
            shares.push((id, *weight));
        }
        if shares.is_empty() {
            return Err("the placement names no node".into());
        }
        Ok(shares)
    }
}

impl Mix {
    fn check(self, store: Store) -> Result<(), String> {
        let Mix { reads, writes } = self;
        if reads == 0 && writes == 0 {
            return Err("a mix of 0:0 moves no line; valid: R:W, lines read to lines written, not both 0".into());
        }
        if store == Store::Ordinary && writes > reads {
            return Err(format!(
                "a mix of {reads}:{writes} with ordinary stores: each reads its line before it writes it, so at most \
                 half of the lines are written; valid: R >= W, or non-temporal stores"
            ));
        }
        Ok(())
    }
}
