//! Samples as JSONL lines from a character device, a pipe or standard input: how a simulated machine feeds its counters in.
//!
//! The end of standard input ends the run, and so does that of a named pipe once someone has written to it. A device (a
//! virtio-serial port) reads as ended while nobody has the other end open: there an end is waited through, up to a limit.

use super::Reading;
use crate::error::{Error, Result};
use crate::interrupt::{Interrupt, Woken};
use crate::sample::Sample;
use std::fs::{File, OpenOptions};
use std::io::Read;
use std::os::fd::AsFd;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;
use std::time::{Duration, Instant};

/// A longer line is no sample: the other end speaks something else.
const MOST_LINE: usize = 64 * 1024;

/// Meaning of a read that brings nothing.
#[derive(Clone, Copy, Debug, PartialEq)]
enum AtEof {
    Ends,
    EndsAfterAWriter,
    Waits,
}

#[derive(Debug)]
pub struct Stream {
    name: String,
    input: File,
    at_eof: AtEof,
    /// How long a device may be silent.
    patience: Duration,
    pending: Vec<u8>,
    line: usize,
    ended: bool,
}

impl Stream {
    /// "-" is standard input.
    pub fn open(path: &Path, patience: Duration) -> Result<Stream> {
        let is_stdin = path == Path::new("-");
        let failed = || Error::io("open", path);
        let input = if is_stdin {
            File::from(std::io::stdin().as_fd().try_clone_to_owned().map_err(failed())?)
        } else {
            OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY).open(path).map_err(failed())?
        };
        let kind = input.metadata().map_err(failed())?.file_type();
        Ok(Stream {
            name: if is_stdin { "standard input".into() } else { path.display().to_string() },
            input,
            at_eof: match () {
                () if is_stdin => AtEof::Ends,
                () if kind.is_char_device() => AtEof::Waits,
                () if kind.is_fifo() => AtEof::EndsAfterAWriter,
                () => AtEof::Ends,
            },
            patience,
            pending: Vec::new(),
            line: 0,
            ended: false,
        })
    }

    pub fn name(&self) -> String {
        self.name.clone()
    }

    pub fn next(&mut self, interrupt: &Interrupt) -> Result<Reading> {
        let mut silent_since = Instant::now();
        loop {
            if interrupt.has_come()? {
                return Ok(Reading::Interrupted);
            }
            if let Some(sample) = self.take_line()? {
                return Ok(Reading::Sample(Box::new(sample)));
            }
            if self.ended {
                return Ok(Reading::Ended);
            }
            let limit = (self.at_eof != AtEof::Ends).then(|| self.patience.saturating_sub(silent_since.elapsed()));
            match interrupt.wait(Some(self.input.as_fd()), limit)? {
                Woken::Interrupted => return Ok(Reading::Interrupted),
                Woken::TimedOut => return Err(self.silent()),
                Woken::Readable if self.fill()? > 0 => silent_since = Instant::now(),
                Woken::Readable if self.at_eof == AtEof::Ends => self.ended = true,
                Woken::Readable => self.wait_for_writer(interrupt, silent_since)?,
            }
        }
    }

    fn fill(&mut self) -> Result<usize> {
        let mut block = [0; 4096];
        match self.input.read(&mut block) {
            Ok(length) => {
                self.pending.extend_from_slice(&block[..length]);
                if length > 0 && self.at_eof == AtEof::EndsAfterAWriter {
                    self.at_eof = AtEof::Ends;
                }
                if self.pending.len() > MOST_LINE && !self.pending.contains(&b'\n') {
                    return Err(self.refused(format!("more than {MOST_LINE} bytes without an end of line")));
                }
                Ok(length)
            }
            Err(e) if matches!(e.kind(), std::io::ErrorKind::WouldBlock | std::io::ErrorKind::Interrupted) => Ok(0),
            Err(e) => Err(Error::io("read", &self.name)(e)),
        }
    }

    /// A device without a writer is readable at once and empty: neither spin nor end.
    fn wait_for_writer(&self, interrupt: &Interrupt, silent_since: Instant) -> Result<()> {
        if silent_since.elapsed() >= self.patience {
            return Err(self.silent());
        }
        interrupt.sleep(Duration::from_millis(50)).map(drop)
    }

    fn silent(&self) -> Error {
        Error::Silent { source_name: self.name.clone(), silence: self.patience }
    }

    /// The next whole line that is not empty; at the end, what is left counts as one.
    fn take_line(&mut self) -> Result<Option<Sample>> {
        loop {
            let end = match self.pending.iter().position(|byte| *byte == b'\n') {
                Some(end) => end + 1,
                None if self.ended && !self.pending.is_empty() => self.pending.len(),
                None => return Ok(None),
            };
            let bytes: Vec<u8> = self.pending.drain(..end).collect();
            self.line += 1;
            let text = String::from_utf8(bytes).map_err(|_| self.refused("not UTF-8".into()))?;
            if !text.trim().is_empty() {
                return Sample::parse(&text, &self.name, self.line).map(Some);
            }
        }
    }

    fn refused(&self, detail: String) -> Error {
        Error::Sample { source_name: self.name.clone(), line: self.line + 1, detail }
    }
}
