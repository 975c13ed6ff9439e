//! Linux's own tiering of memory: promotion of hot pages by NUMA balancing, demotion of cold ones on reclaim.
//!
//! A program's simulated time is milliseconds. So the scan periods are shortened, from 1 s by default, and with them
//! what a scan covers. Linux never scans faster than 2560 MB a second (kernel/sched/fair.c: MAX_SCAN_WINDOW,
//! task_scan_min). Source: Linux 6.12, Documentation/admin-guide/sysctl/kernel.rst (numa_balancing),
//! kernel/sched/debug.c.

use std::fs;
use std::path::Path;

use nix::mount::MsFlags;
use serde::Deserialize;

use crate::error::{Doing, Result};
use crate::tree;

/// MAX_SCAN_WINDOW of kernel/sched/fair.c `[MB/s]`.
const MOST_SCANNED: u32 = 2560;
const DEBUG: &str = "/sys/kernel/debug";
/// NUMA_BALANCING_MEMORY_TIERING of include/linux/sched/sysctl.h.
const MEMORY_TIERING: &str = "2";

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tiering {
    /// between two scans of a program's pages, and before the first `[ms]`
    scan_period_ms: u32,
}

impl Tiering {
    pub fn start(self) -> Result<()> {
        tree::mount_new("debugfs", Path::new(DEBUG), "debugfs", MsFlags::empty(), "")?;
        let period = self.scan_period_ms.to_string();
        for name in ["scan_delay_ms", "scan_period_min_ms", "scan_period_max_ms"] {
            write(&format!("{DEBUG}/sched/numa_balancing/{name}"), &period)?;
        }
        let scanned = (MOST_SCANNED * self.scan_period_ms.min(1000) / 1000).max(1);
        write(&format!("{DEBUG}/sched/numa_balancing/scan_size_mb"), &scanned.to_string())?;
        write("/sys/kernel/mm/numa/demotion_enabled", "1")?;
        write("/proc/sys/kernel/numa_balancing", MEMORY_TIERING)
    }
}

fn write(path: &str, text: &str) -> Result<()> {
    fs::write(path, text).doing(|| format!("writing {text} to {path}"))
}
