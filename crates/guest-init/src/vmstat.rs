//! Reports what Linux's memory management did while the program ran. It reads /proc/vmstat, the time that tasks
//! waited for memory (PSI), and the processor time of the kernel's threads that reclaim, demote and compact.
//!
//! Not told apart: what a task itself does for its memory while it does not wait (its faults, its promotions).
//! Source: Linux 6.12, mm/vmstat.c; Documentation/accounting/psi.rst; Documentation/scheduler/sched-stats.rst.

use std::collections::BTreeMap;
use std::fs;

use serde::Serialize;

use crate::error::{Doing, Result};

/// Pages that were moved, and how that came about.
const COUNTERS: [&str; 12] = [
    "pgpromote_success",
    "pgpromote_candidate",
    "pgdemote_kswapd",
    "pgdemote_direct",
    "pgmigrate_success",
    "pgmigrate_fail",
    "pswpin",
    "pswpout",
    "numa_pte_updates",
    "numa_hint_faults",
    "pgmajfault",
    "thp_migration_success",
];

/// Kernel threads that move pages; a number follows where each node has one (kswapd0).
const MOVERS: [&str; 2] = ["kswapd", "kcompactd"];

/// Counts, and spans of the guest's time.
#[derive(Debug, Default, Serialize)]
pub struct Moved {
    pub pages: BTreeMap<String, u64>,
    /// in which some or all tasks waited for memory or a disk `[us]`
    pub stalls_us: BTreeMap<String, u64>,
    /// in which a kernel's thread that moves pages had a processor `[us]`
    pub movers_us: BTreeMap<String, u64>,
}

impl Moved {
    pub fn now() -> Result<Self> {
        let text = fs::read_to_string("/proc/vmstat").doing(|| "reading /proc/vmstat".to_owned())?;
        let mut stalls_us = BTreeMap::new();
        for resource in ["memory", "io"] {
            let path = format!("/proc/pressure/{resource}");
            let text = fs::read_to_string(&path).doing(|| format!("reading {path}"))?;
            stalls_us.extend(stalls(resource, &text));
        }
        Ok(Moved { pages: counters(&text), stalls_us, movers_us: movers()? })
    }

    pub fn since(mut self, before: &Moved) -> Self {
        let less = |now: &mut BTreeMap<String, u64>, then: &BTreeMap<String, u64>| {
            now.iter_mut().for_each(|(name, value)| *value -= then.get(name).copied().unwrap_or(0).min(*value));
        };
        less(&mut self.pages, &before.pages);
        less(&mut self.stalls_us, &before.stalls_us);
        less(&mut self.movers_us, &before.movers_us);
        self
    }
}

fn counters(text: &str) -> BTreeMap<String, u64> {
    let lines = text.lines().filter_map(|line| line.split_once(' '));
    let wanted = lines.filter(|(name, _)| COUNTERS.contains(name));
    wanted.filter_map(|(name, value)| Some((name.to_owned(), value.parse().ok()?))).collect()
}

/// "some avg10=0.00 avg60=0.00 avg300=0.00 total=1234" and the same for full.
fn stalls(resource: &str, text: &str) -> BTreeMap<String, u64> {
    let lines = text.lines().filter_map(|line| {
        let (kind, rest) = line.split_once(' ')?;
        let total = rest.rsplit_once("total=")?.1.parse().ok()?;
        Some((format!("{resource}_{kind}"), total))
    });
    lines.collect()
}

/// Time on a processor of each thread that moves pages, by its name.
fn movers() -> Result<BTreeMap<String, u64>> {
    let listing = || "listing /proc".to_owned();
    let mut found = BTreeMap::new();
    for entry in fs::read_dir("/proc").doing(listing)? {
        let path = entry.doing(listing)?.path();
        // What is no process has no such file, nor has one that has ended meanwhile.
        let Ok(name) = fs::read_to_string(path.join("comm")) else { continue };
        let name = name.trim_end();
        if MOVERS.iter().any(|mover| name.starts_with(mover)) {
            let path = path.join("schedstat");
            let text = fs::read_to_string(&path).doing(|| format!("reading {}", path.display()))?;
            found.insert(name.to_owned(), on_processor(&text));
        }
    }
    Ok(found)
}

/// "RUNNING_NS WAITING_NS SLICES", the first in microseconds.
fn on_processor(schedstat: &str) -> u64 {
    schedstat.split_whitespace().next().and_then(|ns| ns.parse::<u64>().ok()).unwrap_or(0) / 1000
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines as Linux 6.12 writes them.
    #[test]
    fn counters_and_stalls_are_read_and_subtracted() {
        let then = Moved { pages: counters("pswpin 2\nnr_free_pages 7\n"), ..Moved::default() };
        let now = Moved {
            pages: counters("pswpin 5\nnr_free_pages 3\npswpout 1\n"),
            stalls_us: stalls("memory", "some avg10=0.00 avg60=0.00 avg300=0.00 total=12\nfull avg10=0.00 total=9\n"),
            movers_us: BTreeMap::from([("kswapd0".to_owned(), on_processor("1234567 890 3\n"))]),
        };
        let moved = now.since(&then);
        assert_eq!(moved.pages, BTreeMap::from([("pswpin".to_owned(), 3), ("pswpout".to_owned(), 1)]));
        assert_eq!(moved.stalls_us, BTreeMap::from([("memory_some".to_owned(), 12), ("memory_full".to_owned(), 9)]));
        assert_eq!(moved.movers_us, BTreeMap::from([("kswapd0".to_owned(), 1234)]));
    }
}
