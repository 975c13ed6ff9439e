//! Tells how far a run has come while the model works. A replay writes it into a pipe, a live run into its partial
//! summary.

use std::fs::File;
use std::io::Write;
use std::os::fd::FromRawFd;
use std::time::{Duration, Instant};

use cxlab_model::Machine;
use cxlab_model::session::{Guest, RecordSource};
use cxlab_model::summary::{Instructions, Summary};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Progress of a run.
#[derive(Serialize, JsonSchema)]
pub struct SoFar {
    /// executed, with and without time
    instructions: Instructions,
    /// windows stand for the whole
    sampled: bool,
    /// of a sampled run as its windows tell it; absent if instructions were executed without time and no window tells of
    /// them `[s]`
    #[serde(skip_serializing_if = "Option::is_none")]
    simulated_seconds: Option<f64>,
    /// how much of the trace was read, 0 to 1; absent of a live guest, whose end nobody knows
    #[serde(skip_serializing_if = "Option::is_none")]
    trace_read: Option<f64>,
}

impl SoFar {
    pub fn of<S: RecordSource>(machine: &Machine, guest: &Guest<S>) -> SoFar {
        let Summary { mut instructions, .. } = Summary::of(machine);
        let [user, kernel] = guest.warmed();
        instructions.user += user;
        instructions.kernel += kernel;
        SoFar {
            instructions,
            sampled: guest.is_sampled(),
            simulated_seconds: guest.elapsed(machine).map(|elapsed| elapsed.as_seconds()),
            trace_read: guest.source().share_read(),
        }
    }
}

/// Where a replay tells how far it has come.
#[derive(Deserialize, JsonSchema)]
pub struct ProgressPipe {
    /// descriptor of a pipe, inherited, for lines of `SoFar`; it never blocks
    fd: i32,
    /// between two lines `[ms of the host]`
    every_ms: u32,
}

/// The pipe to whoever waits, and when it was last written to.
pub struct Told {
    pipe: File,
    every: Duration,
    at: Instant,
}

impl Told {
    pub fn new(asked: &ProgressPipe) -> Told {
        // SAFETY: the supervisor passes a descriptor that stays open for as long as this process runs, and only we use it.
        let pipe = unsafe { File::from_raw_fd(asked.fd) };
        Told { pipe, every: Duration::from_millis(asked.every_ms.into()), at: Instant::now() }
    }

    /// Tell how far the replay has come, if it is time to.
    pub fn look<S: RecordSource>(&mut self, machine: &Machine, guest: &Guest<S>) {
        if self.at.elapsed() >= self.every {
            self.at = Instant::now();
            self.tell(&SoFar::of(machine, guest));
        }
    }

    /// A line is shorter than what a pipe takes at once (pipe(7), PIPE_BUF).
    pub fn tell(&mut self, so_far: &SoFar) {
        let line = serde_json::to_string(so_far).expect("plain data is JSON") + "\n";
        // A pipe that is full, or that nobody reads any more, costs a line of progress and no result.
        let _ = self.pipe.write(line.as_bytes());
    }
}
