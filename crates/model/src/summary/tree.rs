//! Every statistic of a run by part of the machine, with name, unit, description and value.
//!
//! ```text
//!   8468v-asic -- core0 -- user_instructions [instructions] 8,390,371  committed in user mode
//!              |- home  -- llc_hits ...
//!              |- dram  -- loads ... -- stages -- media [nanoseconds] ...
//!              |- cxl   -- loads ... -- port0  -- root_port, m2s, device, s2m, channel0 ...
//!              '- drive -- reads ... -- flash; only where a guest has used its disk
//! ```

use cxlab_kernel::Time;
use cxlab_kernel::statistic::{Entry, Group, Unit, Value};
use schemars::JsonSchema;
use serde::Serialize;

use crate::core::{Cause, Mode, TimeStack};
use crate::machine::{Machine, PortStats};
use crate::mem::Stage;
use crate::request::NodeId;

/// A part of the machine, its statistics and its own parts.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Part {
    pub name: String,
    pub statistics: Vec<Entry>,
    pub parts: Vec<Part>,
}

impl Part {
    fn new(name: impl Into<String>, statistics: Vec<Entry>) -> Part {
        Part { name: name.into(), statistics, parts: Vec::new() }
    }

    fn of(name: impl Into<String>, group: &dyn Group) -> Part {
        Part::new(name, group.entries())
    }

    /// The whole machine, so far.
    #[must_use]
    pub fn tree(machine: &Machine) -> Part {
        let mut whole = Part::new(&machine.spec().name, Vec::new());
        for (number, core) in machine.cores().iter().enumerate() {
            let mut part = Part::of(format!("core{number}"), &core.stats);
            part.statistics.push(count(
                "fill_buffer_waits",
                "misses that waited for a fill buffer",
                core.fill_buffer_waits(),
            ));
            part.parts.push(Part::of("translation", core.translation_stats()));
            part.parts.push(cpi_stack(&core.time_stack(machine.now()), machine));
            whole.parts.push(part);
        }
        let (hits, misses) = machine.llc_hits_and_misses();
        let llc = vec![
            lines("llc_hits", "look-ups of the home agents that the LLC answered", hits),
            lines("llc_misses", "look-ups of the home agents that went on to a memory", misses),
        ];
        whole.parts.push(Part::new("home", llc));
        whole.parts.extend(machine.socket_link().map(|link| Part::of("socket_link", link)));
        for number in 0..machine.spec().nodes.len() {
            whole.parts.push(node(machine, NodeId(number as u16)));
        }
        whole.parts.extend(machine.drive().filter(|drive| drive.is_used()).map(|drive| {
            let mut part = Part::of("drive", drive.stats());
            part.parts.push(Part::new("flash", drive.flash_report(machine.counted())));
            part
        }));
        whole
    }
}

/// Makes a part of a core's time, by mode.
fn cpi_stack(stack: &TimeStack, machine: &Machine) -> Part {
    let time = |name, description, time: Time| Entry {
        name,
        unit: Unit::Nanoseconds,
        description,
        value: Value::Real(time.as_ns()),
    };
    let still = vec![
        time("idle", "nothing to do until a timer", stack.idle),
        time("io", "waiting for a device's declared service time", stack.io),
    ];
    let mode = |(name, mode): (&str, Mode)| {
        let cause = |cause: &Cause| time(cause.name(), cause.description(), stack.of(mode, *cause));
        let stages = |name: &str, of: &dyn Fn(Stage) -> Time| {
            let stage = |stage: &Stage| time(stage.name(), stage.description(), of(*stage));
            Part::new(name, Stage::ALL.iter().map(stage).collect())
        };
        let mut part = Part::new(name, Cause::ALL.iter().map(cause).collect());
        part.parts.push(stages("llc", &|stage| stack.of_llc(mode, stage)));
        let nodes = (0..).zip(&machine.spec().nodes);
        part.parts
            .extend(nodes.map(|(place, node)| stages(&node.name, &|stage| stack.of_node(mode, NodeId(place), stage))));
        part
    };
    let mut part = Part::new("cpi_stack", still);
    part.parts.extend([("user", Mode::User), ("kernel", Mode::Kernel)].map(mode));
    part
}

fn node(machine: &Machine, id: NodeId) -> Part {
    let place = usize::from(id.0);
    let (stats, stages) = machine.nodes().nth(place).expect("a node of the machine");
    let mut part = Part::of(&machine.spec().nodes[place].name, stats);
    let full = machine.table_full_events().nth(place).expect("a node of the machine");
    part.statistics.push(count("table_full", "requests that waited for an entry of the home agents' table", full));
    let loads = stats.loads.get();
    let stage = |(stage, total): (&Stage, &Time)| Entry {
        name: stage.name(),
        unit: Unit::Nanoseconds,
        description: stage.description(),
        value: Value::Real(if loads > 0 { total.as_ns() / loads as f64 } else { 0.0 }),
    };
    part.parts.push(Part::new("stages", Stage::ALL.iter().zip(stages).map(stage).collect()));
    part.parts.extend(machine.ports(id).enumerate().map(|(number, stats)| port(number, &stats)));
    part
}

fn port(number: usize, stats: &PortStats) -> Part {
    let mut part = Part::new(format!("port{number}"), Vec::new());
    if let Some(expander) = &stats.expander {
        part.parts.extend(expander.parts().map(|(name, group)| Part::of(name, group)));
    }
    part.parts.extend(stats.flash.iter().map(|entries| Part::new("flash", entries.clone())));
    let channels = stats.channels.iter();
    part.parts.extend(channels.map(|c| Part::new(format!("channel{}", c.channel), c.entries.clone())));
    part
}

fn count(name: &'static str, description: &'static str, count: u64) -> Entry {
    Entry { name, unit: Unit::Events, description, value: Value::Count(count) }
}

fn lines(name: &'static str, description: &'static str, count: u64) -> Entry {
    Entry { name, unit: Unit::Lines, description, value: Value::Count(count) }
}
