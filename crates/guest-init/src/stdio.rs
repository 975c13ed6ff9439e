//! Standard input, output and error of the program: pipes, pumped from and to the host by threads of init.
//!
//! ```text
//!   cxlab.stdin  port --frames--> [prime, then pump] --> pipe --> fd 0
//!   cxlab.stdout port <---------- [pump] <-------------- pipe <-- fd 1      (stderr alike)
//! ```
//!
//! Pipes rather than the ports themselves: a program may re-open /dev/stdout, poll it, hand it to children.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;
use std::thread::JoinHandle;

use nix::fcntl::OFlag;
use nix::unistd::{Gid, Uid, fchown, pipe2};

use crate::error::{Doing, Result};
use crate::protocol::{Run, Stdin, StreamStart};

/// Capacity of a Linux pipe; what the host sends ahead fits into it.
const PIPE_BYTES: usize = 64 << 10;

/// The program's end of one stream, and init's.
pub struct Pipe {
    pub program: OwnedFd,
    pub init: OwnedFd,
}

fn pipe_for(run: &Run) -> Result<(OwnedFd, OwnedFd)> {
    let (read, write) = pipe2(OFlag::O_CLOEXEC).doing(|| "making a pipe".to_owned())?;
    // Re-opening /dev/stdin or /dev/stdout checks the pipe's owner.
    fchown(&read, Some(Uid::from_raw(run.uid)), Some(Gid::from_raw(run.gid))).doing(|| "owning a pipe".to_owned())?;
    Ok((read, write))
}

/// A pipe for the program to write into.
pub fn output_pipe(run: &Run) -> Result<Pipe> {
    let (init, program) = pipe_for(run)?;
    Ok(Pipe { program, init })
}

/// The program's standard input; with a stream, also init's end of the pipe.
pub fn input(run: &Run) -> io::Result<(OwnedFd, Option<OwnedFd>)> {
    match &run.stdin {
        Stdin::Null => Ok((File::open("/dev/null")?.into(), None)),
        Stdin::File { path, offset } => {
            let mut file = File::open(path.clone().into_os_string())?;
            file.seek(SeekFrom::Start(*offset))?;
            Ok((file.into(), None))
        }
        Stdin::Stream => {
            let (program, init) = pipe_for(run).map_err(io::Error::other)?;
            Ok((program, Some(init)))
        }
    }
}

/// Frames of the port `cxlab.stdin`.
pub struct Input {
    port: File,
    pipe: File,
    ended: bool,
}

impl Input {
    pub fn new(port: File, pipe: OwnedFd) -> Self {
        Input { port, pipe: pipe.into(), ended: false }
    }

    /// Put what the host sent ahead of the run into the pipe.
    ///
    /// The host decides how much that is (it can wait on its own clock: a guest that idles may have no time of its own), so a
    /// program that starts with input at hand finds it there, whatever the host's scheduling.
    pub fn prime(&mut self, start: StreamStart) -> io::Result<()> {
        let mut ahead = Vec::with_capacity(PIPE_BYTES);
        while !self.ended && (ahead.len() < start.primed || start.ended) {
            self.frame(&mut ahead)?;
        }
        self.pipe.write_all(&ahead)
    }

    /// Append the next frame.
    fn frame(&mut self, data: &mut Vec<u8>) -> io::Result<()> {
        let mut length = [0; 4];
        self.port.read_exact(&mut length)?;
        let length = u32::from_le_bytes(length) as usize;
        self.ended = length == 0;
        let start = data.len();
        data.resize(start + length, 0);
        self.port.read_exact(&mut data[start..])
    }

    /// Pump to the end of the stream, or until the program no longer reads.
    pub fn pump(mut self) -> io::Result<()> {
        let mut data = Vec::with_capacity(PIPE_BYTES);
        while !self.ended {
            data.clear();
            self.frame(&mut data)?;
            self.pipe.write_all(&data)?;
        }
        Ok(())
    }
}

/// A stream on its way out.
pub struct Output {
    pipe: Arc<OwnedFd>,
    thread: JoinHandle<io::Result<u64>>,
}

/// Ends one output stream early.
pub struct Closer(Arc<OwnedFd>);

impl Output {
    pub fn pump(pipe: OwnedFd, mut port: File) -> Self {
        let pipe = Arc::new(pipe);
        let source = Arc::clone(&pipe);
        let thread = std::thread::spawn(move || {
            let mut bytes = 0;
            let mut buffer = vec![0; PIPE_BYTES];
            loop {
                let length = match nix::unistd::read(&source, &mut buffer) {
                    Err(nix::errno::Errno::EINTR) => continue,
                    read => read.map_err(io::Error::from)?,
                };
                if length == 0 {
                    return Ok(bytes);
                }
                port.write_all(&buffer[..length])?;
                bytes += length as u64;
            }
        });
        Output { pipe, thread }
    }

    pub fn closer(&self) -> Closer {
        Closer(Arc::clone(&self.pipe))
    }

    /// Bytes sent in all, once every writer has gone.
    pub fn finish(self) -> io::Result<u64> {
        self.thread.join().unwrap_or_else(|_| Err(io::Error::other("the pump panicked")))
    }
}

impl Closer {
    /// Put /dev/null in the pipe's place: the pump reads an end, and the pipe has no reader once its present read returns.
    pub fn close(&self) -> io::Result<()> {
        let null = File::open("/dev/null")?;
        // SAFETY: both descriptors are open and owned here; dup2 replaces the file behind ours atomically, so the pump's
        // descriptor number stays valid.
        let result = unsafe { libc::dup2(null.as_raw_fd(), self.0.as_raw_fd()) };
        if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }
}
