//! A live guest: reads records from the ring, writes answers to it, and copies both to a trace if one is asked for.

use std::fs::File;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;

use cxlab_access::record::Words;
use cxlab_access::ring::{Behind, Reply};
use cxlab_access::trace::TraceWriter;
use cxlab_access::{Consumer, Peer, Vcpu};

use super::RecordSource;
use crate::error::ModelError;

/// The ring's reading end, the process that writes it, and who may ask us to stop.
pub struct Live {
    ring: Consumer,
    guest: Peer,
    stop: &'static AtomicBool,
    trace: Option<TraceWriter>,
    /// the guest ended, or we were asked to stop, before the last record
    cut_short: bool,
}

impl Live {
    #[must_use]
    pub fn new(ring: Consumer, guest: Peer, stop: &'static AtomicBool) -> Live {
        Live { ring, guest, stop, trace: None, cut_short: false }
    }

    /// Record all that comes into a trace in `file`; messages name it `path`.
    pub fn record(&mut self, file: File, path: &Path, description: &str) -> Result<(), ModelError> {
        self.trace = Some(TraceWriter::new(file, path, description)?);
        Ok(())
    }

    /// Whether the stream broke off.
    #[must_use]
    pub fn was_cut_short(&self) -> bool {
        self.cut_short
    }

    #[inline]
    fn keep(&mut self, words: Words) -> Result<Option<Words>, ModelError> {
        if let Some(trace) = &mut self.trace {
            trace.words(words)?;
        }
        Ok(Some(words))
    }

    /// End the trace, if there is one.
    pub fn finish(self) -> Result<(), ModelError> {
        if let Some(trace) = self.trace {
            trace.finish(!self.cut_short)?;
        }
        Ok(())
    }
}

impl RecordSource for Live {
    #[inline]
    fn words(&mut self) -> Result<Option<Words>, ModelError> {
        let words = match self.ring.pop() {
            Some(words) => words,
            None => match self.ring.pop_wait(&self.guest, || self.stop.load(Relaxed)) {
                Ok(words) => words,
                Err(_) => {
                    self.cut_short = true;
                    return Ok(None);
                }
            },
        };
        self.keep(words)
    }

    #[inline]
    fn words_at_hand(&mut self) -> Result<Option<Words>, ModelError> {
        self.ring.pop().map_or(Ok(None), |words| self.keep(words))
    }

    fn request_done(&mut self, number: u32) {
        self.ring.done(number);
    }

    fn slept(&mut self, vcpu: Vcpu, ps: u64) {
        self.ring.slept(vcpu, ps);
    }

    fn put_off(&mut self, reply: Reply, sequence: u64, behind: Behind) {
        self.ring.put_off(reply, sequence, behind);
    }

    fn is_recorded_elsewhere(&self) -> bool {
        false
    }

    fn share_read(&self) -> Option<f64> {
        None
    }

    fn answer_sync(&mut self, vcpu: Vcpu, sequence: u64, ps: u64) -> Result<(), ModelError> {
        self.ring.answer(Reply::Sync(vcpu), sequence, ps);
        self.trace.as_mut().map_or(Ok(()), |trace| Ok(trace.answer(ps)?))
    }

    fn answer_clock(&mut self, sequence: u64, ps: u64) -> Result<(), ModelError> {
        self.ring.answer(Reply::Clock, sequence, ps);
        self.trace.as_mut().map_or(Ok(()), |trace| Ok(trace.answer(ps)?))
    }
}
