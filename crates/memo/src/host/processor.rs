//! The processor, and the settings of it that move figures: frequency governors, turbo, SMT, the last-level cache.

use super::tree::Tree;
use cxlab_kernel::Bytes;
use serde::Serialize;

#[derive(Clone, Debug, Serialize)]
pub struct Processor {
    /// CPUID's vendor string: GenuineIntel, AuthenticAMD.
    pub vendor: Option<String>,
    pub model: Option<String>,
    pub microcode: Option<String>,
    /// Logical CPUs that are online.
    pub online: usize,
    /// The distinct governors of all CPUs; empty where Linux does not set frequencies (most virtual machines).
    pub governors: Vec<String>,
    pub turbo: Option<bool>,
    pub smt: Option<bool>,
    /// One instance of the last-level cache.
    pub last_level_cache: Option<Bytes>,
}

const CPUS: &str = "sys/devices/system/cpu";

impl Processor {
    #[must_use]
    pub fn read(tree: &Tree) -> Processor {
        let cpuinfo = tree.text("proc/cpuinfo").unwrap_or_default();
        let field = |key: &str| {
            let line = cpuinfo.lines().find_map(|l| l.split_once(':').filter(|(k, _)| k.trim() == key));
            line.map(|(_, value)| value.trim().to_string())
        };
        let mut governors: Vec<String> = tree
            .numbered(CPUS, "cpu")
            .into_iter()
            .filter_map(|cpu| tree.text(format!("{CPUS}/cpu{cpu}/cpufreq/scaling_governor")))
            .collect();
        governors.sort();
        governors.dedup();
        let flag = |path: &str| tree.number(format!("{CPUS}/{path}")).map(|n| n != 0);
        Processor {
            vendor: field("vendor_id"),
            model: field("model name"),
            microcode: field("microcode"),
            online: cpuinfo.lines().filter(|l| l.starts_with("processor")).count(),
            governors,
            turbo: flag("cpufreq/boost").or_else(|| flag("intel_pstate/no_turbo").map(|off| !off)),
            smt: flag("smt/active"),
            last_level_cache: last_level_cache(tree),
        }
    }
}

/// CPU 0's cache of the highest level.
fn last_level_cache(tree: &Tree) -> Option<Bytes> {
    let folder = format!("{CPUS}/cpu0/cache");
    let caches = tree.numbered(&folder, "index").into_iter().filter_map(|index| {
        let level = tree.number(format!("{folder}/index{index}/level"))?;
        let size = tree.text(format!("{folder}/index{index}/size"))?;
        Some((level, Bytes::kib(size.strip_suffix('K')?.parse().ok()?)))
    });
    caches.max_by_key(|(level, _)| *level).map(|(_, size)| size)
}
