//! A job: run the model on a stream of records, keep a partial summary on disk, give the whole one back.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write;
use std::os::fd::{BorrowedFd, FromRawFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Release;
use std::time::{Duration, Instant};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use cxlab_access::{BEGINNING, Consumer, Peer, Ring, Schedule};
use cxlab_kernel::Time;
use cxlab_model::check::Checked;
use cxlab_model::home::{AddressRange, Region};
use cxlab_model::machine::{Retraining, Timeline};
use cxlab_model::session::{Answers, Guest, Live, PageMap, Placed, Policy, RecordSource, Replay, Sampled};
use cxlab_model::summary::{self, Counters, Part, Sampling, Series, Summary};
use cxlab_model::{Machine, MachineSpec, ModelError};

use crate::so_far::{ProgressPipe, SoFar, Told};

/// Between two partial summaries.
const PARTIAL_EVERY: Duration = Duration::from_secs(1);

/// Job of the model, as the supervisor asks for it.
#[derive(Deserialize, JsonSchema)]
pub struct LiveJob {
    /// descriptor of the ring, inherited
    ring_fd: i32,
    /// descriptor of a pipe whose writing end only QEMU has, inherited
    qemu_fd: i32,
    /// vCPUs, a core for each
    cpus: u16,
    machine: String,
    /// settings of the command line, each `KEY=VALUE`, that the machine is changed by
    #[serde(default)]
    set: Vec<String>,
    nodes: Vec<NodeRanges>,
    /// CXL regions that the guest's Linux committed
    regions: Vec<Region>,
    /// links that are trained anew
    retrainings: Vec<Retraining>,
    /// the run's folder: the partial summary is kept there
    out: PathBuf,
    /// where to record the stream, if it is wanted
    record: Option<Output>,
    timeline: Option<Window>,
    /// what waits for memory, by instruction and data
    #[serde(default)]
    profile: Option<Output>,
    /// descriptor of the counters' port, inherited, if the guest has one
    counters_fd: Option<i32>,
    /// have what the parts do checked
    #[serde(default)]
    check: bool,
}

/// Which instructions of a replayed trace are followed in detail.
#[derive(Deserialize, JsonSchema)]
#[schemars(rename = "SampleJob")]
pub struct Sample {
    detail: u64,
    warm: u64,
    /// distance of the windows; absent where `most` says how many there are
    every: Option<u64>,
    /// windows at most: the distance doubles where there would be more
    most: Option<u64>,
    seed: u64,
}

impl Sample {
    fn schedule(&self) -> Result<Schedule, ModelError> {
        let inconsistent = |cause| ModelError::Inconsistent { file: "--sample".into(), cause };
        match (self.every, self.most) {
            (Some(every), None) => Schedule::new(self.detail, self.warm, every, self.seed),
            (None, Some(most)) => Schedule::thinning(self.detail, self.warm, most, self.seed),
            _ => Err("either `every` or `most`".into()),
        }
        .map(|schedule| schedule.after(BEGINNING))
        .map_err(inconsistent)
    }
}

/// A file that the supervisor has opened for us, gives its name, or drops.
#[derive(Deserialize, JsonSchema)]
#[schemars(rename = "OutputFile")]
pub struct Output {
    /// inherited
    fd: i32,
    /// for messages
    path: PathBuf,
}

impl Output {
    fn file(&self) -> File {
        // SAFETY: the supervisor passes a descriptor for this use alone, and each output is written once.
        unsafe { File::from_raw_fd(self.fd) }
    }

    fn write_json(&self, document: Option<Value>) -> Result<(), ModelError> {
        let Some(document) = document else { return Ok(()) };
        let unwritable = |cause| ModelError::Unwritable { path: self.path.clone(), cause };
        self.file().write_all(document.to_string().as_bytes()).map_err(unwritable)
    }
}

/// Window of a timeline, and the file that it is written to.
#[derive(Deserialize, JsonSchema)]
#[schemars(rename = "TimelineJob")]
pub struct Window {
    output: Output,
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
        self.output.write_json(machine.timeline().map(|timeline| timeline.to_json(machine.spec())))
    }
}

#[derive(Deserialize, Serialize, JsonSchema)]
pub struct NodeRanges {
    node: u16,
    /// (first byte, bytes)
    ranges: Vec<(u64, u64)>,
}

/// Facts in a trace about the run that it was recorded from.
#[derive(Deserialize, Serialize, JsonSchema)]
pub struct Recorded {
    machine: String,
    /// settings of the command line, each `KEY=VALUE`, that the machine is changed by
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    set: Vec<String>,
    cpus: u16,
    nodes: Vec<NodeRanges>,
    regions: Vec<Region>,
    retrainings: Vec<Retraining>,
}

#[derive(Deserialize, JsonSchema)]
pub struct ReplayJob {
    trace: PathBuf,
    /// another machine than the recorded one
    machine: Option<String>,
    /// settings of the command line, on top of the recorded ones where the machine is the recorded one
    #[serde(default)]
    set: Vec<String>,
    timeline: Option<Window>,
    sample: Option<Sample>,
    /// where the program's pages go, by names of nodes and pages in a row, if not where they were recorded
    placement: Option<Vec<(String, u32)>>,
    /// what waits for memory, by instruction and data
    #[serde(default)]
    profile: Option<Output>,
    #[serde(default)]
    progress: Option<ProgressPipe>,
    /// have what the parts do checked
    #[serde(default)]
    check: bool,
}

/// Result of a run.
#[derive(Serialize, JsonSchema)]
pub struct RunResult {
    #[serde(flatten)]
    summary: Summary,
    /// whether the stream of records came to its own end
    complete: bool,
    /// absent where every instruction was followed in detail
    #[serde(skip_serializing_if = "Option::is_none")]
    sampling: Option<Sampling>,
    /// counters over simulated time, a list a column; absent in a replay
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<BTreeMap<String, Vec<f64>>>")]
    series: Option<Value>,
    /// every statistic; absent in a partial summary
    #[serde(skip_serializing_if = "Option::is_none")]
    statistics: Option<Part>,
    /// answers that the guest was given, compared with the recorded ones; absent where they may differ in number
    #[serde(skip_serializing_if = "Option::is_none")]
    answers_compared: Option<u64>,
    /// what was checked, if anything was; a broken rule is an error
    #[serde(skip_serializing_if = "Option::is_none")]
    checked: Option<Checked>,
}

impl RunResult {
    /// The machine's summary, or the one that its samples tell.
    fn of(sampled: Option<(Summary, Sampling)>, machine: &Machine, complete: bool) -> RunResult {
        let (summary, sampling) = match sampled {
            Some((summary, sampling)) => (summary, Some(sampling)),
            None => (Summary::of(machine), None),
        };
        let (series, statistics, answers_compared, checked) = (None, None, None, None);
        RunResult { summary, complete, sampling, series, statistics, answers_compared, checked }
    }

    fn to_json(&self) -> String {
        serde_json::to_string(self).expect("plain data is JSON")
    }
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
    // SAFETY: as above, and it is taken once.
    let guest = unsafe { Peer::inherited(job.qemu_fd) };
    let spec = MachineSpec::load_with(&job.machine, &job.set)?;
    let mut machine = Machine::with_regions(spec, job.cpus, &ranges(&job.nodes), &job.regions)?;
    if job.check {
        machine.keep_checks();
    }
    job.retrainings.iter().try_for_each(|retraining| machine.retrain(*retraining))?;
    let timeline = job.timeline;
    timeline.iter().try_for_each(|window| window.keep(&mut machine))?;
    let profile = job.profile;
    if profile.is_some() {
        machine.keep_profile();
    }
    consumer.header().consumer_attached.store(1, Release);
    let mut live = Live::new(consumer, guest, stop);
    if let Some(output) = &job.record {
        let (file, path) = (output.file(), output.path.clone());
        let LiveJob { machine, set, cpus, nodes, regions, retrainings, .. } = job;
        let recorded = Recorded { machine, set, cpus, nodes, regions, retrainings };
        let description = serde_json::to_string(&recorded).expect("plain data is JSON");
        live.record(file, &path, &description)?;
    }
    let mut partial = Partial::new(&job.out);
    let mut series = Series::new(&machine);
    let mut counters = job.counters_fd.map(CountersPort::new);
    let mut guest = Guest::new(live, job.cpus);
    guest.run(&mut machine, |machine, guest| {
        series.look(machine);
        counters.as_mut().map_or(Ok(()), |counters| counters.look(machine))?;
        partial.look(machine, guest)
    })?;
    let sampled = guest.sampled(&machine);
    if let Some(output) = &profile {
        output.write_json(summary::profile(&machine, guest.blocks()))?;
    }
    let live = guest.into_source();
    let cut_short = live.was_cut_short();
    // The supervisor drops the trace of a run that was cut short.
    live.finish()?;
    timeline.iter().try_for_each(|window| window.write(&machine))?;
    let mut whole = RunResult::of(sampled, &machine, !cut_short);
    whole.series = Some(series.to_json());
    whole.statistics = Some(Part::tree(&machine));
    whole.checked = machine.finish_checks()?;
    Ok(whole.to_json())
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
        let cut_short = source.was_cut_short();
        let (_, mut whole) = replay_from(source, &recorded, &job)?;
        whole.complete = !cut_short;
        return Ok(whole.to_json());
    }
    let same = job.machine.is_none() && job.set.is_empty() && job.placement.is_none();
    let source = Replay::open(&job.trace, if same { Answers::MustAgree } else { Answers::MayDiffer })?;
    let recorded = recorded(source.description())?;
    let (source, mut whole) = replay_from(source, &recorded, &job)?;
    whole.complete = !source.was_cut_short();
    whole.answers_compared = Some(source.compared());
    Ok(whole.to_json())
}

fn recorded(description: &str) -> Result<Recorded, ModelError> {
    serde_json::from_str(description).map_err(|error| bad_job(&error))
}

/// The source when all has been read, and the summary.
fn replay_from<S: RecordSource>(source: S, recorded: &Recorded, job: &ReplayJob) -> Result<(S, RunResult), ModelError> {
    let spec = match &job.machine {
        Some(other) => MachineSpec::load_with(other, &job.set)?,
        None => MachineSpec::load_with(&recorded.machine, &[recorded.set.as_slice(), &job.set].concat())?,
    };
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
) -> Result<(S, RunResult), ModelError> {
    let mut machine = Machine::with_regions(spec, recorded.cpus, &ranges(&recorded.nodes), &recorded.regions)?;
    if job.check {
        machine.keep_checks();
    }
    recorded.retrainings.iter().try_for_each(|retraining| machine.retrain(*retraining))?;
    job.timeline.iter().try_for_each(|window| window.keep(&mut machine))?;
    if job.profile.is_some() {
        machine.keep_profile();
    }
    let mut guest = Guest::new(source, recorded.cpus);
    let mut told = job.progress.as_ref().map(Told::new);
    if let Some(told) = &mut told {
        told.tell(&SoFar::of(&machine, &guest));
    }
    guest.run(&mut machine, |machine, guest| {
        told.iter_mut().for_each(|told| told.look(machine, guest));
        Ok(())
    })?;
    let sampled = guest.sampled(&machine);
    if let Some(output) = &job.profile {
        if sampled.is_some() {
            let cause = "was recorded with --sample: between windows no calls are seen, so a profile would name wrong \
                         callers; record without --sample";
            return Err(ModelError::Inconsistent { file: job.trace.display().to_string(), cause: cause.into() });
        }
        output.write_json(summary::profile(&machine, guest.blocks()))?;
    }
    job.timeline.iter().try_for_each(|window| window.write(&machine))?;
    let mut whole = RunResult::of(sampled, &machine, true);
    whole.statistics = Some(Part::tree(&machine));
    whole.checked = machine.finish_checks()?;
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

/// A summary of a run that goes on.
#[derive(Serialize)]
struct PartialSummary {
    #[serde(flatten)]
    result: RunResult,
    so_far: SoFar,
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

    fn look<S: RecordSource>(&mut self, machine: &Machine, guest: &Guest<S>) -> Result<(), ModelError> {
        if self.written.elapsed() < PARTIAL_EVERY {
            return Ok(());
        }
        self.written = Instant::now();
        let write = || {
            let so_far = SoFar::of(machine, guest);
            let summary = PartialSummary { result: RunResult::of(None, machine, false), so_far };
            std::fs::write(&self.unfinished, serde_json::to_vec(&summary)?)?;
            std::fs::rename(&self.unfinished, &self.path)
        };
        write().map_err(|cause| {
            // A full disk leaves a part of it, which is nobody's result.
            let _ = std::fs::remove_file(&self.unfinished);
            ModelError::Unwritable { path: self.path.clone(), cause }
        })
    }
}
