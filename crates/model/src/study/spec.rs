//! The request for a study, as it crosses from the command line. It is checked against its machine.

use std::collections::BTreeMap;

use cxlab_kernel::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::MachineSpec;
use crate::apps::AppSpec;
use crate::os::Mempolicy;

/// Applications on a machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StudySpec {
    /// a shipped machine's name, or a path
    pub machine: String,
    /// settings of the command line, each `KEY=VALUE`, that the machine is changed by
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub set: Vec<String>,
    /// L2 and LLC are smaller by this factor, as the pages are fewer
    pub caches_divided_by: u32,
    /// frames of each node; a node without is not there
    pub capacity: BTreeMap<String, u32>,
    pub processes: Vec<ProcessSpec>,
    pub tiering: TieringKind,
    /// to an SSD
    pub swap: bool,
    /// not counted
    #[schemars(with = "String")]
    pub warm: Time,
    /// counted
    #[schemars(with = "String")]
    pub measure: Time,
    pub seed: u64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProcessSpec {
    pub app: AppSpec,
    pub threads: u16,
    pub pages: u32,
    pub mempolicy: Mempolicy,
    pub order: Order,
}

/// In which order pages are touched before time begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    Sequential,
    Random,
    /// not at all: first touches are part of the run
    Untouched,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TieringKind {
    None,
    NumaBalancing,
    Tpp,
}

/// Pages of all nodes together: 64 GiB, far beyond what can be simulated.
const MOST_PAGES: u32 = 1 << 24;

impl StudySpec {
    /// Names of the machine's nodes up to the last that has frames.
    pub(super) fn node_names<'a>(&self, machine: &'a MachineSpec) -> Vec<&'a str> {
        machine.nodes.iter().map(|node| node.name.as_str()).filter(|name| self.capacity.contains_key(*name)).collect()
    }

    pub(super) fn check(&self, machine: &MachineSpec) -> Result<(), String> {
        for (name, frames) in &self.capacity {
            machine.node(name)?;
            if !(1..=MOST_PAGES).contains(frames) {
                return Err(format!("node {name} has {frames} frames; valid: 1 to {MOST_PAGES}"));
            }
        }
        let names = self.node_names(machine);
        if names.len() != machine.nodes[..names.len()].len()
            || names.iter().zip(&machine.nodes).any(|(a, b)| *a != b.name)
        {
            let all: Vec<_> = machine.nodes.iter().map(|node| node.name.as_str()).collect();
            return Err(format!(
                "nodes with frames: {}; valid: the first, or the first two, of {}",
                names.join(", "),
                all.join(", ")
            ));
        }
        if names.is_empty() || names.len() > 2 {
            return Err(format!("{} nodes have frames; valid: one or two", names.len()));
        }
        if self.tiering != TieringKind::None && names.len() != 2 {
            return Err("a tiering policy needs two nodes with frames, a fast one and a slow one".into());
        }
        self.check_processes(machine)
    }

    fn check_processes(&self, machine: &MachineSpec) -> Result<(), String> {
        let threads: u32 = self.processes.iter().map(|process| u32::from(process.threads)).sum();
        let kswapd = u32::from(self.swap || self.tiering != TieringKind::None);
        let most = *machine.host.cores - kswapd;
        if threads == 0 || threads > most || self.processes.iter().any(|process| process.threads == 0) {
            return Err(format!(
                "{threads} threads on {}; valid: 1 to {most}, and at least 1 for each process",
                machine.name
            ));
        }
        for process in &self.processes {
            let least = u32::from(process.threads);
            if !(least..=MOST_PAGES).contains(&process.pages) {
                return Err(format!("a process of {} pages; valid: {least} to {MOST_PAGES}", process.pages));
            }
        }
        if !self.caches_divided_by.is_power_of_two() || self.caches_divided_by > 256 {
            return Err(format!("caches_divided_by is {}; valid: a power of two up to 256", self.caches_divided_by));
        }
        if self.measure == Time::ZERO {
            return Err("measure is 0; valid: a time above 0".into());
        }
        Ok(())
    }
}
