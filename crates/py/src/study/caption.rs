//! Caption in simulation: its library steers the model's mempolicy.
//!
//! ```text
//!   execution of the programs: pages placed at the share in force | settle | samples of the model's counters
//!        ^                                                                        |
//!        +---- share <- tuner (M3) <- estimator (M2) <- moving average (M1) <------+
//! ```
//! As published, it tunes when programs end; an execution here is so many samples. Pages are placed at once at its
//! beginning. Microseconds stand for the paper's seconds.

use std::num::NonZeroUsize;
use std::ops::ControlFlow;

use cxlab_caption::controller::{Controller, ControllerSpec, Objective, Step, Trigger};
use cxlab_caption::estimator::LinearModel;
use cxlab_caption::sample::{Metric, Sample};
use cxlab_caption::share::{CxlShare, ShareBounds};
use cxlab_caption::tuner::{AdaptiveSpec, AdaptiveTuner, PaperSpec, PaperTuner, Tuner};
use cxlab_caption::units::{GigabytesPerSecond, Nanoseconds, Seconds};
use cxlab_caption::window::Window;
use cxlab_kernel::Time;
use cxlab_model::ModelError;
use cxlab_model::os::{Mempolicy, Share};
use cxlab_model::study::{Interval, Session, StudySpec};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::bad;

/// The node whose share is steered, as machines name it.
const SLOW: &str = "cxl";

/// A run of Caption.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CaptionJob {
    study: StudySpec,
    mode: Mode,
    /// share of CXL memory at the beginning
    #[schemars(with = "f64")]
    start: CxlShare,
    objective: ObjectiveKind,
    /// executions of the programs, one decision each
    executions: usize,
    /// samples of an execution
    samples: usize,
    #[schemars(with = "String")]
    sample: Time,
    /// each application's throughput that makes 1; what a mix's mean is taken of
    normal: Vec<f64>,
    /// executions at fixed shares that the estimator is fitted on, for `fit`
    #[schemars(with = "Vec<f64>")]
    shares: Vec<CxlShare>,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "CaptionMode")]
pub enum Mode {
    /// only run at `shares`, and fit
    Fit,
    Paper,
    Adaptive,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
#[schemars(rename = "CaptionObjective")]
pub enum ObjectiveKind {
    Throughput,
    /// the coefficients that were published
    Published,
    /// a model that was fitted
    Model(#[schemars(with = "serde_json::Value")] LinearModel),
}

/// One execution.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "CaptionExecution")]
pub struct Execution {
    share: f64,
    /// geometric mean over the programs, of throughput over `normal`
    throughput: f64,
    /// what the tuner climbed
    performance: Option<f64>,
    verdict: Option<String>,
    #[schemars(with = "serde_json::Value")]
    averaged: Sample,
    processes: Vec<f64>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "CaptionOutcome")]
pub struct Outcome {
    executions: Vec<Execution>,
    #[schemars(with = "Option<serde_json::Value>")]
    model: Option<LinearModel>,
}

/// A listener of a run. It gets each execution as JSON when that ends, and may end the run there.
pub type Heard<'a> = dyn FnMut(&str) -> ControlFlow<()> + 'a;

/// Run a job.
pub fn caption(job: &str, heard: &mut Heard<'_>) -> Result<String, ModelError> {
    let job: CaptionJob = serde_json::from_str(job).map_err(bad)?;
    let normal = job.normal.iter().all(|throughput| throughput.is_finite() && *throughput > 0.0);
    if !normal || job.normal.len() != job.study.processes.len() || job.samples == 0 || job.sample == Time::ZERO {
        return Err(bad("normal needs a throughput above 0 for each process, and samples and sample must be above 0"));
    }
    let mut session = Session::new(&job.study)?;
    let outcome = match job.mode {
        Mode::Fit => fit(&job, &mut session, heard)?,
        Mode::Paper | Mode::Adaptive => steer(job, &mut session, heard)?,
    };
    Ok(serde_json::to_string(&outcome).expect("plain data is JSON"))
}

/// Executions at fixed shares, and the model of them.
fn fit(job: &CaptionJob, session: &mut Session, heard: &mut Heard<'_>) -> Result<Outcome, ModelError> {
    let (mut executions, mut all) = (Vec::new(), Vec::new());
    for share in &job.shares {
        place(job, session, *share)?;
        let samples = (0..job.samples).map(|_| sample(job, session)).collect::<Result<Vec<_>, _>>()?;
        if told(&mut executions, executed(*share, &samples, None), heard).is_break() {
            return Ok(Outcome { executions, model: None });
        }
        all.extend(samples.into_iter().map(|(sample, _)| sample));
    }
    let metrics = [Metric::NormIpc, Metric::L1MissLatencyNs, Metric::DdrReadLatencyNs];
    let model = LinearModel::fit(&all, &metrics, format!("simulated {}", job.study.machine)).map_err(bad)?;
    Ok(Outcome { executions, model: Some(model) })
}

fn steer(job: CaptionJob, session: &mut Session, heard: &mut Heard<'_>) -> Result<Outcome, ModelError> {
    let tuner = match job.mode {
        Mode::Paper => Tuner::Paper(PaperTuner::new(PaperSpec::starting_at(job.start).map_err(bad)?)),
        _ => {
            let spec = AdaptiveSpec { start: job.start, bounds: ShareBounds::ALL, ..AdaptiveSpec::USUAL };
            Tuner::Adaptive(AdaptiveTuner::new(spec.checked().map_err(bad)?))
        }
    };
    let objective = match &job.objective {
        ObjectiveKind::Throughput => Objective::Throughput,
        ObjectiveKind::Published => Objective::Estimate(LinearModel::published()),
        ObjectiveKind::Model(model) => Objective::Estimate(model.clone()),
    };
    let model = match &objective {
        Objective::Estimate(model) => Some(model.clone()),
        Objective::Throughput => None,
    };
    // Five samples, as published; the average runs over executions, so its first values are left out.
    let window = NonZeroUsize::new(5).expect("five is not 0");
    let spec = ControllerSpec {
        objective,
        trigger: Trigger::Completion,
        least_samples: job.samples.saturating_sub(window.get()).max(1),
        settling_samples: window.get(),
    };
    let mut controller = Controller::new(spec, Window::new(window), tuner, "the model".into());
    let mut executions = Vec::new();
    for _ in 0..job.executions {
        let share = controller.share();
        place(&job, session, share)?;
        let mut samples = Vec::new();
        let mut last: Option<Step> = None;
        for number in 1..=job.samples {
            let (mut one, interval) = sample(&job, session)?;
            one.completed = Some(u32::from(number == job.samples));
            last = Some(controller.observe(&one).map_err(bad)?);
            samples.push((one, interval));
        }
        if told(&mut executions, executed(share, &samples, last), heard).is_break() {
            break;
        }
    }
    Ok(Outcome { executions, model })
}

fn told(executions: &mut Vec<Execution>, execution: Execution, heard: &mut Heard<'_>) -> ControlFlow<()> {
    let text = serde_json::to_string(&execution).expect("plain data is JSON");
    executions.push(execution);
    heard(&text)
}

/// An execution begins: pages are placed, and the ramp passes.
fn place(job: &CaptionJob, session: &mut Session, share: CxlShare) -> Result<(), ModelError> {
    let mempolicy = mempolicy(job, share);
    for process in 0..job.study.processes.len() {
        session.place_anew(process, &mempolicy)?;
    }
    session.advance(job.study.warm)
}

/// The weights nearest to a share, in whole percent without common divisors; a node without weight is left out.
fn mempolicy(job: &CaptionJob, share: CxlShare) -> Mempolicy {
    let cxl = (share.fraction() * 100.0).round() as u32;
    let divisor = (1..=100).rev().find(|d| cxl.is_multiple_of(*d) && (100 - cxl).is_multiple_of(*d)).unwrap_or(1);
    let weight = |name: &String| if name == SLOW { cxl } else { 100 - cxl };
    let weighed = |name: &String| Share { node: name.clone(), weight: weight(name) / divisor };
    let weights = job.study.capacity.keys().map(weighed).filter(|share| share.weight > 0);
    Mempolicy::Weighted { weights: weights.collect() }
}

fn sample(job: &CaptionJob, session: &mut Session) -> Result<(Sample, Interval), ModelError> {
    let interval = session.interval(job.sample)?;
    let mut sample = Sample::at(Seconds(session.now().as_seconds()));
    sample.norm_ipc = Some(interval.norm_ipc);
    sample.ipc = Some(interval.ipc);
    sample.l1_miss_latency_ns = Some(Nanoseconds(interval.l1_miss_latency_ns));
    for (name, node) in &interval.nodes {
        let latency = node.load_latency_ns.map(Nanoseconds);
        if name == SLOW {
            sample.cxl_read_latency_ns = latency;
            sample.cxl_read_bandwidth_gb_s = Some(GigabytesPerSecond(node.read_mb_s / 1e3));
        } else {
            sample.ddr_read_latency_ns = latency;
        }
    }
    sample.throughput = Some(throughput(job, &interval));
    Ok((sample, interval))
}

/// Geometric mean of the programs' throughputs over their normal ones (MICRO'23, figure 13: Redis with DLRM).
fn throughput(job: &CaptionJob, interval: &Interval) -> f64 {
    let logs: f64 = interval.processes.iter().zip(&job.normal).map(|(p, n)| (p.work_per_second / n).ln()).sum();
    (logs / job.normal.len() as f64).exp()
}

fn executed(share: CxlShare, samples: &[(Sample, Interval)], last: Option<Step>) -> Execution {
    let mean = |of: &dyn Fn(&(Sample, Interval)) -> f64| samples.iter().map(of).sum::<f64>() / samples.len() as f64;
    let processes = samples[0].1.processes.len();
    Execution {
        share: share.fraction(),
        throughput: mean(&|(sample, _)| sample.throughput.unwrap_or(0.0)),
        performance: last.as_ref().map(|step| step.performance),
        verdict: last.as_ref().and_then(|step| step.decision).map(|decision| decision.verdict.to_string()),
        averaged: last.map_or_else(|| samples[samples.len() - 1].0.clone(), |step| step.averaged),
        processes: (0..processes).map(|p| mean(&|(_, interval)| interval.processes[p].work_per_second)).collect(),
    }
}
