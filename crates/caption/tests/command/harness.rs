//! Starting the program on a temporary tree, and asking what is left of it.

use crate::tree::{Tree, WEIGHTS};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

pub const PROGRAM: &str = env!("CARGO_BIN_EXE_cxlab-caption");

/// True within ten seconds: how long a test waits for another process before it fails.
pub fn eventually(mut what: impl FnMut() -> bool) -> bool {
    let deadline = Instant::now() + Duration::from_secs(10);
    while Instant::now() < deadline {
        if what() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    false
}

pub fn caption(tree: &Tree, arguments: &[&str]) -> Command {
    let mut command = Command::new(PROGRAM);
    command.args(&arguments[..1]).arg("--root").arg(tree.path()).args(&arguments[1..]);
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).stdin(Stdio::null());
    command
}

pub fn run_to_end(tree: &Tree, arguments: &[&str]) -> (Output, String) {
    let output = caption(tree, arguments).output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    (output, text)
}

/// A controller on standard input that has put its first weights in force (10:1 of the published start).
pub struct Controller {
    pub child: Child,
    pub guardian: u32,
}

pub fn start(tree: &Tree) -> Controller {
    let mut command = caption(tree, &["run", "--mode", "paper", "--stream", "-"]);
    let child = command.stdin(Stdio::piped()).spawn().unwrap();
    let guardian = || {
        let children = format!("/proc/{0}/task/{0}/children", child.id());
        std::fs::read_to_string(children).unwrap_or_default().trim().parse().ok()
    };
    let has_started = || guardian().is_some() && tree.weights() == "10:1";
    assert!(eventually(has_started), "the controller did not start");
    let guardian = guardian().unwrap();
    Controller { guardian, child }
}

impl Controller {
    pub fn signal(&self, signal: i32) {
        kill(self.child.id(), signal);
    }

    pub fn end(mut self) -> (Option<i32>, String) {
        let status = self.child.wait().unwrap();
        let mut text = String::new();
        std::io::Read::read_to_string(&mut self.child.stderr.take().unwrap(), &mut text).unwrap();
        (status.code(), text)
    }
}

pub fn kill(process: u32, signal: i32) {
    // SAFETY: a signal to a process that this test started.
    assert_eq!(unsafe { libc::kill(process as i32, signal) }, 0);
}

pub fn is_alive(process: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    !stat.is_empty() && !stat.contains(") Z ")
}

/// Nothing of it is left, and the machine is as it was.
pub fn is_restored(tree: &Tree) -> bool {
    tree.weights() == "9:2" && tree.read(format!("{WEIGHTS}/auto")) == "true" && !tree.journal().exists()
}

pub fn has_weighted_interleave() -> bool {
    // In a thread of its own: the policy is the thread's, and ends with it.
    let nodes = || "0".parse().unwrap();
    std::thread::spawn(move || cxlab_caption::mempolicy::Policy::WeightedInterleave.set(&nodes()).is_ok())
        .join()
        .unwrap()
}
