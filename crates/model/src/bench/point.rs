//! The result of a point: latency by stage, bandwidth, and what every part of the way was busy with.

use std::collections::BTreeMap;

use cxlab_kernel::Time;
use cxlab_kernel::statistic::{Entry, Group, Value};
use schemars::JsonSchema;
use serde::Serialize;

use super::Threads;
use super::embedding::Embedding;
use super::job::{Job, Work};
use super::kernels::{Memo, Thread, Walk};
use crate::addr::LINE_BYTES;
use crate::check::Checked;
use crate::home::StageTimes;
use crate::machine::{Machine, PortStats};
use crate::mem::Stage;
use crate::request::NodeId;

type Statistics = BTreeMap<&'static str, Value>;

/// One point of a curve. Bandwidths in 10^6 B/s; null where no time was counted, as in a walk.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "BenchPoint")]
pub struct Point {
    /// inject delay `[core cycles]`
    pub delay: u64,
    /// latency of the latency thread, or of all loads if there is none. `memo`: median batch over 16 accesses.
    /// A walk: its time over its loads, hits included
    pub latency_ns: Option<f64>,
    /// where that latency goes; the sum is `latency_ns`
    pub stages_ns: BTreeMap<&'static str, f64>,
    /// bandwidth by the threads' own account. A stored line that was read first counts twice, as Intel MLC counts.
    /// `stream`: as STREAM counts, without ownership reads. Other work: read and written at the memories
    #[schemars(with = "Option<f64>")]
    pub bandwidth_mb_s: f64,
    /// at the memories
    #[schemars(with = "Option<f64>")]
    pub read_mb_s: f64,
    #[schemars(with = "Option<f64>")]
    pub write_mb_s: f64,
    /// `embedding`: of all threads
    pub queries_per_second: Option<f64>,
    /// dispatch waited for the load or the store queue, all cores
    pub lsq_full_events: u64,
    pub simulated_us: f64,
    /// samples of the latency
    pub loads: u64,
    pub nodes: BTreeMap<String, NodePoint>,
    pub socket_link: Option<SocketLinkPoint>,
    /// what was checked, if anything was; a broken rule is an error
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checked: Option<Checked>,
}

/// A node that has moved lines.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct NodePoint {
    #[schemars(with = "Option<f64>")]
    pub read_mb_s: f64,
    #[schemars(with = "Option<f64>")]
    pub write_mb_s: f64,
    /// of all threads' loads
    pub mean_load_latency_ns: Option<f64>,
    pub p50_load_latency_ns: Option<f64>,
    pub p99_load_latency_ns: Option<f64>,
    /// 1 load of 1,000 takes longer
    pub p999_load_latency_ns: Option<f64>,
    /// requests that found the home agents' tables of requests full
    pub table_full_events: u64,
    pub ports: Vec<PortPoint>,
}

/// A root port with its device, or the channels of a node without.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct PortPoint {
    /// share of the reads and writes that found their row open
    pub row_hit_share: Option<f64>,
    /// root_port, m2s, device, s2m; of a device with flash device_cache and flash, too
    pub cxl: BTreeMap<&'static str, Statistics>,
    pub channels: Vec<Statistics>,
}

/// The link to the other socket.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct SocketLinkPoint {
    #[schemars(with = "Option<f64>")]
    pub out_utilisation: f64,
    #[schemars(with = "Option<f64>")]
    pub back_utilisation: f64,
    pub snoop_filter_full_events: u64,
}

impl Point {
    pub(super) fn of(job: &Job, machine: &Machine, threads: &Threads, shares: &[(NodeId, u32)], moved: u64) -> Point {
        let elapsed = machine.counted();
        let rate = |lines: u64| (lines * LINE_BYTES) as f64 / elapsed.as_seconds() / 1e6;
        let nodes: BTreeMap<_, _> = shares
            .iter()
            .map(|(id, _)| (machine.spec().nodes[usize::from(id.0)].name.clone(), NodePoint::of(machine, *id)))
            .collect();
        let sum = |of: fn(&crate::home::NodeStats) -> u64| machine.nodes().map(|(stats, _)| of(stats)).sum::<u64>();
        let (reads, writes) = (sum(crate::home::NodeStats::lines_read), sum(|node| node.write_backs.get()));
        let (loads, stages) = watched(job, machine);
        let mut point = Point {
            delay: job.delay,
            latency_ns: (loads > 0).then(|| stages.iter().copied().sum::<Time>().as_ns() / loads as f64),
            stages_ns: mean_stages(loads, &stages),
            bandwidth_mb_s: rate(reads + writes),
            read_mb_s: rate(reads),
            write_mb_s: rate(writes),
            queries_per_second: None,
            lsq_full_events: machine.cores().iter().map(|core| core.stats.lsq_full.get()).sum(),
            simulated_us: elapsed.as_ns() / 1e3,
            loads,
            nodes,
            socket_link: machine.socket_link().map(|link| SocketLinkPoint {
                out_utilisation: link.out_busy.sum().as_seconds() / elapsed.as_seconds(),
                back_utilisation: link.back_busy.sum().as_seconds() / elapsed.as_seconds(),
                snoop_filter_full_events: link.snoop_filter_full.get(),
            }),
            checked: None,
        };
        match job.work {
            Work::LoadedLatency { .. } => point.bandwidth_mb_s = rate(moved),
            Work::Embedding {} => point.queries_per_second = Some(queries(machine)),
            // A store is one line read for ownership and, by STREAM, one line of result.
            Work::Stream { .. } => point.bandwidth_mb_s = rate(reads),
            Work::Memo { .. } => point.latency_ns = median_access(threads),
            Work::Walk { .. } => point.latency_ns = mean_step(threads),
        }
        point
    }
}

/// The latency thread's loads, or everybody's.
fn watched(job: &Job, machine: &Machine) -> (u64, StageTimes) {
    let latency_thread = matches!(job.work, Work::LoadedLatency { latency_thread: true, .. });
    let cores = &machine.loads()[..if latency_thread { 1 } else { machine.loads().len() }];
    let mut stages = StageTimes::default();
    for core in cores {
        for (sum, span) in stages.iter_mut().zip(core.stages) {
            *sum += span;
        }
    }
    (cores.iter().map(|core| core.count).sum(), stages)
}

fn mean_stages(loads: u64, stages: &StageTimes) -> BTreeMap<&'static str, f64> {
    let spent = Stage::ALL.iter().zip(stages).filter(|(_, sum)| **sum > Time::ZERO);
    spent.map(|(stage, sum)| (stage.name(), sum.as_ns() / loads as f64)).collect()
}

fn median_access(threads: &Threads) -> Option<f64> {
    let Thread::Memo(memo) = &threads.first()?.kernel else { return None };
    let mut batches = memo.batches.clone();
    batches.sort();
    batches.get(batches.len() / 2).map(|batch| batch.as_ns() / Memo::BATCH as f64)
}

/// By what the program loaded: lines that were read ahead for nothing are no queries.
fn queries(machine: &Machine) -> f64 {
    let lines: u64 = machine.cores().iter().map(|core| core.stats.loads.get()).sum();
    lines as f64 / (Embedding::ROW * Embedding::GATHERED) as f64 / machine.counted().as_seconds()
}

fn mean_step(threads: &Threads) -> Option<f64> {
    let Thread::Walk(walk) = &threads.first()?.kernel else { return None };
    walk.time.map(|time| time.as_ns() / Walk::LOADS as f64)
}

impl NodePoint {
    fn of(machine: &Machine, id: NodeId) -> NodePoint {
        let elapsed = machine.counted();
        let rate = |lines: u64| (lines * LINE_BYTES) as f64 / elapsed.as_seconds() / 1e6;
        let number = usize::from(id.0);
        let (stats, _) = machine.nodes().nth(number).expect("the node is of the machine");
        let latency = &stats.load_latency;
        let quantile = |share: f64| (latency.count() > 0).then(|| latency.quantile_ns(share));
        NodePoint {
            read_mb_s: rate(stats.lines_read()),
            write_mb_s: rate(stats.write_backs.get()),
            mean_load_latency_ns: (latency.count() > 0).then(|| latency.mean_ns()),
            p50_load_latency_ns: quantile(0.5),
            p99_load_latency_ns: quantile(0.99),
            p999_load_latency_ns: quantile(0.999),
            table_full_events: machine.table_full_events().nth(number).expect("the node is of the machine"),
            ports: machine.ports(id).map(|port| PortPoint::of(&port)).collect(),
        }
    }
}

impl PortPoint {
    fn of(stats: &PortStats) -> PortPoint {
        let named = |entries: Vec<Entry>| -> Statistics {
            entries.into_iter().map(|entry| (entry.name, entry.value)).collect()
        };
        let parts = stats.expander.iter().flat_map(|expander| {
            expander.parts().map(|(name, group): (&'static str, &dyn Group)| (name, named(group.entries())))
        });
        let drive = stats.flash.iter().map(|entries| ("flash", named(entries.clone())));
        let parts = parts.chain(drive);
        let channels: Vec<_> = stats.channels.iter().map(|channel| named(channel.entries.clone())).collect();
        let total = |name: &str| -> u64 {
            let count = |channel: &Statistics| match channel.get(name) {
                Some(Value::Count(count)) => *count,
                _ => 0,
            };
            channels.iter().map(count).sum()
        };
        let hits = total("row_hits");
        let all = hits + total("row_misses") + total("row_conflicts");
        PortPoint { row_hit_share: (all > 0).then(|| hits as f64 / all as f64), cxl: parts.collect(), channels }
    }
}
