//! Reading ahead: a thread decompresses a trace while the model works on what came before.
//!
//! ```text
//!   file -> zstd -> | full | full | ... | -> whoever replays
//!            ^------ | empty | <------------'
//! ```

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread;

/// What is decompressed at once [B].
const BUFFER_BYTES: usize = 1 << 16;
/// Buffers that may wait to be used.
const BUFFERS: usize = 16;

type Decoder = zstd::Decoder<'static, BufReader<File>>;

/// The decompressed bytes of a frame, in order.
pub struct ReadAhead {
    full: Receiver<io::Result<Vec<u8>>>,
    empty: Sender<Vec<u8>>,
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
    pub fn next(&mut self, read: &mut Vec<u8>) -> io::Result<()> {
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

fn fill(mut decoder: Decoder, fills: &SyncSender<io::Result<Vec<u8>>>, empties: &Receiver<Vec<u8>>) {
    loop {
        let mut buffer = empties.try_recv().unwrap_or_default();
        buffer.clear();
        let filled = (&mut decoder).take(BUFFER_BYTES as u64).read_to_end(&mut buffer);
        let ends = !matches!(filled, Ok(read) if read > 0);
        if fills.send(filled.map(|_| buffer)).is_err() || ends {
            return;
        }
    }
}
