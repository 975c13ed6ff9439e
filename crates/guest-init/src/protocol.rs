//! What host and guest say to each other over the port `cxlab.control`: one JSON object a line.
//!
//! ```text
//!   guest                                   host
//!     | <------------------------ set_up {...} |    the machine's own: CXL regions
//!     | ready {kernel, nodes, regions} ------> |
//!     | <--------------------------- run {...} |    after this, the host may send close {stdout|stderr}
//!     | exit {status, files, ...} -----------> |
//!     | <--------------------------- power_off |    once it has every byte of output
//! ```
//!
//! `failed` takes the place of `ready` or `exit` when init itself cannot go on.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

use nix::errno::Errno;
use serde::{Deserialize, Serialize};

use crate::cxl;
use crate::placement::Placement;
use crate::srat::NodeRanges;

/// Bytes that are mostly text: a JSON string where they are UTF-8, else an array of numbers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum ByteString {
    Text(String),
    Bytes(Vec<u8>),
}

impl ByteString {
    pub fn into_bytes(self) -> Vec<u8> {
        match self {
            ByteString::Text(text) => text.into_bytes(),
            ByteString::Bytes(bytes) => bytes,
        }
    }

    pub fn into_os_string(self) -> OsString {
        OsString::from_vec(self.into_bytes())
    }
}

impl From<&Path> for ByteString {
    fn from(path: &Path) -> Self {
        String::from_utf8(path.as_os_str().as_bytes().to_vec())
            .map_or_else(|not_text| ByteString::Bytes(not_text.into_bytes()), ByteString::Text)
    }
}

/// Host to guest.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Request {
    /// Make this of the machine, before anything runs.
    SetUp(SetUp),
    /// Start this program.
    Run(Box<Run>),
    /// Nobody reads this stream any longer: the program's next write gets SIGPIPE.
    Close(Stream),
    /// All output has arrived: power off.
    PowerOff,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stream {
    Stdout,
    Stderr,
}

/// What the machine is made of beside what its firmware tells.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SetUp {
    pub regions: Vec<cxl::Plan>,
}

/// The one program of this boot.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// program and arguments; a program without '/' is looked up in PATH of `env`
    pub argv: Vec<ByteString>,
    /// working folder
    pub cwd: ByteString,
    /// identity: user, group, supplementary groups
    pub uid: u32,
    pub gid: u32,
    pub groups: Vec<u32>,
    /// the whole environment: (name, value)
    pub env: Vec<(ByteString, ByteString)>,
    /// NUMA policy that the program starts with
    pub placement: Placement,
    /// where standard input comes from
    pub stdin: Stdin,
    /// copy written files to the share `keep`
    pub keep: bool,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Stdin {
    Null,
    /// The same file as the host's standard input, at the same offset [bytes].
    File {
        path: ByteString,
        offset: u64,
    },
    /// Frames on the port `cxlab.stdin`: length u32 (little endian), data; length 0 is the end.
    Stream {
        /// already sent [bytes]: they are in the pipe before the program starts
        primed: usize,
        /// the end was sent as well
        ended: bool,
    },
}

/// Guest to host.
#[derive(Debug, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    Ready { kernel: String, nodes: Vec<NodeRanges>, regions: Vec<cxl::Region> },
    Exit(Box<Exit>),
    Failed { code: &'static str, message: String },
}

/// How the program ended and what it left.
#[derive(Debug, Serialize)]
pub struct Exit {
    pub status: Status,
    /// sent to the ports before this event [bytes]
    pub stdout_bytes: u64,
    pub stderr_bytes: u64,
    /// written by the program (and lost with the guest, unless kept)
    pub files: Vec<WrittenFile>,
    /// the kernel's out-of-memory killer, in its own words
    pub oom: Vec<String>,
}

impl Exit {
    /// A program that never was leaves nothing.
    pub fn not_started(step: Step, errno: i32) -> Self {
        let status = Status::not_started(step, errno);
        Exit { status, stdout_bytes: 0, stderr_bytes: 0, files: Vec::new(), oom: Vec::new() }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    Code(i32),
    Signal(i32),
    NotStarted { step: Step, errno: i32, message: String },
}

impl Status {
    pub fn not_started(step: Step, errno: i32) -> Self {
        let message = Errno::from_raw(errno).desc().to_owned();
        Status::NotStarted { step, errno, message }
    }
}

/// What the child does between fork and its first own instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    Stdin,
    WorkingFolder,
    Identity,
    Placement,
    Execute,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct WrittenFile {
    pub path: ByteString,
    pub kind: FileKind,
    /// [bytes]
    pub size: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FileKind {
    File,
    Folder,
    Symlink,
    Special,
    Deleted,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_read_as_the_host_writes_them() {
        let line = r#"{"run":{"argv":["/bin/echo",[255,104]],"cwd":"/","uid":1,"gid":2,"groups":[3],"env":[["A","b"]],
            "placement":{"weighted_interleave":[[0,3],[1,1]]},"stdin":{"stream":{"primed":5,"ended":true}},"keep":false}}"#;
        let Request::Run(run) = serde_json::from_str(line).unwrap() else { panic!("not a run") };
        assert_eq!(run.argv[1].clone().into_bytes(), b"\xffh");
        assert_eq!(run.placement, Placement::WeightedInterleave(vec![(0, 3), (1, 1)]));
        assert!(matches!(run.stdin, Stdin::Stream { primed: 5, ended: true }));
        assert!(matches!(serde_json::from_str(r#""power_off""#).unwrap(), Request::PowerOff));
        assert!(matches!(serde_json::from_str(r#"{"close":"stderr"}"#).unwrap(), Request::Close(Stream::Stderr)));
    }

    #[test]
    fn an_unknown_key_is_an_error() {
        assert!(serde_json::from_str::<Request>(r#"{"run":{"argv":[],"colour":1}}"#).is_err());
    }
}
