//! A job: run the model on a stream of records, keep a partial summary on disk, give the whole one back.

use std::fs::File;
use std::io::Write;
use std::os::fd::{BorrowedFd, FromRawFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Release;
use std::time::{Duration, Instant};

use serde::Deserialize;
use serde_json::Value;

use cxlab_access::{Consumer, Peer, Ring, Schedule};
use cxlab_kernel::Time;
use cxlab_model::frontend::{Answers, Guest, Live, PageMap, Placed, Policy, RecordSource, Replay, Sampled};
use cxlab_model::machine::{AddressRange, Region, Retraining, Timeline};
use cxlab_model::summary::{Counters, Part, Series, Summary};
use cxlab_model::{Machine, MachineSpec, ModelError};

/// Between two partial summaries.
const PARTIAL_EVERY: Duration = Duration::from_secs(1);

/// What the supervisor asks for.
#[derive(Deserialize)]
struct LiveJob {
    /// descriptor of the ring, inherited
    ring_fd: i32,
    qemu_pid: u32,
    /// vCPUs, a core for each
    cpus: u16,
    machine: String,
    nodes: Vec<NodeRanges>,
    /// CXL regions that the guest's Linux committed
    regions: Vec<Region>,
    /// links that are trained anew
    retrainings: Vec<Retraining>,
    /// the run's folder: the partial summary is kept there
    out: PathBuf,
    /// where to record the stream, if it is wanted
    record: Option<PathBuf>,
    timeline: Option<Window>,
    /// descriptor of the counters' port, inherited, if the guest has one
    counters_fd: Option<i32>,
}

/// Which instructions of a replayed trace are followed in detail.
#[derive(Deserialize)]
struct Sample {
    detail: u64,
    warm: u64,
    every: u64,
    seed: u64,
}

impl Sample {
    fn schedule(&self) -> Result<Schedule, ModelError> {
        let inconsistent = |cause| ModelError::Inconsistent { file: "--sample".into(), cause };
        Schedule::new(self.detail, self.warm, self.every, self.seed).map_err(inconsistent)
    }
}

/// What a timeline shows, and where it is written.
#[derive(Deserialize)]
struct Window {
    file: PathBuf,
    from_ps: u64,
    until_ps: u64,
}

impl Window {
    fn keep(&self, machine: &mut Machine) -> Result<(), ModelError> {
        let timeline = Timeline::new(Time::from_ps(self.from_ps), Time::from_ps(self.until_ps));
        let inconsistent = |cause| ModelError::Inconsistent { file: "--window".into(), cause };
        machine.keep_timeline(timeline.map_err(inconsistent)?);
        Ok(())
    }

    fn write(&self, machine: &Machine) -> Result<(), ModelError> {
        let Some(timeline) = machine.timeline() else { return Ok(()) };
        let text = timeline.to_json(machine.spec()).to_string();
        std::fs::write(&self.file, text).map_err(|cause| ModelError::Unwritable { path: self.file.clone(), cause })
    }
}

#[derive(Deserialize, serde::Serialize)]
struct NodeRanges {
    node: u16,
    /// (first byte, bytes)
    ranges: Vec<(u64, u64)>,
}

/// What a trace says of the run that it was recorded from.
#[derive(Deserialize, serde::Serialize)]
struct Recorded {
    machine: String,
    cpus: u16,
    nodes: Vec<NodeRanges>,
    regions: Vec<Region>,
    retrainings: Vec<Retraining>,
}

#[derive(Deserialize)]
struct ReplayJob {
    trace: PathBuf,
    /// another machine than the recorded one
    machine: Option<String>,
    timeline: Option<Window>,
    sample: Option<Sample>,
    /// where the program's pages go, by names of nodes and pages in a row, if not where they were recorded
    placement: Option<Vec<(String, u32)>>,
}

fn ranges(nodes: &[NodeRanges]) -> Vec<AddressRange> {
    let of = |node: &NodeRanges| {
        let number = node.node;
        node.ranges
            .iter()
            .map(move |(start, length)| AddressRange { start: *start, length: *length, node: number })
            .collect::<Vec<_>>()
    };
    nodes.iter().flat_map(of).collect()
}

fn bad_job(error: &serde_json::Error) -> ModelError {
    ModelError::Inconsistent { file: "job".into(), cause: error.to_string() }
}

/// Follow a live guest until its program ends.
pub fn simulate(job: &str) -> Result<String, ModelError> {
    let job: LiveJob = serde_json::from_str(job).map_err(|error| bad_job(&error))?;
    let stop: &'static AtomicBool = stop_on_signal()?;
    let ring_error = |cause| ModelError::Ring { cause };
    // SAFETY: the supervisor passes a descriptor that stays open for as long as this process runs.
    let fd = unsafe { BorrowedFd::borrow_raw(job.ring_fd) };
    let consumer = Consumer::new(Ring::open(fd).map_err(ring_error)?);
    let guest = Peer::open(job.qemu_pid).map_err(ring_error)?;
    let spec = MachineSpec::load(&job.machine)?;
    let mut machine = Machine::with_regions(spec, job.cpus, &ranges(&job.nodes), &job.regions)?;
    job.retrainings.iter().try_for_each(|retraining| machine.retrain(*retraining))?;
    let timeline = job.timeline;
    timeline.iter().try_for_each(|window| window.keep(&mut machine))?;
    consumer.header().consumer_pid.store(std::process::id(), Release);
    let mut live = Live::new(consumer, guest, stop);
    if let Some(path) = &job.record {
        let LiveJob { machine, cpus, nodes, regions, retrainings, .. } = job;
        let recorded = Recorded { machine, cpus, nodes, regions, retrainings };
        let description = serde_json::to_string(&recorded).expect("plain data is JSON");
        live.record(path, &description)?;
    }
    let mut partial = Partial::new(&job.out);
    let mut series = Series::new(&machine);
    let mut counters = job.counters_fd.map(CountersPort::new);
    let mut guest = Guest::new(live, job.cpus);
    guest.run(&mut machine, |machine| {
        series.look(machine);
        counters.as_mut().map_or(Ok(()), |counters| counters.look(machine))?;
        partial.look(machine)
    })?;
    let sampled = guest.sampled(&machine);
    let live = guest.into_source();
    let cut_short = live.was_cut_short();
    live.finish()?;
    timeline.iter().try_for_each(|window| window.write(&machine))?;
    let mut whole = told(sampled, &machine, !cut_short);
    whole["series"] = series.to_json();
    whole["statistics"] = statistics(&machine);
    Ok(whole.to_string())
}

/// Run a recorded trace through its own machine, whose answers must agree, through another, sampled, or placed anew.
pub fn replay(job: &str) -> Result<String, ModelError> {
    let job: ReplayJob = serde_json::from_str(job).map_err(|error| bad_job(&error))?;
    if let Some(sample) = &job.sample {
        let source = Sampled::open(&job.trace, sample.schedule()?)?;
        let recorded = recorded(source.description())?;
        if recorded.cpus > 1 {
            let cause = format!("a trace of {} vCPUs cannot be sampled, one of one vCPU can", recorded.cpus);
            return Err(ModelError::Inconsistent { file: job.trace.display().to_string(), cause });
        }
        let (_, whole) = replay_from(source, &recorded, &job)?;
        return Ok(whole.to_string());
    }
    let same = job.machine.is_none() && job.placement.is_none();
    let source = Replay::open(&job.trace, if same { Answers::MustAgree } else { Answers::MayDiffer })?;
    let recorded = recorded(source.description())?;
    let (source, mut whole) = replay_from(source, &recorded, &job)?;
    whole["answers_compared"] = source.compared().into();
    Ok(whole.to_string())
}

fn recorded(description: &str) -> Result<Recorded, ModelError> {
    serde_json::from_str(description).map_err(|error| bad_job(&error))
}

/// The source when all has been read, and the summary.
fn replay_from<S: RecordSource>(source: S, recorded: &Recorded, job: &ReplayJob) -> Result<(S, Value), ModelError> {
    let spec = MachineSpec::load(job.machine.as_deref().unwrap_or(&recorded.machine))?;
    let Some(placement) = &job.placement else { return replay_on(spec, source, recorded, job) };
    let regions = recorded.regions.iter().map(Region::range);
    let all: Vec<_> = ranges(&recorded.nodes).into_iter().chain(regions).collect();
    let map = PageMap::read(&job.trace, &policy(placement, &spec)?, &all)?;
    let (placed, whole) = replay_on(spec, Placed::new(source, map), recorded, job)?;
    Ok((placed.source, whole))
}

fn replay_on<S: RecordSource>(
    spec: MachineSpec,
    source: S,
    recorded: &Recorded,
    job: &ReplayJob,
) -> Result<(S, Value), ModelError> {
    let mut machine = Machine::with_regions(spec, recorded.cpus, &ranges(&recorded.nodes), &recorded.regions)?;
    recorded.retrainings.iter().try_for_each(|retraining| machine.retrain(*retraining))?;
    job.timeline.iter().try_for_each(|window| window.keep(&mut machine))?;
    let mut guest = Guest::new(source, recorded.cpus);
    guest.run(&mut machine, |_| Ok(()))?;
    job.timeline.iter().try_for_each(|window| window.write(&machine))?;
    let mut whole = told(guest.sampled(&machine), &machine, true);
    whole["statistics"] = statistics(&machine);
    Ok((guest.into_source(), whole))
}

/// A placement by the machine's names.
fn policy(placement: &[(String, u32)], spec: &MachineSpec) -> Result<Policy, ModelError> {
    let node = |(name, weight): &(String, u32)| {
        let unknown = || ModelError::UnknownName {
            kind: "node",
            name: name.clone(),
            valid: spec.nodes.iter().map(|node| node.name.as_str()).collect::<Vec<_>>().join(", "),
        };
        let place = spec.nodes.iter().position(|node| node.name == *name).ok_or_else(unknown)?;
        Ok((place as u16, *weight))
    };
    placement.iter().map(node).collect::<Result<_, ModelError>>().map(Policy)
}

/// The summary of a run, which may have been sampled.
fn told(sampled: Option<(Summary, Value)>, machine: &Machine, complete: bool) -> Value {
    let Some((of_windows, sampling)) = sampled else { return summary(machine, complete) };
    let mut value = serde_json::to_value(of_windows).expect("plain data is JSON");
    value["complete"] = complete.into();
    value["sampling"] = sampling;
    value
}

fn summary(machine: &Machine, complete: bool) -> Value {
    let mut value = serde_json::to_value(Summary::of(machine)).expect("plain data is JSON");
    value["complete"] = complete.into();
    value
}

fn statistics(machine: &Machine) -> Value {
    serde_json::to_value(Part::tree(machine)).expect("plain data is JSON")
}

/// A flag that SIGTERM raises: the model then ends with what it has.
fn stop_on_signal() -> Result<&'static AtomicBool, ModelError> {
    let stop = Arc::new(AtomicBool::new(false));
    signal_hook::flag::register(signal_hook::consts::SIGTERM, Arc::clone(&stop))
        .map_err(|cause| ModelError::Ring { cause })?;
    // The flag lives as long as the process, as the handler does.
    let kept: &'static Arc<AtomicBool> = Box::leak(Box::new(stop));
    Ok(kept)
}

/// Answers a program in the guest that asks for the machine's counters; the guest stands still until it has them.
struct CountersPort {
    port: File,
    counters: Counters,
    /// answered so far
    answered: u64,
}

impl CountersPort {
    fn new(descriptor: i32) -> CountersPort {
        // SAFETY: the supervisor passes a descriptor that stays open for as long as this process runs, and only we use it.
        let port = unsafe { File::from_raw_fd(descriptor) };
        CountersPort { port, counters: Counters::default(), answered: 0 }
    }

    fn look(&mut self, machine: &Machine) -> Result<(), ModelError> {
        let asked = machine.cores().iter().map(|core| core.stats.counter_reads.get()).sum();
        while self.answered < asked {
            self.answered += 1;
            let line = serde_json::to_string(&self.counters.read(machine)).expect("plain data is JSON") + "\n";
            self.port.write_all(line.as_bytes()).map_err(|cause| ModelError::Ring { cause })?;
        }
        Ok(())
    }
}

/// The summary so far, on disk about once a second, whole or not at all.
struct Partial {
    path: PathBuf,
    unfinished: PathBuf,
    written: Instant,
}

impl Partial {
    fn new(folder: &Path) -> Partial {
        let path = folder.join("summary.partial.json");
        Partial { unfinished: path.with_extension("unfinished"), path, written: Instant::now() }
    }

    fn look(&mut self, machine: &Machine) -> Result<(), ModelError> {
        if self.written.elapsed() < PARTIAL_EVERY {
            return Ok(());
        }
        self.written = Instant::now();
        let write = || {
            std::fs::write(&self.unfinished, summary(machine, false).to_string())?;
            std::fs::rename(&self.unfinished, &self.path)
        };
        write().map_err(|cause| ModelError::Unwritable { path: self.path.clone(), cause })
    }
}
