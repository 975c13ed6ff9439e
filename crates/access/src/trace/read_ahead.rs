//! Reading ahead: a thread decompresses a trace and makes words of its bytes while the model works on what came before.
//!
//! ```text
//!   file -> zstd -> | full | full | ... | -> whoever replays
//!            ^------ | empty | <------------'
//! ```

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread;

use crate::words::{RECORD_BYTES, Words};

/// Size of a buffer that is decompressed at once `[records]`.
const BUFFER_RECORDS: usize = 1 << 12;
/// Buffers that may wait to be used.
const BUFFERS: usize = 16;

type Decoder = zstd::Decoder<'static, BufReader<File>>;

/// The records of a frame, in order.
pub struct ReadAhead {
    full: Receiver<io::Result<Vec<Words>>>,
    empty: Sender<Vec<Words>>,
    /// the frame has been read to its end
    ended: bool,
}

impl ReadAhead {
    /// Begin; the thread ends with the frame, at an error, or when this is dropped.
    pub fn new(decoder: Decoder) -> io::Result<ReadAhead> {
        let (fills, full) = sync_channel(BUFFERS);
        let (empty, empties) = channel();
        thread::Builder::new().name("trace".into()).spawn(move || fill(decoder, &fills, &empties))?;
        Ok(ReadAhead { full, empty, ended: false })
    }

    /// Replace what was read by what comes next: nothing at the end of the frame.
    pub fn next(&mut self, read: &mut Vec<Words>) -> io::Result<()> {
        let used = std::mem::take(read);
        // Nobody wants it any more when the frame has been read to its end.
        let _ = self.empty.send(used);
        if !self.ended {
            *read = self.full.recv().map_err(io::Error::other)??;
            self.ended = read.is_empty();
        }
        Ok(())
    }
}

fn fill(mut decoder: Decoder, fills: &SyncSender<io::Result<Vec<Words>>>, empties: &Receiver<Vec<Words>>) {
    let mut bytes = Vec::with_capacity(BUFFER_RECORDS * RECORD_BYTES);
    loop {
        let mut buffer = empties.try_recv().unwrap_or_default();
        buffer.clear();
        bytes.clear();
        let read = (&mut decoder).take((BUFFER_RECORDS * RECORD_BYTES) as u64).read_to_end(&mut bytes);
        let filled = read.and_then(|_| {
            let (records, rest) = bytes.as_chunks::<RECORD_BYTES>();
            buffer.extend(records.iter().map(words));
            if rest.is_empty() { Ok(buffer) } else { Err(io::Error::other("the last record is not whole")) }
        });
        let ends = !matches!(&filled, Ok(records) if !records.is_empty());
        if fills.send(filled).is_err() || ends {
            return;
        }
    }
}

/// A record's words from its bytes.
pub fn words(bytes: &[u8; RECORD_BYTES]) -> Words {
    let both = u128::from_le_bytes(*bytes);
    [both as u64, (both >> 64) as u64]
}
