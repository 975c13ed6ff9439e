//! Caveats: what makes figures unreliable here, and what to do about it.

use super::{Disturbance, Host};
use crate::page::PageSize;
use crate::tsc::Tsc;
use cxlab_kernel::Bytes;

/// Load that is not memo's own: above this many runnable threads something else computes here.
const QUIET: f64 = 0.3;

/// Caveats of a host, and of a run on it: its `size` of memory in `pages`, what disturbed it.
#[must_use]
pub fn caveats(host: &Host, tsc: &Tsc, run: Option<(Bytes, PageSize, &Disturbance)>) -> Vec<String> {
    let mut said = Vec::new();
    let mut say = |text: String| said.push(text);
    if let Some(name) = &host.hypervisor {
        say(format!(
            "virtual machine ({name}): the hypervisor may move and preempt CPUs, its pages may be smaller than the guest's, \
             topology and caches may be invented, neighbours share caches and memory"
        ));
    }
    match host.load_average {
        Some(load) if load > QUIET => {
            say(format!("load average {load} at the start: other programs take CPU time and bandwidth; stop them"));
        }
        _ => {}
    }
    match host.processor.governors.as_slice() {
        [] => say("no frequency governor is visible: the core frequency is unknown and may change meanwhile".into()),
        [only] if only == "performance" => {}
        other => say(format!(
            "frequency governor {}: set performance (cpupower frequency-set -g performance)",
            other.join(", ")
        )),
    }
    if host.processor.turbo == Some(true) {
        say("turbo is on: core and mesh frequency depend on load and temperature".into());
    }
    match &host.prefetchers {
        None => {
            say("prefetchers unknown: model-specific registers are not readable here (as root: modprobe msr)".into())
        }
        Some(all) if all.iter().any(|p| p.enabled) => {
            say("prefetchers are on: sequential figures include them; random chases, hardly".into());
        }
        Some(_) => {}
    }
    if !tsc.invariant {
        say("CPUID does not promise an invariant time-stamp counter: its rate may change with the core's".into());
    }
    if tsc.spread_ppm > 1000.0 {
        say(format!("the clock's calibration varies by {:.0} ppm: times are no better than that", tsc.spread_ppm));
    }
    if host.numa_balancing.is_some_and(|mode| mode != 0) {
        say("kernel.numa_balancing is on: its hint faults cost time (sysctl kernel.numa_balancing=0)".into());
    }
    if host.nodes.with_memory().count() > 1 && host.nodes.iter().all(|n| n.hmat.is_empty()) {
        say("firmware gives no latency and bandwidth of nodes (HMAT): nothing to compare the figures with".into());
    }
    if let Some((size, pages, disturbance)) = run {
        of_run(host, size, pages, disturbance, &mut say);
    }
    said
}

fn of_run(host: &Host, size: Bytes, pages: PageSize, disturbance: &Disturbance, say: &mut impl FnMut(String)) {
    match host.processor.last_level_cache {
        None => say("the size of the last-level cache is unknown: the buffer may fit into it".into()),
        Some(cache) if size.get() < 4 * cache.get() => {
            say(format!(
                "{size} of memory is less than four times the last-level cache ({cache}): part of it stays cached"
            ));
        }
        Some(_) => {}
    }
    if pages == PageSize::Base {
        say("4 KiB pages: random accesses pay for TLB misses too".into());
    }
    if disturbance.preemptions > 0 {
        say(format!("memo's threads were preempted {} times while measuring", disturbance.preemptions));
    }
    if disturbance.steal_ms > 0 {
        say(format!("the hypervisor took {} ms of CPU time while measuring", disturbance.steal_ms));
    }
    if disturbance.major_faults > 0 {
        say(format!("{} pages came from disk while measuring: memory is short", disturbance.major_faults));
    }
}
