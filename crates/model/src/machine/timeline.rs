//! A timeline of a window of the run: requests by stage, queue depths, instructions per cycle.
//!
//! ```text
//!   node cxl   |-- load 0x40000040 ------------------------|      a slice in a slice: the request, its stages
//!              |to_home|home_to_memory|host_out|..|media|..|
//!   cores      core0 IPC ---/\__     fill buffers ~~~\___         counters, sampled
//! ```
//!
//! Written as the JSON that ui.perfetto.dev and chrome://tracing read (Trace Event Format). Only requests that
//! bring a line to a core are shown; what the home agent writes is in the queues alone.

use cxlab_kernel::Time;
use serde_json::{Value, json};

use super::{Core, Machine, Shared};
use crate::config::MachineSpec;
use crate::fabric::Occupancy;
use crate::mem::Stage;
use crate::request::{NodeId, Request};

/// Samples in a window.
const SAMPLES: u64 = 1_000;
/// Requests that are kept: Perfetto shows a million slices with ease.
const MOST_REQUESTS: usize = 50_000;
/// Process id of counters and cores. Nodes have the next ids.
const CORES: u64 = 1;

/// One moment's depths.
#[derive(Clone)]
struct Sample {
    at: Time,
    /// for each core: instructions so far, and fill buffers in use
    cores: Vec<(u64, u32)>,
    /// for each node: entries of the table of requests in use, and requests that wait for one
    tables: Vec<(u32, usize)>,
    /// for each port that is a CXL path: its node, and what its buffers hold
    paths: Vec<(usize, Occupancy)>,
}

/// Events in a window of simulated time.
#[derive(Clone)]
pub struct Timeline {
    from: Time,
    until: Time,
    period: Time,
    next: Time,
    requests: Vec<(Request, Time)>,
    samples: Vec<Sample>,
    dropped: u64,
}

impl Timeline {
    /// # Errors
    /// Says what is wrong with the window.
    pub fn new(from: Time, until: Time) -> Result<Timeline, String> {
        if until <= from {
            return Err(format!("the timeline's window ends at {until}, which is not after {from}, where it begins"));
        }
        let period = Time::from_ps(((until - from).as_ps() / SAMPLES).max(1));
        let (requests, samples) = (Vec::new(), Vec::new());
        Ok(Timeline { from, until, period, next: from, requests, samples, dropped: 0 })
    }

    /// A request is back at its core.
    pub(super) fn request(&mut self, request: &Request, done: Time) {
        if request.born() > self.until || done < self.from {
            return;
        }
        if self.requests.len() < MOST_REQUESTS { self.requests.push((*request, done)) } else { self.dropped += 1 }
    }

    /// It is `now`: look, if it is time to.
    #[inline]
    pub(super) fn look(&mut self, now: Time, cores: &[Core], shared: &Shared) {
        if now < self.next || now > self.until {
            return;
        }
        self.next = now + self.period;
        let core = |core: &Core| {
            let stats = &core.stats;
            (stats.user_instructions.get() + stats.kernel_instructions.get(), core.fill_buffers_held())
        };
        let Shared { home, fabric, .. } = shared;
        let tables: Vec<_> = home.tables().map(|of_node| (of_node.held, of_node.waiting)).collect();
        let ways = (0..tables.len()).flat_map(|node| home.ways(NodeId(node as u16)).iter().map(move |way| (node, way)));
        let paths = ways.filter_map(|(node, way)| Some((node, fabric.occupancy(*way, now)?))).collect();
        self.samples.push(Sample { at: now, cores: cores.iter().map(core).collect(), tables, paths });
    }

    /// The whole in Trace Event Format, times in microseconds.
    #[must_use]
    pub fn to_json(&self, spec: &MachineSpec) -> Value {
        let mut events = vec![named(CORES, "cores")];
        events.extend((0..).zip(&spec.nodes).map(|(number, node)| named(pid(number), &format!("node {}", node.name))));
        for (id, (request, done)) in self.requests.iter().enumerate() {
            slices(&mut events, id, request, *done);
        }
        let cycles_per_s = spec.host.core.frequency.as_hz() as f64;
        for pair in self.samples.windows(2) {
            counters(&mut events, &pair[0], &pair[1], cycles_per_s);
        }
        let about = json!({ "machine": spec.name, "requests_beyond_the_limit": self.dropped });
        json!({ "traceEvents": events, "displayTimeUnit": "ns", "otherData": about })
    }
}

impl Machine {
    /// Keep what happens in a window of time.
    pub fn keep_timeline(&mut self, timeline: Timeline) {
        self.timeline = Some(Box::new(timeline));
        self.watched = true;
    }

    /// Keep a profile of each core.
    pub fn keep_profile(&mut self) {
        self.cores.iter_mut().for_each(Core::keep_profile);
    }

    /// The window's timeline, if one was asked for.
    #[must_use]
    pub fn timeline(&self) -> Option<&Timeline> {
        self.timeline.as_deref()
    }
}

fn pid(node: usize) -> u64 {
    CORES + 1 + node as u64
}

fn named(pid: u64, name: &str) -> Value {
    json!({ "ph": "M", "name": "process_name", "pid": pid, "args": { "name": name } })
}

fn us(at: Time) -> f64 {
    at.as_ns() / 1e3
}

/// The request, and its stages within it.
fn slices(events: &mut Vec<Value>, id: usize, request: &Request, done: Time) {
    let pid = pid(usize::from(request.node.0));
    let name = format!("{:?} {:#x} core{}", request.op, request.line.get(), request.core().0);
    let mut edge = |phase: &str, name: &str, at: Time| {
        events
            .push(json!({ "ph": phase, "cat": "request", "id": id, "pid": pid, "tid": 0, "name": name, "ts": us(at) }));
    };
    edge("b", &name, request.born());
    let mut at = request.born();
    for stage in Stage::ALL {
        let span = request.span(*stage);
        if span > Time::ZERO {
            edge("b", stage.name(), at);
            at += span;
            edge("e", stage.name(), at);
        }
    }
    edge("e", &name, done);
}

fn counters(events: &mut Vec<Value>, before: &Sample, now: &Sample, cycles_per_s: f64) {
    let mut count = |pid: u64, name: String, value: f64| {
        events.push(json!({ "ph": "C", "pid": pid, "name": name, "ts": us(before.at), "args": { "value": value } }));
    };
    let cycles = (now.at - before.at).as_seconds() * cycles_per_s;
    for (core, ((first, _), (last, held))) in before.cores.iter().zip(&now.cores).enumerate() {
        count(CORES, format!("core{core} IPC"), (last - first) as f64 / cycles);
        count(CORES, format!("core{core} fill buffers"), f64::from(*held));
    }
    for (node, (held, waiting)) in now.tables.iter().enumerate() {
        count(pid(node), "table of requests".into(), f64::from(*held));
        count(pid(node), "waiting for the table".into(), *waiting as f64);
    }
    for (port, (node, path)) in now.paths.iter().enumerate() {
        for (name, buffer) in [
            ("request FIFO", path.request_fifo),
            ("response FIFO", path.response_fifo),
            ("device read queue", path.read_queue),
            ("device write queue", path.write_queue),
        ] {
            count(pid(*node), format!("port {port} {name}"), f64::from(buffer.used));
            count(pid(*node), format!("port {port} {name}, waiting"), f64::from(buffer.waiting));
        }
    }
}
