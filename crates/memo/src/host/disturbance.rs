//! Disturbances of a measurement: preemptions of memo's threads, time that the hypervisor took, page faults.

use super::tree::Tree;
use serde::Serialize;

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Disturbance {
    /// Involuntary context switches of memo's threads.
    pub preemptions: u64,
    /// Time for which CPUs were ready and the hypervisor ran something else `[ms]`, all CPUs.
    pub steal_ms: u64,
    /// Pages brought in from a disk.
    pub major_faults: u64,
}

/// The counters at the start.
#[derive(Debug)]
pub struct Watch {
    began: Disturbance,
}

impl Watch {
    #[must_use]
    pub fn start() -> Watch {
        Watch { began: counters() }
    }

    /// Since the start.
    #[must_use]
    pub fn disturbance(&self) -> Disturbance {
        let now = counters();
        Disturbance {
            preemptions: now.preemptions.saturating_sub(self.began.preemptions),
            steal_ms: now.steal_ms.saturating_sub(self.began.steal_ms),
            major_faults: now.major_faults.saturating_sub(self.began.major_faults),
        }
    }
}

fn counters() -> Disturbance {
    // SAFETY: zeroes are a valid rusage, which the call then fills; RUSAGE_SELF always succeeds.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &raw mut usage);
        usage
    };
    let stat = Tree::real().text("proc/stat").unwrap_or_default();
    // "cpu  user nice system idle iowait irq softirq steal": ticks of 10 ms (USER_HZ is 100 on x86).
    let steal = stat.lines().next().and_then(|l| l.split_whitespace().nth(8)?.parse::<u64>().ok());
    Disturbance {
        preemptions: usage.ru_nivcsw as u64,
        steal_ms: steal.unwrap_or(0) * 10,
        major_faults: usage.ru_majflt as u64,
    }
}
