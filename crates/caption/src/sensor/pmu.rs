//! A performance-monitoring unit as sysfs describes it: its type, the bits of its format, the processors to open it on.
//!
//! Source: Documentation/ABI/testing/sysfs-bus-event_source-devices-format.

use crate::error::{Error, Result};
use crate::root::Root;
use crate::topology::NodeSet;
use std::collections::BTreeMap;

const DEVICES: &str = "sys/bus/event_source/devices";

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pmu {
    pub name: String,
    pub kind: u32,
    /// Processors that it counts on: one for each unit (uncore), or every one (core).
    pub processors: Vec<u32>,
}

/// The three words of perf_event_attr that a format fills.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Encoding {
    pub config: u64,
    pub config1: u64,
    pub config2: u64,
}

impl Pmu {
    /// `name` itself, and every `name_<number>`.
    pub fn find(root: &Root, name: &str) -> Result<Vec<Pmu>> {
        let Ok(entries) = std::fs::read_dir(root.path(DEVICES)) else {
            return Ok(Vec::new());
        };
        let numbered = |entry: &str| {
            entry.strip_prefix(name).and_then(|rest| rest.strip_prefix('_')).is_some_and(|n| n.parse::<u32>().is_ok())
        };
        let mut names: Vec<String> = entries.filter_map(|e| e.ok()?.file_name().into_string().ok()).collect();
        names.retain(|entry| entry == name || numbered(entry));
        names.sort();
        names.into_iter().map(|name| Pmu::read(root, name)).collect()
    }

    fn read(root: &Root, name: String) -> Result<Pmu> {
        let directory = format!("{DEVICES}/{name}");
        let kind = number(root, &format!("{directory}/type"))?;
        let cpumask = format!("{directory}/cpumask");
        let listed = if root.path(&cpumask).exists() { cpumask } else { "sys/devices/system/cpu/online".into() };
        // Lists of processors and of nodes are written alike.
        let processors: NodeSet = root.read(&listed)?.parse()?;
        Ok(Pmu { name, kind, processors: processors.iter().collect() })
    }

    /// Puts fields where this unit's format has them. CAP052 names a field that it lacks.
    pub fn encode(&self, root: &Root, event: &str, fields: &BTreeMap<String, u64>) -> Result<Encoding> {
        let mut encoding = Encoding::default();
        for (field, value) in fields {
            let path = format!("{DEVICES}/{}/format/{field}", self.name);
            let layout = root.read(&path).map_err(|_| self.lacks(event, field))?;
            place(&mut encoding, &layout, *value)
                .ok_or_else(|| self.lacks(event, &format!("{field} of {value:#x} in {layout}")))?;
        }
        Ok(encoding)
    }

    fn lacks(&self, event: &str, field: &str) -> Error {
        Error::Event {
            event: event.to_string(),
            pmu: self.name.clone(),
            next: "The kernel knows another format for this unit; a newer kernel may help".into(),
            source: std::io::Error::new(std::io::ErrorKind::Unsupported, format!("no format field {field}")),
        }
    }
}

fn number(root: &Root, path: &str) -> Result<u32> {
    let text = root.read(path)?;
    text.parse().map_err(|_| Error::io("understand", root.path(path))(std::io::Error::other(format!("{text:?}"))))
}

/// "config:8-15,32-63": the value's low bits fill the ranges in order. None where it does not fit.
fn place(encoding: &mut Encoding, layout: &str, value: u64) -> Option<()> {
    let (word, ranges) = layout.split_once(':')?;
    let word = match word {
        "config" => &mut encoding.config,
        "config1" => &mut encoding.config1,
        "config2" => &mut encoding.config2,
        _ => return None,
    };
    let mut left = u128::from(value);
    for range in ranges.split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
        let width = last.checked_sub(first)? + 1;
        if last >= 64 {
            return None;
        }
        *word |= ((left & ((1 << width) - 1)) as u64) << first;
        left >>= width;
    }
    (left == 0).then_some(())
}
