use super::machine::{self, Machine};
use super::search::Search;
use super::timing::{Source, Timing, TuneOn};
use clap::{Args, ValueEnum};
use cxlab_caption::actuator::{Actuator, ControlFile, Interleave, Replacement, ReplacementSpec};
use cxlab_caption::controller::{Controller, ControllerSpec, Objective, Trigger};
use cxlab_caption::custody::Custody;
use cxlab_caption::error::{Error, Result};
use cxlab_caption::estimator::LinearModel;
use cxlab_caption::interrupt::Interrupt;
use cxlab_caption::live::Live;
use cxlab_caption::log::{Header, Log};
use cxlab_caption::mempolicy::Policy;
use cxlab_caption::place::{self, Turn};
use cxlab_caption::run::{self, End};
use cxlab_caption::sensor::{Perf, Replay, Sensor, Simulated, Stream};
use cxlab_caption::share::CxlShare;
use cxlab_caption::topology::Topology;
use cxlab_caption::tuner::{AdaptiveTuner, PaperSpec, PaperTuner, Tuner};
use cxlab_caption::window::Window;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::process::Child;
use std::time::Duration;

/// The paper samples once a second (section 6.1).
const PUBLISHED_INTERVAL: Duration = Duration::from_secs(1);

/// Watch the machine and steer the share of new pages that go to CXL memory, until ctrl-C.
///
/// The old weights come back on exit, ctrl-C and crash.
#[derive(Args)]
pub struct Run {
    /// Published rules and constants (ratio 10:x), a search that knows its noise, or each of --shares once
    #[arg(long, value_enum, default_value_t = Mode::Adaptive)]
    mode: Mode,

    /// Figure to raise: the model's estimate, or the samples' own throughput
    #[arg(long, value_enum, default_value_t = Climb::Estimate)]
    objective: Climb,

    /// Linear model made by `fit` [default: the published one, of a Sapphire Rapids]
    #[arg(long, value_name = "FILE", conflicts_with = "objective")]
    model: Option<PathBuf>,

    #[command(flatten)]
    source: Source,

    #[command(flatten)]
    timing: Timing,

    #[command(flatten)]
    search: Search,

    #[command(flatten)]
    machine: Machine,

    /// Steer one application, started with the shim preloaded, through this file
    #[arg(long, value_name = "FILE")]
    control: Option<PathBuf>,

    /// Move the resident pages of this process [default, with --move-rate: of the program]
    #[arg(long, requires = "move_rate", conflicts_with = "command")]
    pid: Option<u32>,

    /// Also move resident pages, as fast as this: 100MB/s
    #[arg(long, value_parser = machine::rate, value_name = "RATE")]
    move_rate: Option<u64>,

    /// Print what would be written; write nothing
    #[arg(long)]
    dry_run: bool,

    /// JSONL record of every sample and decision
    #[arg(long, value_name = "FILE")]
    log: Option<PathBuf>,

    /// A program to start under weighted interleave; the run ends with it
    #[arg(last = true, conflicts_with_all = ["dry_run", "control"])]
    command: Vec<String>,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum Mode {
    Paper,
    Adaptive,
    Sweep,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum Climb {
    Estimate,
    Throughput,
}

impl Run {
    pub fn execute(self) -> Result<u8> {
        let topology = self.machine.topology(self.dry_run)?;
        self.check_target()?;
        let tuner = self.tuner(&topology)?;
        let objective = self.objective()?;
        let sensor = self.sensor()?;
        let interrupt = Interrupt::install()?;
        let log = self.open_log(&sensor, &objective, &topology)?;
        let (actuator, custody) = self.actuator(&topology)?;
        let controller =
            Controller::new(self.controller_spec(objective), Window::new(self.window()), tuner, sensor.name());
        let program = self.start_program(&topology)?;
        let replacement = match self.replacement(&topology, program.as_ref()) {
            Ok(replacement) => replacement,
            Err(refused) => {
                finish(program);
                return Err(refused);
            }
        };
        let live = Live::on_terminal();
        let mut run = run::Run {
            sensor,
            controller,
            actuator,
            replacement,
            log,
            live,
            dry: self.dry_run,
            stands_for: (self.mode == Mode::Paper || self.source.is_simulated()).then_some(PUBLISHED_INTERVAL),
            delay: self.timing.delay,
            most_samples: self.timing.most_samples.map(NonZeroUsize::get),
            program,
        };
        let outcome = run.go(&interrupt);
        let code = finish(run.program.take());
        let restored = custody.map_or(Ok(None), Custody::end);
        let summary = outcome?;
        self.report(&summary);
        if restored?.is_some() {
            machine::say("the old weights are restored");
        }
        Ok(if summary.end == End::Measured { 0 } else { code })
    }

    fn tuner(&self, topology: &Topology) -> Result<Tuner> {
        match self.mode {
            Mode::Paper => {
                self.search.refuse_adaptive()?;
                self.search.refuse_shares()?;
                let start = self.search.start;
                let spec = start.map_or(Ok(PaperSpec::PUBLISHED), PaperSpec::starting_at)?;
                Ok(Tuner::Paper(PaperTuner::new(spec)))
            }
            Mode::Adaptive => {
                self.search.refuse_shares()?;
                let start = match self.search.start {
                    None => self.share_in_force(topology)?,
                    given => given,
                };
                Ok(Tuner::Adaptive(AdaptiveTuner::new(self.search.adaptive(start)?)))
            }
            Mode::Sweep => {
                self.search.refuse_adaptive()?;
                self.search.sweep().map(Tuner::Sweep)
            }
        }
    }

    /// None where nothing is in force yet: one application's control file, or a dry run.
    fn share_in_force(&self, topology: &Topology) -> Result<Option<CxlShare>> {
        if self.dry_run || self.control.is_some() {
            return Ok(None);
        }
        let interleave = Interleave::new(&self.machine.root(), topology.clone(), false)?;
        interleave.share_in_force().map(Some)
    }

    fn objective(&self) -> Result<Objective> {
        match (self.objective, &self.model) {
            (Climb::Throughput, _) if self.mode == Mode::Paper => Err(Error::Parameter {
                parameter: "--objective",
                given: "throughput".into(),
                valid: "estimate with --mode paper, whose dead band and reset are in the model's unit",
            }),
            (Climb::Throughput, _) => Ok(Objective::Throughput),
            (Climb::Estimate, Some(path)) => Ok(Objective::Estimate(LinearModel::load(path)?)),
            (Climb::Estimate, None) => Ok(Objective::Estimate(LinearModel::published())),
        }
    }

    fn sensor(&self) -> Result<Sensor> {
        if let Some(port) = &self.source.counters {
            let (interval, patience) = (self.timing.sample_interval, self.source.stream_patience);
            return Ok(Sensor::Simulated(Simulated::open(port, interval, patience)?));
        }
        match (&self.source.replay, &self.source.stream) {
            (Some(path), _) => Ok(Sensor::Replay(Replay::open(path)?)),
            (None, Some(path)) => Ok(Sensor::Stream(Stream::open(path, self.source.stream_patience)?)),
            (None, None) if self.timing.tune_on == TuneOn::Completion => Err(Error::Parameter {
                parameter: "--tune-on",
                given: "completion".into(),
                valid: "interval with hardware counters, which do not see programs end",
            }),
            (None, None) => Ok(Sensor::Perf(Box::new(Perf::open(&self.machine.root(), self.timing.sample_interval)?))),
        }
    }

    /// The published counts with --mode paper: its artifact tunes on more than 20 samples.
    fn controller_spec(&self, objective: Objective) -> ControllerSpec {
        let (least_samples, settling_samples) = match self.mode {
            Mode::Paper => (21, 0),
            Mode::Adaptive | Mode::Sweep => (10, 2),
        };
        ControllerSpec {
            objective,
            trigger: match self.timing.tune_on {
                TuneOn::Interval => Trigger::Every(self.timing.tune_interval.unwrap_or_default()),
                TuneOn::Completion => Trigger::Completion,
            },
            least_samples: self.timing.least_samples.map_or(least_samples, NonZeroUsize::get),
            settling_samples: self.timing.settling_samples.unwrap_or(settling_samples),
        }
    }

    fn window(&self) -> NonZeroUsize {
        let usual = match self.mode {
            Mode::Paper => 5,
            Mode::Adaptive | Mode::Sweep => 1,
        };
        self.timing.window.unwrap_or(NonZeroUsize::new(usual).expect("not 0"))
    }

    /// The system's weights need custody; one application's control file does not.
    fn actuator(&self, topology: &Topology) -> Result<(Actuator, Option<Custody>)> {
        if let Some(path) = &self.control {
            return Ok((Actuator::ControlFile(ControlFile::open(path, topology, self.dry_run)?), None));
        }
        let root = self.machine.root();
        let interleave = Interleave::new(&root, topology.clone(), self.dry_run)?;
        if self.dry_run {
            return Ok((Actuator::Interleave(interleave), None));
        }
        let (custody, left_behind) = Custody::begin(&root, &machine::this_program(), || interleave.current())?;
        if let Some(journal) = left_behind {
            machine::say(&format!("process {} had ended without restoring the weights; restored", journal.process));
        }
        Ok((Actuator::Interleave(interleave), Some(custody)))
    }

    /// A rate without a process would move nothing.
    fn check_target(&self) -> Result<()> {
        match self.move_rate {
            Some(rate) if self.pid.is_none() && self.command.is_empty() => Err(Error::Parameter {
                parameter: "--move-rate",
                given: format!("{rate} B/s"),
                valid: "with --pid PID, or with a program to start (-- PROGRAM)",
            }),
            _ => Ok(()),
        }
    }

    fn replacement(&self, topology: &Topology, program: Option<&Child>) -> Result<Option<Replacement>> {
        let (Some(pid), Some(rate), false) = (self.pid.or(program.map(Child::id)), self.move_rate, self.dry_run) else {
            return Ok(None);
        };
        Replacement::new(ReplacementSpec { pid, rate }, self.machine.root(), topology.clone()).map(Some)
    }

    fn open_log(&self, sensor: &Sensor, objective: &Objective, topology: &Topology) -> Result<Option<Log>> {
        let Some(path) = &self.log else {
            return Ok(None);
        };
        let header = Header {
            mode: match self.mode {
                Mode::Paper => "paper",
                Mode::Adaptive => "adaptive",
                Mode::Sweep => "sweep",
            },
            sensor: sensor.name(),
            objective: match objective {
                Objective::Estimate(model) => model.provenance.clone(),
                Objective::Throughput => "throughput".into(),
            },
            topology: topology.to_string(),
            dry_run: self.dry_run,
        };
        Log::create(path, &header).map(Some)
    }

    fn start_program(&self, topology: &Topology) -> Result<Option<Child>> {
        if self.command.is_empty() {
            return Ok(None);
        }
        Policy::WeightedInterleave.set(&topology.all())?;
        // A simulated machine has one processor: the kernel's threads that serve us must not wait for the program there.
        let turn = if self.source.is_simulated() { Turn::AfterAllOthers } else { Turn::Usual };
        place::spawn(&self.command, turn).map(Some)
    }

    fn report(&self, summary: &run::Summary) {
        let moved = match summary.moved_pages {
            0 => String::new(),
            pages => format!(", {pages} resident pages moved"),
        };
        machine::say(&format!(
            "{} samples, {} decisions, last {} ({}){moved}",
            summary.samples, summary.decisions, summary.last.share, summary.last.placement
        ));
    }
}

/// The run is over: so is its program. Its exit code is ours.
fn finish(program: Option<Child>) -> u8 {
    let Some(mut program) = program else { return 0 };
    if !matches!(program.try_wait(), Ok(Some(_))) {
        place::forward(&program, signal_hook::consts::SIGTERM);
    }
    program.wait().map_or(1, place::exit_code)
}
