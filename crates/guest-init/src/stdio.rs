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
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use nix::fcntl::OFlag;
use nix::unistd::{Gid, Uid, fchown, pipe2};

use crate::error::{Doing, Result};
use crate::phrase::Awaited;
use crate::program::Stdio;
use crate::protocol::{Run, Stdin, StreamStart};
use crate::terminal::{self, Terminal};

/// Capacity of a Linux pipe; what the host sends ahead fits into it.
const PIPE_BYTES: usize = 64 << 10;

/// The program's descriptors, and init's ends of them.
pub struct Ends {
    pub given: Stdio,
    /// where a stream of input goes
    pub stdin: Option<OwnedFd>,
    pub stdout: OwnedFd,
    pub stderr: OwnedFd,
    /// init's end of the terminal, if the program has one
    pub terminal: Option<OwnedFd>,
}

/// Pipes or a terminal, as the run asks; the inner error is standard input's.
pub fn ends(run: &Run) -> Result<io::Result<Ends>> {
    match run.terminal {
        Some(size) => terminal_ends(run, terminal::open(size, run.uid)?).map(Ok),
        None => pipe_ends(run),
    }
}

fn pipe_ends(run: &Run) -> Result<io::Result<Ends>> {
    let (stdin, source) = match input(run) {
        Ok(input) => input,
        Err(error) => return Ok(Err(error)),
    };
    let ((stdout, out), (stderr, err)) = (pipe_for(run)?, pipe_for(run)?);
    let given = Stdio { stdin, stdout: out, stderr: err };
    Ok(Ok(Ends { given, stdin: source, stdout, stderr, terminal: None }))
}

fn terminal_ends(run: &Run, terminal: Terminal) -> Result<Ends> {
    let copy = |end: &OwnedFd| end.try_clone().doing(|| "duplicating the terminal".to_owned());
    let Terminal { program, init } = terminal;
    // What goes to standard error comes out of the same terminal: its own stream ends at once.
    let (nothing, _) = pipe_for(run)?;
    Ok(Ends {
        given: Stdio { stdin: copy(&program)?, stdout: copy(&program)?, stderr: program },
        stdin: Some(copy(&init)?),
        stdout: copy(&init)?,
        stderr: nothing,
        terminal: Some(init),
    })
}

fn pipe_for(run: &Run) -> Result<(OwnedFd, OwnedFd)> {
    let (read, write) = pipe2(OFlag::O_CLOEXEC).doing(|| "making a pipe".to_owned())?;
    // Re-opening /dev/stdin or /dev/stdout checks the pipe's owner.
    fchown(&read, Some(Uid::from_raw(run.uid)), Some(Gid::from_raw(run.gid))).doing(|| "owning a pipe".to_owned())?;
    Ok((read, write))
}

/// The program's standard input; with a stream, also init's end of the pipe.
fn input(run: &Run) -> io::Result<(OwnedFd, Option<OwnedFd>)> {
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
    /// the pipe is a terminal, whose end of input is a character
    terminal: bool,
}

impl Input {
    pub fn new(port: File, pipe: OwnedFd, terminal: bool) -> Self {
        Input { port, pipe: pipe.into(), ended: false, terminal }
    }

    /// Put what the host sent ahead of the run into the pipe.
    ///
    /// The host decides how much that is. It can wait on its own clock, while an idle guest may have no time of its
    /// own. So a program that starts with input at hand finds it there, whatever the host's scheduling.
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
        if self.terminal {
            self.pipe.write_all(terminal::END_OF_INPUT)?;
        }
        Ok(())
    }
}

/// A stream on its way out.
pub struct Output {
    pipe: Arc<OwnedFd>,
    thread: JoinHandle<io::Result<()>>,
    /// what has gone to the port `[bytes]`
    sent: Arc<Mutex<u64>>,
}

/// Ends one output stream early.
pub struct Closer(Arc<OwnedFd>);

impl Output {
    pub fn pump(pipe: OwnedFd, mut port: File, mut awaited: Awaited, sent: Arc<Mutex<u64>>) -> Self {
        let pipe = Arc::new(pipe);
        let (source, count) = (Arc::clone(&pipe), Arc::clone(&sent));
        let thread = std::thread::spawn(move || {
            awaited.run_at_once();
            let mut buffer = vec![0; PIPE_BYTES];
            loop {
                let length = match nix::unistd::read(&source, &mut buffer) {
                    Err(nix::errno::Errno::EINTR) => continue,
                    // A terminal that nobody has open any more.
                    Err(nix::errno::Errno::EIO) => 0,
                    read => read.map_err(io::Error::from)?,
                };
                if length == 0 {
                    return Ok(());
                }
                awaited.pass(&buffer[..length], |piece| {
                    let mut bytes = count.lock().expect("nobody panics with it");
                    port.write_all(piece)?;
                    *bytes += piece.len() as u64;
                    Ok::<(), io::Error>(())
                })?;
            }
        });
        Output { pipe, thread, sent }
    }

    pub fn closer(&self) -> Closer {
        Closer(Arc::clone(&self.pipe))
    }

    /// Bytes sent in all, or since the checkpoint that the run began at; once every writer has gone.
    pub fn finish(self) -> io::Result<u64> {
        self.thread.join().unwrap_or_else(|_| Err(io::Error::other("the pump panicked")))?;
        Ok(*self.sent.lock().expect("nobody panics with it"))
    }
}

impl Closer {
    /// Put /dev/null in the pipe's place: the pump reads an end, and the pipe has no reader once its present read returns.
    pub fn close(&self) -> Result<()> {
        let doing = || "closing an output stream".to_owned();
        let null = File::open("/dev/null").doing(doing)?;
        // SAFETY: both descriptors are open and owned here; dup2 replaces the file behind ours atomically, so the pump's
        // descriptor number stays valid.
        let result = unsafe { libc::dup2(null.as_raw_fd(), self.0.as_raw_fd()) };
        if result < 0 { Err(io::Error::last_os_error()).doing(doing) } else { Ok(()) }
    }
}
