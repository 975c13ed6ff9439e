//! The program: a child that sets itself up, waits for the word, executes the start marker, and then execve.
//!
//! ```text
//!   init    fork ........ pumps, prime ..... go ---- waitpid == MARKER end, kill orphans
//!   child        session, stdio, folder,      | MARKER start, execve -> program
//!                identity, memory policy ---->|
//! ```
//!
//! Fork comes before init has threads, so the child may allocate.

use std::convert::Infallible;
use std::ffi::{CString, OsStr};
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;

use nix::errno::Errno;
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::sys::signal::{SigHandler, Signal, kill, signal};
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::{
    AccessFlags, ForkResult, Gid, Pid, Uid, access, chdir, dup2_stderr, dup2_stdin, dup2_stdout, execve, fork, pipe2,
    setgid, setgroups, setsid, setuid,
};

use crate::error::{Doing, Result};
use crate::placement::MemoryPolicy;
use crate::protocol::{ByteString, Run, Status, Step};
use crate::terminal;
use cxlab_marker::{PROGRAM_END, PROGRAM_START, marker};

/// Hard limit of open files, as systemd sets it: programs of the host expect to be able to raise theirs.
const OPEN_FILES: u64 = 1 << 20;

/// Descriptors 0, 1 and 2 of the program.
pub struct Stdio {
    pub stdin: OwnedFd,
    pub stdout: OwnedFd,
    pub stderr: OwnedFd,
}

/// Forked, set up, and waiting for `start`.
pub struct Program {
    pid: Pid,
    go: File,
    /// step and errno, should the program not come to be
    failure: File,
}

impl Program {
    pub fn prepare(run: &Run, stdio: Stdio, policy: MemoryPolicy) -> Result<Self> {
        let image = Image::new(run);
        let (go_child, go) = pipe2(nix::fcntl::OFlag::O_CLOEXEC).doing(|| "making a pipe".to_owned())?;
        let (failure, failure_child) = pipe2(nix::fcntl::OFlag::O_CLOEXEC).doing(|| "making a pipe".to_owned())?;
        // SAFETY: init has one thread here.
        match unsafe { fork() }.doing(|| "forking the program".to_owned())? {
            ForkResult::Parent { child } => Ok(Program { pid: child, go: go.into(), failure: failure.into() }),
            ForkResult::Child => {
                drop((go, failure));
                let Err((step, errno)) = become_program(run, stdio, policy, &image, go_child.into());
                // Nobody is left to tell about a failing write.
                let _ = File::from(failure_child).write_all(&encode(step, errno));
                // SAFETY: ends this process without running init's destructors.
                unsafe { libc::_exit(127) }
            }
        }
    }

    pub fn pid(&self) -> i32 {
        self.pid.as_raw()
    }

    /// Let it run, and reap it; the end marker is the first thing after.
    pub fn run(self) -> Result<Status> {
        let Program { pid, mut go, mut failure } = self;
        // Fails only if the child has ended already, which waitpid tells.
        let _ = go.write_all(b"!");
        let status = reap(pid);
        marker::<PROGRAM_END>();
        let status = status.doing(|| "waiting for the program".to_owned())?;
        kill_orphans();

        let mut report = Vec::new();
        failure.read_to_end(&mut report).doing(|| "reading the program's start".to_owned())?;
        Ok(decode(&report).unwrap_or(status))
    }
}

/// Wait for `pid`; orphans that end meanwhile are init's to reap.
fn reap(pid: Pid) -> nix::Result<Status> {
    loop {
        match waitpid(None, None) {
            Ok(WaitStatus::Exited(child, code)) if child == pid => return Ok(Status::Code(code)),
            Ok(WaitStatus::Signaled(child, signal, _)) if child == pid => return Ok(Status::Signal(signal as i32)),
            Ok(_) | Err(Errno::EINTR) => {}
            Err(errno) => return Err(errno),
        }
    }
}

/// End every process but init.
pub fn kill_all() {
    // ESRCH: there are none.
    let _ = kill(Pid::from_raw(-1), Signal::SIGKILL);
}

/// Every process but init goes; otherwise they would hold the output pipes open.
fn kill_orphans() {
    kill_all();
    while waitpid(None, None).is_ok() {}
}

/// The arguments of execve, made ready before the marker.
struct Image {
    program: Vec<u8>,
    argv: Vec<CString>,
    envp: Vec<CString>,
    path: Vec<u8>,
}

impl Image {
    fn new(run: &Run) -> Self {
        let bytes = |b: &ByteString| b.clone().into_bytes();
        // The host refuses NUL bytes: an argument list cannot hold them.
        let c = |b: Vec<u8>| CString::new(b.into_iter().take_while(|&b| b != 0).collect::<Vec<u8>>()).expect("no NUL");
        let value = |wanted: &[u8]| run.env.iter().rev().find(|(name, _)| bytes(name) == wanted).map(|(_, v)| bytes(v));
        Image {
            program: run.argv.first().map(bytes).unwrap_or_default(),
            argv: run.argv.iter().map(|a| c(bytes(a))).collect(),
            envp: run.env.iter().map(|(n, v)| c([bytes(n), bytes(v)].join(&b'='))).collect(),
            path: value(b"PATH").unwrap_or_default(),
        }
    }

    /// As execvp(3): a name with '/' is a path, others are looked up; a file that may not be executed is remembered.
    fn resolve(&self) -> nix::Result<CString> {
        let c = |path: &[u8]| CString::new(path).map_err(|_| Errno::EINVAL);
        if self.program.contains(&b'/') {
            return c(&self.program);
        }
        let mut error = Errno::ENOENT;
        for folder in self.path.split(|&b| b == b':').filter(|f| !f.is_empty() && !self.program.is_empty()) {
            let candidate = [folder, &self.program].join(&b'/');
            let name = OsStr::from_bytes(&candidate);
            match access(name, AccessFlags::X_OK) {
                Ok(()) if !std::path::Path::new(name).is_dir() => return c(&candidate),
                Ok(()) | Err(Errno::EACCES) => error = Errno::EACCES,
                Err(_) => {}
            }
        }
        Err(error)
    }
}

type Failure = (Step, Errno);

/// In the child: never returns but with the step that failed.
fn become_program(
    run: &Run,
    stdio: Stdio,
    policy: MemoryPolicy,
    image: &Image,
    mut go: File,
) -> std::result::Result<Infallible, Failure> {
    let at = |step: Step| move |errno: Errno| (step, errno);
    // Rust's runtime ignores SIGPIPE in init; an ignored signal would stay ignored over execve.
    // SAFETY: the default disposition runs no handler.
    unsafe { signal(Signal::SIGPIPE, SigHandler::SigDfl) }.map_err(at(Step::Execute))?;
    setsid().map_err(at(Step::Execute))?;
    dup2_stdin(&stdio.stdin).map_err(at(Step::Stdin))?;
    dup2_stdout(&stdio.stdout).map_err(at(Step::Stdin))?;
    dup2_stderr(&stdio.stderr).map_err(at(Step::Stdin))?;
    drop(stdio);
    if run.terminal.is_some() {
        terminal::control().map_err(at(Step::Stdin))?;
    }

    let (soft, _) = getrlimit(Resource::RLIMIT_NOFILE).map_err(at(Step::Identity))?;
    setrlimit(Resource::RLIMIT_NOFILE, soft, OPEN_FILES).map_err(at(Step::Identity))?;
    let groups: Vec<Gid> = run.groups.iter().copied().map(Gid::from_raw).collect();
    setgroups(&groups).map_err(at(Step::Identity))?;
    setgid(Gid::from_raw(run.gid)).map_err(at(Step::Identity))?;
    setuid(Uid::from_raw(run.uid)).map_err(at(Step::Identity))?;
    let folder = run.cwd.clone().into_os_string();
    chdir(folder.as_os_str()).map_err(at(Step::WorkingFolder))?;

    let path = image.resolve().map_err(at(Step::Execute))?;
    let shell = [&[c"/bin/sh".to_owned(), path.clone()], image.argv.get(1..).unwrap_or_default()].concat();
    policy.apply().map_err(at(Step::Placement))?;
    let mut word = [0];
    go.read_exact(&mut word).map_err(|_| (Step::Execute, Errno::ECANCELED))?;

    marker::<PROGRAM_START>();
    match execve(&path, &image.argv, &image.envp) {
        // A script without an interpreter line, as execvp(3) treats it.
        Err(Errno::ENOEXEC) => execve(c"/bin/sh", &shell, &image.envp),
        result => result,
    }
    .map_err(at(Step::Execute))
}

const STEPS: [Step; 5] = [Step::Stdin, Step::WorkingFolder, Step::Identity, Step::Placement, Step::Execute];

fn encode(step: Step, errno: Errno) -> [u8; 5] {
    let [a, b, c, d] = (errno as i32).to_le_bytes();
    let step = STEPS.iter().position(|&s| s == step).expect("every step is listed");
    [step as u8, a, b, c, d]
}

fn decode(report: &[u8]) -> Option<Status> {
    let &[step, a, b, c, d] = report else { return None };
    let errno = i32::from_le_bytes([a, b, c, d]);
    Some(Status::not_started(*STEPS.get(usize::from(step))?, errno))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_failure_survives_the_pipe() {
        for step in STEPS {
            let Some(Status::NotStarted { step: back, errno, .. }) = decode(&encode(step, Errno::EACCES)) else {
                panic!("not decoded")
            };
            assert_eq!((back, errno), (step, libc::EACCES));
        }
        assert_eq!(decode(&[]), None);
    }

    fn image(program: &str, path: &str) -> Image {
        Image { program: program.into(), argv: vec![], envp: vec![], path: path.into() }
    }

    #[test]
    fn programs_are_found_as_execvp_finds_them() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("data"), "").unwrap();
        let here = folder.path().to_str().unwrap();
        assert_eq!(image("sh", "/nowhere:/bin").resolve(), Ok(c"/bin/sh".to_owned()));
        assert_eq!(image("./x", "/bin").resolve(), Ok(c"./x".to_owned()));
        assert_eq!(image("data", &format!("{here}:/bin")).resolve(), Err(Errno::EACCES));
        assert_eq!(image("no-such-program", "/bin").resolve(), Err(Errno::ENOENT));
        assert_eq!(image("", "/bin").resolve(), Err(Errno::ENOENT));
    }
}
