//! A guest's stream that a test makes: records one after the other, to which no answer is needed.

use cxlab_access::Vcpu;
use cxlab_access::record::{RECORD_BYTES, Words};
use cxlab_access::ring::{Behind, Reply};
use cxlab_model::error::ModelError;
use cxlab_model::session::RecordSource;

/// Words as they come; the stream ends where they do.
pub struct Made<I>(pub I);

impl<I: Iterator<Item = Words>> RecordSource for Made<I> {
    fn words(&mut self) -> Result<Option<Words>, ModelError> {
        Ok(self.0.next())
    }

    fn words_at_hand(&mut self) -> Result<Option<Words>, ModelError> {
        self.words()
    }

    fn request_done(&mut self, _number: u32) {}

    fn slept(&mut self, _vcpu: Vcpu, _ps: u64) {}

    fn answer_sync(&mut self, _vcpu: Vcpu, _sequence: u64, _ps: u64) -> Result<(), ModelError> {
        Ok(())
    }

    fn answer_clock(&mut self, _sequence: u64, _ps: u64) -> Result<(), ModelError> {
        Ok(())
    }

    fn put_off(&mut self, _reply: Reply, _sequence: u64, _behind: Behind) {}

    fn is_recorded_elsewhere(&self) -> bool {
        false
    }

    fn share_read(&self) -> Option<f64> {
        None
    }
}

/// The bytes that follow a record, in pieces of its size; the last one is filled up with zeros.
pub fn payload(bytes: &[u8]) -> impl Iterator<Item = Words> {
    bytes.chunks(RECORD_BYTES).map(|chunk| {
        let mut whole = [0; RECORD_BYTES];
        whole[..chunk.len()].copy_from_slice(chunk);
        let both = u128::from_le_bytes(whole);
        [both as u64, (both >> 64) as u64]
    })
}
