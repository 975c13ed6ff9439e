//! A run over time: counters at regular instants of simulated time, in a limited number of rows.
//!
//! The step begins fine. If the rows are full, every other one is dropped, and the step doubles. Counters are kept
//! since the beginning, so nothing is lost but resolution.

use cxlab_kernel::Time;
use serde_json::{Map, Value, json};

use crate::addr::LINE_BYTES;
use crate::machine::Machine;

const MOST_ROWS: usize = 2048;
const FIRST_STEP: Time = Time::from_ns(10_000);

/// Counters of a machine at instants of its time.
#[derive(Clone, Debug)]
pub struct Series {
    step: Time,
    next: Time,
    times: Vec<Time>,
    /// columns of counts since the beginning: one for the instructions, and one for the time in which cores were busy.
    /// Then for each node: loads, their time, bytes read, bytes written
    columns: Vec<Vec<u64>>,
    names: Vec<String>,
}

impl Series {
    #[must_use]
    pub fn new(machine: &Machine) -> Series {
        let of_node = |node: &crate::config::NodeSpec| {
            ["loads", "load_ns", "read_bytes", "write_bytes"].map(|what| format!("{}_{what}", node.name))
        };
        let names = ["instructions", "busy_ns"]
            .map(str::to_owned)
            .into_iter()
            .chain(machine.spec().nodes.iter().flat_map(of_node));
        let names: Vec<_> = names.collect();
        let columns = vec![Vec::with_capacity(MOST_ROWS); names.len()];
        Series { step: FIRST_STEP, next: FIRST_STEP, times: Vec::with_capacity(MOST_ROWS), columns, names }
    }

    /// Look at the machine; a row is written when the next instant has come.
    pub fn look(&mut self, machine: &Machine) {
        let now = machine.now();
        if now < self.next {
            return;
        }
        if self.times.len() == MOST_ROWS {
            self.halve();
        }
        self.times.push(now);
        let instructions = machine
            .cores()
            .iter()
            .map(|core| core.stats.user_instructions.get() + core.stats.kernel_instructions.get());
        let stacks = machine.cores().iter().map(|core| core.time_stack(now).busy());
        let busy: Time = stacks.sum();
        let nodes = machine.nodes().flat_map(|(stats, stages)| {
            let (loads, read) = (stats.loads.get(), stats.lines_read());
            let time: Time = stages.iter().copied().sum();
            [loads, time.as_ps() / 1000, read * LINE_BYTES, stats.write_backs.get() * LINE_BYTES]
        });
        let row = [instructions.sum(), busy.as_ps() / 1000].into_iter().chain(nodes);
        for (column, value) in self.columns.iter_mut().zip(row) {
            column.push(value);
        }
        self.next = now + self.step;
    }

    fn halve(&mut self) {
        self.step = self.step * 2;
        let odd = |index: usize| index % 2 == 1;
        let mut index = 0;
        self.times.retain(|_| (odd(index), index += 1).0);
        for column in &mut self.columns {
            let mut index = 0;
            column.retain(|_| (odd(index), index += 1).0);
        }
    }

    /// The columns, each a list: `time_s`, the end of each interval, and what was counted within it.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let mut table = Map::new();
        let times: Vec<f64> = self.times.iter().map(|time| time.as_seconds()).collect();
        table.insert("time_s".into(), json!(times));
        for (name, column) in self.names.iter().zip(&self.columns) {
            let before = std::iter::once(&0).chain(column);
            let within: Vec<u64> = column.iter().zip(before).map(|(now, before)| now.saturating_sub(*before)).collect();
            table.insert(name.clone(), json!(within));
        }
        Value::Object(table)
    }
}
