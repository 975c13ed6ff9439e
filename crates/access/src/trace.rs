//! Trace files: the stream of records with the answers that were given, compressed and checked.
//!
//! ```text
//!   | "CXLTRACE" version (u32) machine-description length + text | zstd frame with checksum: Entry Entry ... |
//!   Entry = 16 bytes of a record, or an Answer (what the model replied, in place of a record)
//! ```
//!
//! The code behind a `Define` may look like anything, an answer too: the reader counts its records.
//!
//! Replaying a trace through the same machine gives the same answers, bit for bit: the answers in the file are
//! there to be compared.

mod read_ahead;

use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use crate::record::{RECORD_BYTES, Record, Words};
use read_ahead::ReadAhead;

const MAGIC: &[u8; 8] = b"CXLTRACE";
const VERSION: u32 = 6;
/// The first word of an answer: kind 15 and nothing above it, which no record has.
const ANSWER: u64 = 15 << 3;

/// Why a trace cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    #[error("TRC001: cannot open the trace {path}: {cause}")]
    Open { path: PathBuf, cause: io::Error },
    #[error("TRC002: {path} is no CXLab trace (it begins with {found:02x?})")]
    Foreign { path: PathBuf, found: [u8; 8] },
    #[error("TRC003: {path} is a trace of version {found}, this CXLab reads version {VERSION}: record it again")]
    Version { path: PathBuf, found: u32 },
    #[error("TRC004: {path} is damaged or cut short after {records} records: {cause}")]
    Damaged { path: PathBuf, records: u64, cause: String },
    #[error("TRC005: cannot write the trace {path}: {cause}")]
    Write { path: PathBuf, cause: io::Error },
}

/// What stands in a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry {
    Words(Words),
    /// the model's answer to the last question [ps]
    Answer(u64),
}

/// Writes a trace; the file appears under its name when it is finished, whole.
pub struct TraceWriter {
    path: PathBuf,
    unfinished: PathBuf,
    encoder: zstd::Encoder<'static, BufWriter<File>>,
}

impl TraceWriter {
    /// Level 1: the stream is wide and regular, and the simulation waits for it.
    const LEVEL: i32 = 1;

    pub fn create(path: &Path, description: &str) -> Result<TraceWriter, TraceError> {
        let unfinished = path.with_extension("unfinished");
        let open = || -> io::Result<_> {
            let mut file = BufWriter::new(File::create(&unfinished)?);
            file.write_all(MAGIC)?;
            file.write_all(&VERSION.to_le_bytes())?;
            file.write_all(&(description.len() as u32).to_le_bytes())?;
            file.write_all(description.as_bytes())?;
            let mut encoder = zstd::Encoder::new(file, Self::LEVEL)?;
            encoder.include_checksum(true)?;
            Ok(encoder)
        };
        let encoder = open().map_err(|cause| TraceError::Write { path: path.into(), cause })?;
        Ok(TraceWriter { path: path.into(), unfinished, encoder })
    }

    pub fn words(&mut self, words: Words) -> Result<(), TraceError> {
        let mut bytes = [0u8; RECORD_BYTES];
        bytes[..8].copy_from_slice(&words[0].to_le_bytes());
        bytes[8..].copy_from_slice(&words[1].to_le_bytes());
        self.encoder.write_all(&bytes).map_err(|cause| TraceError::Write { path: self.path.clone(), cause })
    }

    pub fn answer(&mut self, ps: u64) -> Result<(), TraceError> {
        self.words([ANSWER, ps])
    }

    /// End the frame and give the file its name.
    pub fn finish(self) -> Result<(), TraceError> {
        let TraceWriter { path, unfinished, encoder } = self;
        let close = || -> io::Result<()> {
            encoder.finish()?.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()?;
            std::fs::rename(&unfinished, &path)
        };
        close().map_err(|cause| TraceError::Write { path: path.clone(), cause })
    }
}

/// Reads a trace from its beginning.
pub struct TraceReader {
    path: PathBuf,
    description: String,
    ahead: ReadAhead,
    records: u64,
    /// records to come that are code, whatever they look like
    payload: usize,
    /// read ahead
    buffer: Vec<Words>,
    /// the next of these
    position: usize,
}

impl TraceReader {
    pub fn open(path: &Path) -> Result<TraceReader, TraceError> {
        let opening = |cause| TraceError::Open { path: path.into(), cause };
        let mut file = File::open(path).map_err(opening)?;
        let mut magic = [0u8; 8];
        let read = file.read(&mut magic).map_err(opening)?;
        if read < 8 || &magic != MAGIC {
            return Err(TraceError::Foreign { path: path.into(), found: magic });
        }
        let damaged =
            |cause: io::Error| TraceError::Damaged { path: path.into(), records: 0, cause: cause.to_string() };
        let mut word = [0u8; 4];
        file.read_exact(&mut word).map_err(damaged)?;
        let found = u32::from_le_bytes(word);
        if found != VERSION {
            return Err(TraceError::Version { path: path.into(), found });
        }
        file.read_exact(&mut word).map_err(damaged)?;
        let mut description = vec![0u8; u32::from_le_bytes(word).min(1 << 24) as usize];
        file.read_exact(&mut description).map_err(damaged)?;
        let description = String::from_utf8_lossy(&description).into_owned();
        let ahead = zstd::Decoder::new(file).and_then(ReadAhead::new).map_err(damaged)?;
        let (buffer, position) = (Vec::new(), 0);
        Ok(TraceReader { path: path.into(), description, ahead, records: 0, payload: 0, buffer, position })
    }

    /// What the recorder said of the machine and the run.
    #[must_use]
    pub fn description(&self) -> &str {
        &self.description
    }

    /// The next entry; `None` after the last one of a whole file.
    #[inline(always)]
    pub fn next_entry(&mut self) -> Result<Option<Entry>, TraceError> {
        if self.position == self.buffer.len() && !self.refill()? {
            return Ok(None);
        }
        let words = self.buffer[self.position];
        self.position += 1;
        self.records += 1;
        if self.payload > 0 {
            self.payload -= 1;
        } else if words[0] == ANSWER {
            return Ok(Some(Entry::Answer(words[1])));
        } else {
            self.payload = Record::payload_of(words);
        }
        Ok(Some(Entry::Words(words)))
    }

    #[cold]
    fn refill(&mut self) -> Result<bool, TraceError> {
        self.position = 0;
        self.ahead.next(&mut self.buffer).map_err(|cause| self.damaged(cause.to_string()))?;
        Ok(!self.buffer.is_empty())
    }

    fn damaged(&self, cause: String) -> TraceError {
        TraceError::Damaged { path: self.path.clone(), records: self.records, cause }
    }
}
