//! Trace files: the stream of records with the answers that were given, compressed and checked.
//!
//! ```text
//!   | "CXLTRACE" version (u32) | length (u32) + description | its check (u64) | zstd frame with checksum: Entry ... Closing |
//!   Entry   = 16 bytes of a record, or an Answer (what the model replied, in place of a record)
//!   Closing = how many entries there are, and whether the recording came to its own end
//! ```
//!
//! A trace is read twice. The first pass compares the checksums and looks for the closing. A trace of version 6 has neither
//! closing nor check, so its completeness is unknown.
//!
//! From version 10 on requests for files of the host are records. Before, a vCPU stood still for them.
//! From version 11 on a sync point may wait until all before it has committed and left the core. From version 12 on it may also wait
//! for a line.
//!
//! A trace of version 6 or 7 has three bits for a record's vCPU in place of six: the reader widens each record.
//!
//! The reader counts the records behind a `Define`: they hold code, which can look like any other entry.
//!
//! A replay through the same machine gives the same answers, bit for bit. The file holds the answers to compare with.

mod read_ahead;

use std::fs::File;
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use crate::record::{Record, VCPU_BITS};
use crate::words::{RECORD_BYTES, Words};
use read_ahead::{ReadAhead, words};

const MAGIC: &[u8; 8] = b"CXLTRACE";
const VERSION: u32 = 12;
/// The first version whose records name 64 vCPUs. Before, a record had [`NARROW_BITS`] for its vCPU.
const WIDE: u32 = 8;
const NARROW_BITS: u32 = 3;
/// The oldest version that is read: without closing, and without the description's check.
const WITHOUT_CLOSING: u32 = 6;
/// The first word of an answer: kind 15 and nothing above it, which no record has.
const ANSWER: u64 = ANSWER_KIND << VCPU_BITS;
const ANSWER_KIND: u64 = 15;
/// The first word of the closing, which is no record and no answer either.
const CLOSING: u64 = ANSWER | 1;

/// Bytes of a frame that the first pass looks at at once: whole records.
const SURVEYED: usize = RECORD_BYTES << 12;

/// Why a trace cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    #[error("TRC001: cannot open the trace {path}: {cause}")]
    Open { path: PathBuf, cause: io::Error },
    #[error("TRC002: {path} is no CXLab trace (it begins with {found:02x?})")]
    Foreign { path: PathBuf, found: [u8; 8] },
    #[error(
        "TRC003: {path} is a trace of version {found}, this CXLab reads versions {WITHOUT_CLOSING} to {VERSION}: record it again"
    )]
    Version { path: PathBuf, found: u32 },
    #[error("TRC004: {path} is damaged or cut short after {records} records: {cause}")]
    Damaged { path: PathBuf, records: u64, cause: String },
    #[error("TRC006: {path} has no closing record behind its {records} entries: it was cut, record it again")]
    Cut { path: PathBuf, records: u64 },
    #[error("TRC005: cannot write the trace {path}: {cause}")]
    Write { path: PathBuf, cause: io::Error },
}

/// Whether a recording has all that happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Completeness {
    /// the recorded run came to its own end
    Whole,
    /// the run was stopped before its end; what came until then is here
    CutShort,
    /// the trace has an older version, which does not record this
    Unknown,
}

/// An entry of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry {
    Words(Words),
    /// the model's answer to the last question `[ps]`
    Answer(u64),
}

impl Entry {
    /// The words of a record or of a payload; `None` of an answer.
    #[must_use]
    pub fn words(self) -> Option<Words> {
        match self {
            Entry::Words(words) => Some(words),
            Entry::Answer(_) => None,
        }
    }
}

/// Writes a trace. The file's owner gives it its name, or drops it: only the owner knows whether the run was complete.
pub struct TraceWriter {
    /// for messages
    path: PathBuf,
    encoder: zstd::Encoder<'static, BufWriter<File>>,
    /// entries so far
    entries: u64,
}

impl TraceWriter {
    /// Level 1: the stream is wide and regular, and the simulation waits for it.
    const LEVEL: i32 = 1;

    /// Begin a trace in `file`, which is empty; messages name it `path`.
    pub fn new(file: File, path: &Path, description: &str) -> Result<TraceWriter, TraceError> {
        let begin = || -> io::Result<_> {
            let mut file = BufWriter::new(file);
            file.write_all(MAGIC)?;
            file.write_all(&VERSION.to_le_bytes())?;
            file.write_all(&(description.len() as u32).to_le_bytes())?;
            file.write_all(description.as_bytes())?;
            file.write_all(&check(description.as_bytes()).to_le_bytes())?;
            let mut encoder = zstd::Encoder::new(file, Self::LEVEL)?;
            encoder.include_checksum(true)?;
            Ok(encoder)
        };
        let encoder = begin().map_err(|cause| TraceError::Write { path: path.into(), cause })?;
        Ok(TraceWriter { path: path.into(), encoder, entries: 0 })
    }

    pub fn words(&mut self, words: Words) -> Result<(), TraceError> {
        self.entries += 1;
        let mut bytes = [0u8; RECORD_BYTES];
        bytes[..8].copy_from_slice(&words[0].to_le_bytes());
        bytes[8..].copy_from_slice(&words[1].to_le_bytes());
        self.encoder.write_all(&bytes).map_err(|cause| TraceError::Write { path: self.path.clone(), cause })
    }

    pub fn answer(&mut self, ps: u64) -> Result<(), TraceError> {
        self.words([ANSWER, ps])
    }

    /// Close the trace and end the frame: everything is written when this returns.
    pub fn finish(mut self, is_whole: bool) -> Result<(), TraceError> {
        self.words([CLOSING, self.entries << 1 | u64::from(is_whole)])?;
        let TraceWriter { path, encoder, .. } = self;
        let close = || encoder.finish()?.flush();
        close().map_err(|cause| TraceError::Write { path, cause })
    }
}

/// Reads a trace from its beginning.
pub struct TraceReader {
    path: PathBuf,
    description: String,
    ahead: ReadAhead,
    completeness: Completeness,
    /// records have [`NARROW_BITS`] for their vCPU
    narrow: bool,
    /// entries read, and entries that there are
    records: u64,
    entries: u64,
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
        let version = u32::from_le_bytes(word);
        if !(WITHOUT_CLOSING..=VERSION).contains(&version) {
            return Err(TraceError::Version { path: path.into(), found: version });
        }
        let description = read_description(&mut file, version).map_err(damaged)?;
        let frame = file.stream_position().map_err(opening)?;
        let (entries, completeness) = survey(&file, version, path)?;
        file.seek(SeekFrom::Start(frame)).map_err(opening)?;
        let ahead = zstd::Decoder::new(file).and_then(ReadAhead::new).map_err(damaged)?;
        let (buffer, position) = (Vec::new(), 0);
        let path = path.into();
        let narrow = version < WIDE;
        Ok(TraceReader {
            path,
            description,
            ahead,
            completeness,
            narrow,
            records: 0,
            entries,
            payload: 0,
            buffer,
            position,
        })
    }

    /// Whether the recording has all that happened.
    #[must_use]
    pub fn completeness(&self) -> Completeness {
        self.completeness
    }

    /// The recorder's description of the machine and the run.
    #[must_use]
    pub fn description(&self) -> &str {
        &self.description
    }

    /// Share of the trace that was read, 0 to 1.
    #[must_use]
    pub fn share_read(&self) -> f64 {
        if self.entries == 0 { 1.0 } else { self.records as f64 / self.entries as f64 }
    }

    /// The next entry; `None` after the last one of a whole file.
    #[inline(always)]
    pub fn next_entry(&mut self) -> Result<Option<Entry>, TraceError> {
        if self.records == self.entries || (self.position == self.buffer.len() && !self.refill()?) {
            return Ok(None);
        }
        let mut words = self.buffer[self.position];
        self.position += 1;
        self.records += 1;
        if self.payload > 0 {
            self.payload -= 1;
            return Ok(Some(Entry::Words(words)));
        }
        if self.narrow {
            words = widened(words);
        }
        if words[0] == ANSWER {
            return Ok(Some(Entry::Answer(words[1])));
        }
        self.payload = Record::payload_of(words);
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

/// A record or an answer of a trace that has [`NARROW_BITS`] for the vCPU, as this version has it.
fn widened([first, second]: Words) -> Words {
    let vcpu = first & ((1 << NARROW_BITS) - 1);
    [first >> NARROW_BITS << VCPU_BITS | vcpu, second]
}

/// The check of a description: FNV-1a of 64 bits (Fowler, Noll and Vo; IETF draft-eastlake-fnv).
fn check(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

/// The description behind the version, believed when its check says so.
fn read_description(file: &mut File, version: u32) -> io::Result<String> {
    let mut length = [0u8; 4];
    file.read_exact(&mut length)?;
    let mut description = Vec::new();
    let length = u64::from(u32::from_le_bytes(length));
    if Read::by_ref(file).take(length).read_to_end(&mut description)? as u64 != length {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    if version > WITHOUT_CLOSING {
        let mut expected = [0u8; 8];
        file.read_exact(&mut expected)?;
        if u64::from_le_bytes(expected) != check(&description) {
            return Err(io::Error::other("the description does not have its checksum"));
        }
    }
    String::from_utf8(description).map_err(io::Error::other)
}

/// Read the frame from here to its end, which compares its checksum: how many entries there are, and whether all.
fn survey(file: &File, version: u32, path: &Path) -> Result<(u64, Completeness), TraceError> {
    let mut bytes = 0;
    let mut last = [0u8; RECORD_BYTES];
    let mut read = || -> io::Result<()> {
        let mut decoder = zstd::Decoder::new(file)?;
        let mut buffer = vec![0u8; SURVEYED];
        loop {
            let mut filled = 0;
            while filled < buffer.len() {
                match decoder.read(&mut buffer[filled..])? {
                    0 => break,
                    more => filled += more,
                }
            }
            if filled == 0 {
                return Ok(());
            }
            bytes += filled as u64;
            let Some(end) = buffer[..filled].last_chunk() else { break };
            last = *end;
        }
        Ok(())
    };
    let end = read();
    let records = bytes / RECORD_BYTES as u64;
    let damaged = |cause: String| TraceError::Damaged { path: path.into(), records, cause };
    end.map_err(|cause| damaged(cause.to_string()))?;
    if bytes % RECORD_BYTES as u64 != 0 {
        return Err(damaged("the last record is not whole".into()));
    }
    if version == WITHOUT_CLOSING {
        return Ok((records, Completeness::Unknown));
    }
    let [first, second] = words(&last);
    let entries = records.saturating_sub(1);
    let closing = if version < WIDE { ANSWER_KIND << NARROW_BITS | 1 } else { CLOSING };
    if records == 0 || first != closing || second >> 1 != entries {
        return Err(TraceError::Cut { path: path.into(), records });
    }
    Ok((entries, if second & 1 == 1 { Completeness::Whole } else { Completeness::CutShort }))
}
