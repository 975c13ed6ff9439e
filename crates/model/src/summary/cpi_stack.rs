//! The CPI stack in a summary: where the time of all cores went, in seconds by name.
//!
//! ```text
//!   user, kernel:  core   by cause        idle, io
//!                  llc    by stage        all together: the simulated time, for each core
//!                  nodes  by node and stage
//! ```

use cxlab_kernel::Time;
use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::config::MachineSpec;
use crate::core::{Cause, Mode, TimeStack};
use crate::mem::{Place, Stage};
use crate::request::NodeId;

/// Where the time of all cores went: each moment is charged to what the core's oldest instruction waits for. All parts
/// together are `simulated_seconds` for each core.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CpiStack {
    pub user: ModeStack,
    pub kernel: ModeStack,
    /// nothing to do until a timer, or until another core has something `[s]`
    pub idle_s: f64,
    /// all cores idle, and a request to a device under way: counted on one of them `[s]`
    pub io_s: f64,
}

/// Busy time in one mode of the processor.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ModeStack {
    /// within the core, by cause `[s]`
    pub core_s: IndexMap<String, f64>,
    /// waiting for lines that the LLC had, by the request's stage `[s]`
    pub llc_s: IndexMap<String, f64>,
    /// waiting for lines of a node's memory, by node and the request's stage `[s]`
    pub nodes_s: IndexMap<String, IndexMap<String, f64>>,
}

impl CpiStack {
    pub(super) fn of(stack: &TimeStack, spec: &MachineSpec) -> CpiStack {
        CpiStack {
            user: ModeStack::of(stack, Mode::User, spec),
            kernel: ModeStack::of(stack, Mode::Kernel, spec),
            idle_s: stack.idle.as_seconds(),
            io_s: stack.io.as_seconds(),
        }
    }
}

/// Parts of the time as `cxlab compare` has them (python/cxlab/compare/parts.py), each a share of all of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(super) struct Shares {
    cpu: f64,
    translation: f64,
    fill_buffers: f64,
    llc: f64,
    home: f64,
    nodes: IndexMap<String, NodeShares>,
    io: f64,
    idle: f64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
struct NodeShares {
    memory: f64,
    link: f64,
    device: f64,
}

impl CpiStack {
    pub(super) fn shares(&self) -> Shares {
        let mut shares = Shares { io: self.io_s, idle: self.idle_s, ..Shares::default() };
        for mode in [&self.user, &self.kernel] {
            shares.add(mode);
        }
        let whole = shares.sum();
        shares.over(whole)
    }
}

impl Shares {
    fn add(&mut self, mode: &ModeStack) {
        for (cause, seconds) in &mode.core_s {
            *match cause.as_str() {
                "walks" => &mut self.translation,
                "registers" => &mut self.io,
                _ => &mut self.cpu,
            } += seconds;
        }
        let place = |name: &str| Stage::ALL.iter().find(|stage| stage.name() == name).map(|stage| stage.place());
        for (stage, seconds) in &mode.llc_s {
            match self.in_the_core(stage) {
                Some(part) => *part += seconds,
                None => self.llc += seconds,
            }
        }
        for (node, stages) in &mode.nodes_s {
            let is_behind_link = stages.keys().any(|stage| place(stage) == Some(Place::Fabric));
            self.nodes.entry(node.clone()).or_default();
            for (stage, seconds) in stages {
                if let Some(part) = self.in_the_core(stage) {
                    *part += seconds;
                    continue;
                }
                let of_node = &mut self.nodes[node];
                *match place(stage) {
                    Some(Place::Fabric) => &mut of_node.link,
                    Some(Place::Device) => &mut of_node.device,
                    Some(Place::Media) if is_behind_link => &mut of_node.device,
                    Some(Place::Media) => &mut of_node.memory,
                    _ => &mut self.home,
                } += seconds;
            }
        }
    }

    fn in_the_core(&mut self, stage: &str) -> Option<&mut f64> {
        match stage {
            "fill_buffer" => Some(&mut self.fill_buffers),
            "translation" => Some(&mut self.translation),
            _ => None,
        }
    }

    fn sum(&self) -> f64 {
        let nodes: f64 = self.nodes.values().map(|node| node.memory + node.link + node.device).sum();
        self.cpu + self.translation + self.fill_buffers + self.llc + self.home + nodes + self.io + self.idle
    }

    fn over(mut self, whole: f64) -> Shares {
        let over = |part: &mut f64| *part = super::ratio(*part, whole);
        let Shares { cpu, translation, fill_buffers, llc, home, nodes, io, idle } = &mut self;
        [cpu, translation, fill_buffers, llc, home, io, idle].into_iter().for_each(over);
        for NodeShares { memory, link, device } in nodes.values_mut() {
            [memory, link, device].into_iter().for_each(over);
        }
        self
    }
}

impl ModeStack {
    fn of(stack: &TimeStack, mode: Mode, spec: &MachineSpec) -> ModeStack {
        let causes = Cause::ALL.iter().map(|cause| (cause.name(), stack.of(mode, *cause)));
        let stages = |of: &dyn Fn(Stage) -> Time| taken(Stage::ALL.iter().map(|stage| (stage.name(), of(*stage))));
        let node = |(place, node): (u16, &crate::config::NodeSpec)| {
            (node.name.clone(), stages(&|stage| stack.of_node(mode, NodeId(place), stage)))
        };
        ModeStack {
            core_s: taken(causes),
            llc_s: stages(&|stage| stack.of_llc(mode, stage)),
            nodes_s: (0..).zip(&spec.nodes).map(node).collect(),
        }
    }
}

/// Those that have taken any time.
fn taken(parts: impl Iterator<Item = (&'static str, Time)>) -> IndexMap<String, f64> {
    parts.filter(|(_, time)| *time > Time::ZERO).map(|(name, time)| (name.to_owned(), time.as_seconds())).collect()
}
