//! A run over time: counters at regular instants of simulated time, at most so many rows.
//!
//! The step begins fine and doubles whenever the rows are full, by dropping every other one: counters are kept
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
    /// a column for the instructions, then for each node loads, bytes read, bytes written; since the beginning
    columns: Vec<Vec<u64>>,
    names: Vec<String>,
}

impl Series {
    #[must_use]
    pub fn new(machine: &Machine) -> Series {
        let of_node = |node: &crate::config::NodeSpec| {
            ["loads", "read_bytes", "write_bytes"].map(|what| format!("{}_{what}", node.name))
        };
        let names: Vec<_> =
            std::iter::once("instructions".to_owned()).chain(machine.spec().nodes.iter().flat_map(of_node)).collect();
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
        let nodes = machine.nodes().flat_map(|(stats, _)| {
            let (loads, read) = (stats.loads.get(), stats.lines_read());
            [loads, read * LINE_BYTES, stats.write_backs.get() * LINE_BYTES]
        });
        for (column, value) in self.columns.iter_mut().zip(std::iter::once(instructions.sum()).chain(nodes)) {
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
            let within: Vec<u64> = column.iter().zip(before).map(|(now, before)| now - before).collect();
            table.insert(name.clone(), json!(within));
        }
        Value::Object(table)
    }
}
