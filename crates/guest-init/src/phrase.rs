//! Texts that are awaited in the program's output: detail begins at one, the program ends at the other.
//!
//! ```text
//!   pipe --> [from: pass on, then MARKER from output]   [to: MARKER end, kill, then pass on] --> port
//! ```
//!
//! The second is looked for behind the first. Each stream is searched by itself. With a checkpoint the first is where the
//! machine's state is saved, and the second is the start's.

use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Release};
use std::sync::{Arc, Mutex};

use crate::checkpoint::Checkpoint;
use crate::program;
use crate::protocol::{ByteString, Run, Start};
use cxlab_marker::{FROM_OUTPUT, PROGRAM_END, marker};

/// A text that has or has not come, in pieces.
#[derive(Clone, Debug)]
struct Phrase {
    text: Vec<u8>,
    /// the end of what has come, shorter than the text
    tail: Vec<u8>,
}

impl Phrase {
    fn new(text: Vec<u8>) -> Phrase {
        Phrase { text, tail: Vec::new() }
    }

    /// Place in this piece at which the text ends, if it does.
    fn ends_in(&mut self, piece: &[u8]) -> Option<usize> {
        let known = self.tail.len();
        self.tail.extend_from_slice(piece);
        let at = self.tail.windows(self.text.len().max(1)).position(|bytes| bytes == self.text);
        if let Some(at) = at {
            return Some((at + self.text.len()).saturating_sub(known));
        }
        let kept = self.tail.len().min(self.text.len().saturating_sub(1));
        self.tail.drain(..self.tail.len() - kept);
        None
    }
}

/// Progress of a run between its beginning and its end. Each is a text in any stream, or a function.
#[derive(Debug, Default)]
pub struct Heard {
    /// detail begins somewhere within the program
    awaits: bool,
    from: AtomicBool,
    to: AtomicBool,
    /// the second text of a run that goes on from a checkpoint
    of_start: Mutex<Option<Vec<u8>>>,
}

impl Heard {
    pub fn new(run: &Run) -> Heard {
        Heard { awaits: run.from_output.is_some() || run.from_symbol.is_some(), ..Heard::default() }
    }

    fn start(&self, start: Start) {
        *self.of_start.lock().expect("nobody panics with it") = start.to_output.map(ByteString::into_bytes);
    }

    fn of_start(&self) -> Option<Vec<u8>> {
        self.of_start.lock().expect("nobody panics with it").clone()
    }

    /// Whether what may end the program counts: its beginning has come, or it needs none.
    pub fn counts(&self) -> bool {
        !self.awaits || self.has_begun()
    }

    pub fn has_begun(&self) -> bool {
        self.from.load(Acquire)
    }

    pub fn has_ended(&self) -> bool {
        self.to.load(Acquire)
    }

    /// The beginning has come: whether it is the first.
    pub fn begin(&self) -> bool {
        !self.from.swap(true, AcqRel)
    }

    /// The end has come.
    pub fn end(&self) {
        self.to.store(true, Release);
        marker::<PROGRAM_END>();
        program::kill_all();
    }
}

/// The texts that are awaited in one stream.
pub struct Awaited {
    from: Option<Phrase>,
    to: Option<Phrase>,
    heard: Arc<Heard>,
    /// the machine's state is saved at the first text
    checkpoint: Option<Arc<Checkpoint>>,
}

impl Awaited {
    pub fn new(run: &Run, heard: &Arc<Heard>, checkpoint: Option<Arc<Checkpoint>>) -> Awaited {
        let phrase = |text: &Option<ByteString>| text.clone().map(|text| Phrase::new(text.into_bytes()));
        let (from, to) = (phrase(&run.from_output), phrase(&run.to_output));
        Awaited { from, to, heard: Arc::clone(heard), checkpoint }
    }

    /// If a text is awaited, this lets the thread run as soon as the program has written. Otherwise the program would
    /// go on until the scheduler takes its processor away, milliseconds after the text.
    pub fn run_at_once(&self) {
        if self.from.is_some() || self.to.is_some() {
            run_at_once();
        }
    }

    /// Give a piece of the stream to the host by `pass_on`; a text that comes with it has its effect.
    pub fn pass<E>(&mut self, piece: &[u8], pass_on: impl FnOnce(&[u8]) -> Result<(), E>) -> Result<(), E> {
        let (begins, ends) = self.hear(piece);
        if ends && !begins {
            self.heard.end();
        }
        pass_on(piece)?;
        if begins && self.heard.begin() {
            match &self.checkpoint {
                Some(checkpoint) => self.heard.start(checkpoint.take()),
                None => marker::<FROM_OUTPUT>(),
            }
        }
        if ends && begins {
            self.heard.end();
        }
        Ok(())
    }

    /// Whether the text that detail begins with comes with this piece, and the one that the program ends at.
    fn hear(&mut self, piece: &[u8]) -> (bool, bool) {
        let mut rest = piece;
        let mut begins = false;
        if self.to.is_none() && self.checkpoint.is_some() {
            self.to = self.heard.of_start().map(Phrase::new);
        }
        if let Some(from) = self.from.as_mut().filter(|_| !self.heard.has_begun()) {
            let found = from.ends_in(piece);
            begins = found.is_some();
            rest = &piece[found.unwrap_or(piece.len())..];
        }
        let listens = (begins || self.heard.counts()) && !self.heard.has_ended();
        let ends = listens && self.to.as_mut().is_some_and(|to| to.ends_in(rest).is_some());
        (begins, ends)
    }
}

/// Let this thread run as soon as it has something to do, before every program.
pub fn run_at_once() {
    let lowest = libc::sched_param { sched_priority: 1 };
    // SAFETY: sets the policy of this thread. Init is root: it is not refused.
    unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const lowest) };
}

#[cfg(test)]
mod tests {
    use super::*;

    fn phrase(text: &str) -> Phrase {
        Phrase::new(text.into())
    }

    #[test]
    fn a_text_is_found_in_one_piece_and_across_pieces() {
        assert_eq!(phrase("ready").ends_in(b"it is ready now"), Some(11));
        let mut split = phrase("ready");
        assert_eq!(split.ends_in(b"it is re"), None);
        assert_eq!(split.ends_in(b"ad"), None);
        assert_eq!(split.ends_in(b"y now"), Some(1));
    }

    #[test]
    fn what_only_looks_like_its_beginning_is_passed_over() {
        let mut phrase = phrase("aab");
        assert_eq!(phrase.ends_in(b"aa"), None);
        assert_eq!(phrase.ends_in(b"a"), None);
        assert_eq!(phrase.ends_in(b"b"), Some(1));
        assert!(phrase.tail.len() < 8);
    }

    #[test]
    fn what_is_kept_stays_shorter_than_the_text() {
        let mut phrase = phrase("ready");
        for _ in 0..100 {
            assert_eq!(phrase.ends_in(&[b'r'; 1000]), None);
            assert!(phrase.tail.len() < 5);
        }
    }
}
