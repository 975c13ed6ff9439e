//! Replaying a changed stream in each way that a trace is read.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::LazyLock;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use cxlab_access::Schedule;
use cxlab_access::trace::{Entry, TraceWriter};
use cxlab_kernel::Bytes;
use cxlab_model::fact::Sourced;
use cxlab_model::home::AddressRange;
use cxlab_model::session::{Answers, Guest, PageMap, Placed, Policy, RecordSource, Replay, Sampled};
use cxlab_model::summary::Summary;
use cxlab_model::{Machine, MachineSpec, ModelError};

use crate::mutation::Mutation;
use crate::stream::{Kind, entries};

/// A whole stream takes a hundredth of this, with all checks of a debug build.
const LIMIT: Duration = Duration::from_secs(20);
const RANGES: [AddressRange; 2] =
    [AddressRange { start: 0, length: 1 << 30, node: 0 }, AddressRange { start: 1 << 32, length: 1 << 30, node: 1 }];

/// The end of a trace's replay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    Read,
    Refused(String),
    Panicked,
    Hangs,
}

impl Verdict {
    /// An error is good when it has a code and does not ask to report a bug of the model.
    pub fn is_good(&self) -> bool {
        match self {
            Verdict::Read => true,
            Verdict::Refused(message) => message.split(':').next().is_some_and(|code| code.len() == 6),
            Verdict::Panicked | Verdict::Hangs => false,
        }
    }
}

/// The ways in which a trace is read, and what became of it in each.
pub fn judge(kind: Kind, mutations: &[Mutation]) -> Vec<(&'static str, Verdict)> {
    let mut stream = entries(kind);
    mutations.iter().for_each(|mutation| mutation.change(&mut stream));
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("changed.trace");
    write(&path, &stream);
    let mut ways: Vec<(&'static str, Way)> = vec![("replay", replay), ("placed anew", placed)];
    // A recording with a disk is refused there (DEVIATIONS, GST-10).
    if matches!(kind, Kind::One) {
        ways.push(("sampled", sampled));
    }
    ways.into_iter().map(|(name, way)| (name, within_limit(way, kind, &path))).collect()
}

type Way = fn(Kind, &Path) -> Result<(), ModelError>;

fn write(path: &Path, entries: &[Entry]) {
    let mut writer = TraceWriter::new(std::fs::File::create(path).unwrap(), path, "{}").unwrap();
    for entry in entries {
        match entry {
            Entry::Words(words) => writer.words(*words).unwrap(),
            Entry::Answer(ps) => writer.answer(*ps).unwrap(),
        }
    }
    writer.finish(true).unwrap();
}

fn within_limit(way: Way, kind: Kind, path: &Path) -> Verdict {
    let (told, verdict) = channel();
    let path = path.to_path_buf();
    thread::spawn(move || {
        let ended = catch_unwind(AssertUnwindSafe(|| way(kind, &path)));
        let verdict = match ended {
            Ok(Ok(())) => Verdict::Read,
            Ok(Err(error)) => Verdict::Refused(error.to_string()),
            Err(_) => Verdict::Panicked,
        };
        // Nobody listens any more to one that came too late.
        let _ = told.send(verdict);
    });
    match verdict.recv_timeout(LIMIT) {
        Ok(verdict) => verdict,
        Err(RecvTimeoutError::Timeout) => Verdict::Hangs,
        Err(RecvTimeoutError::Disconnected) => Verdict::Panicked,
    }
}

/// A machine with DRAM and CXL memory, and few tags: it is built for each trace.
fn spec() -> MachineSpec {
    static SPEC: LazyLock<MachineSpec> = LazyLock::new(|| {
        let mut spec = MachineSpec::load("8468v-asic").expect("a machine that ships");
        let row = u64::from(*spec.host.llc.ways) * 64;
        spec.host.llc.slice_capacity = Sourced::new(Bytes::new(16 * row), "16 sets: few tags");
        spec
    });
    SPEC.clone()
}

fn run<S: RecordSource>(kind: Kind, source: S) -> Result<Machine, ModelError> {
    let mut machine = Machine::new(spec(), kind.vcpus(), &RANGES)?;
    let mut guest = Guest::new(source, kind.vcpus());
    guest.run(&mut machine, |_, _| Ok(()))?;
    guest.sampled(&machine);
    Ok(machine)
}

fn replay(kind: Kind, path: &Path) -> Result<(), ModelError> {
    let machine = run(kind, Replay::open(path, Answers::MayDiffer)?)?;
    serde_json::to_string(&Summary::of(&machine)).expect("plain data is JSON");
    Ok(())
}

fn placed(kind: Kind, path: &Path) -> Result<(), ModelError> {
    let map = match PageMap::read(path, &Policy(vec![(0, 1), (1, 2)]), &RANGES) {
        // The streams touch both nodes.
        Err(ModelError::Inconsistent { .. }) => PageMap::default(),
        map => map?,
    };
    run(kind, Placed::new(Replay::open(path, Answers::MayDiffer)?, map)).map(drop)
}

fn sampled(kind: Kind, path: &Path) -> Result<(), ModelError> {
    run(kind, Sampled::open(path, Schedule::new(6, 4, 20, 1).expect("a schedule"))?).map(drop)
}
