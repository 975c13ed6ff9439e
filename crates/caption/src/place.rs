//! Starts one program at a static share: `cxlab-caption place 3:1 -- PROGRAM`.
//!
//! ```text
//!   1:0, 0 %    MPOL_BIND on the DDR nodes         no privilege
//!   3:1         weights in sysfs (custody holds the old ones), then MPOL_WEIGHTED_INTERLEAVE; the program inherits it
//!   0:1, 100 %  MPOL_BIND on the CXL nodes         no privilege
//! ```
//! The weights are the system's: while the program runs, every other program under weighted interleave has them too.

use crate::actuator::Interleave;
use crate::custody::Custody;
use crate::error::{Error, Result};
use crate::mempolicy::Policy;
use crate::root::Root;
use crate::topology::Topology;
use crate::weights::{Placement, Weights};
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::io::IsTerminal;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus};

pub struct Place {
    pub root: Root,
    pub topology: Topology,
    pub placement: Placement,
    /// This program, which guards the weights.
    pub guardian: PathBuf,
}

impl Place {
    /// Runs the program to its end; returns the exit code that stands for it.
    pub fn run(&self, command: &[String]) -> Result<u8> {
        let custody = self.prepare()?;
        // Before the program is there: no end may be missed.
        let mut signals = Signals::new([SIGCHLD, SIGINT, SIGTERM, SIGHUP]).map_err(Error::io("handle", "signals"))?;
        let mut program = spawn(command, Turn::Usual)?;
        let status = wait(&mut signals, &mut program)?;
        custody.map_or(Ok(None), Custody::end)?;
        Ok(exit_code(status))
    }

    /// Describes what `run` would do.
    pub fn describe(&self) -> Result<Vec<String>> {
        let (policy, nodes) = self.policy();
        let writes = match self.placement {
            Placement::Interleaved(weights) => {
                Interleave::new(&self.root, self.topology.clone(), true)?.put(weights)?.writes
            }
            Placement::DdrOnly | Placement::CxlOnly => Vec::new(),
        };
        let set = format!("would set {policy:?} on {nodes}");
        Ok(writes.into_iter().map(|line| format!("would write {line}")).chain([set]).collect())
    }

    fn policy(&self) -> (Policy, crate::topology::NodeSet) {
        match self.placement {
            Placement::DdrOnly => (Policy::Bind, self.topology.ddr.clone()),
            Placement::CxlOnly => (Policy::Bind, self.topology.cxl.clone()),
            Placement::Interleaved(_) => (Policy::WeightedInterleave, self.topology.all()),
        }
    }

    /// Weights first, then this process's policy, which the program inherits.
    fn prepare(&self) -> Result<Option<Custody>> {
        let custody = match self.placement {
            Placement::Interleaved(weights) => self.put(weights)?,
            Placement::DdrOnly | Placement::CxlOnly => None,
        };
        let (policy, nodes) = self.policy();
        policy.set(&nodes)?;
        Ok(custody)
    }

    /// Takes custody and writes, unless the weights already stand.
    fn put(&self, weights: Weights) -> Result<Option<Custody>> {
        let mut interleave = Interleave::new(&self.root, self.topology.clone(), false)?;
        if interleave.stands(weights)? {
            return Ok(None);
        }
        let (custody, _) = Custody::begin(&self.root, &self.guardian, || interleave.current())?;
        interleave.put(weights)?;
        Ok(Some(custody))
    }
}

/// When a program is to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// As every program.
    Usual,
    /// When nothing else wants the processor (SCHED_IDLE, man 7 sched).
    AfterAllOthers,
}

pub fn spawn(command: &[String], turn: Turn) -> Result<Child> {
    let (program, arguments) = command.split_first().expect("the command line requires a program");
    let mut started = Command::new(program);
    if turn == Turn::AfterAllOthers {
        // SAFETY: between fork and exec, one system call that reads a structure of plain integers.
        unsafe { started.pre_exec(stand_back) };
    }
    started.args(arguments).spawn().map_err(|source| Error::Program { program: program.clone(), source })
}

fn stand_back() -> std::io::Result<()> {
    // SAFETY: a structure of plain integers, of this process; the call reads it.
    let code = unsafe {
        let parameters: libc::sched_param = std::mem::zeroed();
        libc::sched_setscheduler(0, libc::SCHED_IDLE, &raw const parameters)
    };
    if code == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) }
}

/// The program's end; signals that ask us to stop are the program's to answer.
fn wait(signals: &mut Signals, program: &mut Child) -> Result<ExitStatus> {
    loop {
        if let Some(status) = program.try_wait().map_err(Error::io("wait for", "the program"))? {
            return Ok(status);
        }
        for signal in signals.wait() {
            // ctrl-C on a terminal reaches the program by itself.
            let has_it = signal == SIGINT && std::io::stdin().is_terminal();
            if signal != SIGCHLD && !has_it {
                forward(program, signal);
            }
        }
    }
}

pub fn forward(program: &Child, signal: i32) {
    if let (Some(pid), Some(signal)) =
        (rustix::process::Pid::from_raw(program.id() as i32), rustix::process::Signal::from_named_raw(signal))
    {
        // It may have ended this instant; the next wait says so.
        let _ = rustix::process::kill_process(pid, signal);
    }
}

/// As a shell has it: 128 + signal.
pub fn exit_code(status: ExitStatus) -> u8 {
    let code = status.code().or(status.signal().map(|signal| 128 + signal));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1)
}
