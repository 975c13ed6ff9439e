//! The messages between host and guest. The run is a file of the firmware. All else goes over the port
//! `cxlab.control`, one JSON object a line.
//!
//! ```text
//!   guest                                   host
//!     |               (run.json) <------------ |
//!     | ready {kernel, nodes, regions} ------> |
//!     | <------------------ input {...} ------ |    only where standard input is a stream
//!     |                                        |    from here on the host may send close {stdout|stderr}, or stop
//!     | exit {status, files, ...} -----------> |
//!     | <--------------------------- power_off |    once it has every byte of output
//! ```
//!
//! A message takes the host's time to come; a file is there. So two runs begin at the same moment of the guest's time.
//! `failed` takes the place of `ready` or `exit` when init itself cannot go on.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

use nix::errno::Errno;
use serde::{Deserialize, Serialize};

use crate::cxl;
use crate::huge_pages::HugePages;
use crate::placement::Placement;
use crate::srat::NodeRanges;
use crate::terminal;
use crate::tiering::Tiering;
use crate::vmstat::Moved;

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
    /// Standard input has begun: the program may start.
    Input(StreamStart),
    /// Nobody reads this stream any longer: the program's next write gets SIGPIPE.
    Close(Stream),
    /// The terminal has this size now.
    Resize(terminal::Size),
    /// The run has come to its bound: end the program.
    Stop,
    /// All output has arrived: power off.
    PowerOff,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stream {
    Stdout,
    Stderr,
}

/// Input that the host sent before the program started, on the port `cxlab.stdin`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StreamStart {
    /// already sent `[bytes]`: they are in the pipe before the program starts
    pub primed: usize,
    /// the end was sent as well
    pub ended: bool,
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
    /// CXL regions to be made before anything runs
    pub regions: Vec<cxl::Plan>,
    /// the host's date when the run began `[s since 1970]`
    pub date: i64,
    /// the device for swap
    pub swap: Option<String>,
    /// a file system on the disk
    pub files: Option<Files>,
    pub tiering: Option<Tiering>,
    /// `None`: as the kernel was built
    pub huge_pages: Option<HugePages>,
    /// standard input, output and error are one terminal
    pub terminal: Option<terminal::Size>,
    /// the program is a placement controller: it may set the system's weights and open the controller's ports
    pub steers: bool,
    /// detail begins when the program has printed this
    pub from_output: Option<ByteString>,
    /// the program is ended when it has printed this
    pub to_output: Option<ByteString>,
    /// detail begins when this function is called
    pub from_symbol: Option<Symbol>,
    /// the program is ended when this function is called
    pub to_symbol: Option<Symbol>,
    /// the machine stands still where the program has printed `from_output`, for its state to be saved
    pub checkpoint: bool,
}

/// A file system on the disk.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Files {
    pub device: String,
    /// where the program finds it
    pub at: ByteString,
}

/// A function, by the place of its first instruction.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Symbol {
    pub file: ByteString,
    /// in the file `[bytes]`
    pub offset: u64,
}

/// Request of a run that goes on from a checkpoint. The rest is the checkpoint's.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Start {
    /// nodes that the program's pages go to; None: as they were placed
    pub bind: Option<Vec<u32>>,
    /// the program is ended when it has printed this
    pub to_output: Option<ByteString>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Stdin {
    Null,
    /// The file that is the host's standard input, at its offset `[bytes]`.
    File {
        path: ByteString,
        offset: u64,
    },
    /// Frames on the port `cxlab.stdin`: length u32 (little endian), data; length 0 is the end.
    Stream,
}

/// Guest to host.
#[derive(Debug, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    Ready { kernel: String, nodes: Vec<NodeRanges>, regions: Vec<cxl::Region> },
    Exit(Box<Exit>),
    Failed { code: &'static str, message: String },
}

/// The end of the program, and what it left.
#[derive(Debug, Serialize)]
pub struct Exit {
    pub status: Status,
    /// sent to the ports before this event `[bytes]`
    pub stdout_bytes: u64,
    pub stderr_bytes: u64,
    /// written by the program (and lost with the guest, unless kept)
    pub files: Vec<WrittenFile>,
    /// the kernel's out-of-memory killer, in its own words
    pub oom: Vec<String>,
    /// what memory management did meanwhile
    pub moved: Moved,
    /// the program came to the text or the function that detail begins with, and to the one that it was ended at
    pub begun: bool,
    pub ended: bool,
    /// the host's request ended the program
    pub stopped: bool,
}

impl Exit {
    /// A program that never was leaves nothing.
    pub fn not_started(step: Step, errno: i32) -> Self {
        let status = Status::not_started(step, errno);
        Exit {
            status,
            stdout_bytes: 0,
            stderr_bytes: 0,
            files: Vec::new(),
            oom: Vec::new(),
            moved: Moved::default(),
            begun: false,
            ended: false,
            stopped: false,
        }
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

/// A step of the child between fork and its first own instruction.
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
    /// `[bytes]`
    pub size: u64,
    /// permission bits; those of set-user-ID and set-group-ID stay in the guest
    pub mode: u32,
    /// why it could not be read, or not copied out
    pub lost: Option<String>,
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
        let file = r#"{"argv":["/bin/echo",[255,104]],"cwd":"/","uid":1,"gid":2,"groups":[3],"env":[["A","b"]],
            "placement":{"weighted_interleave":[[0,3],[1,1]]},"stdin":"stream","keep":false,"steers":true,"regions":[],
            "swap":null,"files":{"device":"/dev/vda2","at":"/disk"},"tiering":null,"huge_pages":"madvise","terminal":{"rows":24,"columns":80},"date":1700000000,"from_output":"ready","checkpoint":false}"#;
        let run: Run = serde_json::from_str(file).unwrap();
        assert_eq!(run.argv[1].clone().into_bytes(), b"\xffh");
        assert_eq!(run.placement, Placement::WeightedInterleave(vec![(0, 3), (1, 1)]));
        assert!(run.steers && !run.keep);
        assert_eq!(run.huge_pages, Some(HugePages::Madvise));
        assert_eq!((run.from_output, run.to_output), (Some(ByteString::Text("ready".into())), None));
        assert!(matches!(run.stdin, Stdin::Stream));
        let input = serde_json::from_str(r#"{"input":{"primed":5,"ended":true}}"#).unwrap();
        assert!(matches!(input, Request::Input(StreamStart { primed: 5, ended: true })));
        assert!(matches!(serde_json::from_str(r#""power_off""#).unwrap(), Request::PowerOff));
        assert!(matches!(serde_json::from_str(r#""stop""#).unwrap(), Request::Stop));
        assert!(matches!(serde_json::from_str(r#"{"close":"stderr"}"#).unwrap(), Request::Close(Stream::Stderr)));
    }

    #[test]
    fn what_a_start_wants_is_read_as_the_host_writes_it() {
        let start: Start = serde_json::from_str(r#"{"bind":[1],"to_output":null}"#).unwrap();
        assert_eq!(start, Start { bind: Some(vec![1]), to_output: None });
    }

    #[test]
    fn an_unknown_key_is_an_error() {
        assert!(serde_json::from_str::<Request>(r#"{"input":{"primed":0,"ended":true,"colour":1}}"#).is_err());
    }
}
