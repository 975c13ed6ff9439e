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
use crate::mem::Stage;
use crate::request::NodeId;

/// Where the time of all cores went: each moment is charged to what the core's oldest instruction waits for. All parts
/// together are `simulated_seconds` for each core.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CpiStack {
    pub user: ModeStack,
    pub kernel: ModeStack,
    /// nothing to do until a timer [s]
    pub idle_s: f64,
    /// waiting for a device's declared service time [s]
    pub io_s: f64,
}

/// Busy time in one mode of the processor.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ModeStack {
    /// within the core, by cause [s]
    pub core_s: IndexMap<String, f64>,
    /// waiting for lines that the LLC had, by the request's stage [s]
    pub llc_s: IndexMap<String, f64>,
    /// waiting for lines of a node's memory, by node and the request's stage [s]
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
