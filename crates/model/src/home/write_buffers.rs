//! A slice's write buffers: they hold lines of non-temporal stores until the memory has them.
//!
//! ```text
//!   movnt --> [buffer | waits for its turn, outside the table] --> table of requests --> memory has the line: free
//!   reads ----------------------------------------------------> table of requests, past the waiting lines
//! ```
//!
//! A changed line of the LLC needs no buffer, because the LLC holds its data until the memory takes them. Not modelled:
//! buffers for what clflush and clwb write. Source: no document names the number. A read beside 4 to 32 threads that
//! write past the caches waits behind a bounded number of lines (EuroSys'24, Tang et al., artifact). See
//! docs/decisions/write-buffers.md.

use cxlab_kernel::{Slots, Time, Turns};

use super::{Event, Home, HomeSpec, Queue};
use crate::cache::SliceId;
use crate::request::{Op, RequestKey};

/// The write buffers of each slice.
#[derive(Clone)]
pub struct WriteBuffers {
    /// by slice; `None` if the host file bounds nothing
    slices: Option<Box<[Slots<Turns<RequestKey>>]>>,
}

impl WriteBuffers {
    pub fn new(spec: &HomeSpec, slices: usize, cores: usize) -> WriteBuffers {
        let buffers = |total: u32| (0..slices).map(|_| Slots::in_turns(total, cores)).collect();
        WriteBuffers { slices: spec.write_buffers.as_ref().map(|total| buffers(**total)) }
    }
}

impl Home {
    /// Takes a buffer of the slice if the request needs one. Returns whether the request goes on at once. If it has to
    /// wait, [`Event::Buffered`] follows.
    #[inline]
    pub(super) fn take_write_buffer<Q: Queue>(&mut self, now: Time, key: RequestKey, queue: &mut Q) -> bool {
        let request = &mut self.requests[key];
        let Some(slices) = &mut self.write_buffers.slices else { return true };
        if !matches!(request.op, Op::NonTemporal | Op::NonTemporalPart) {
            return true;
        }
        let buffers = &mut slices[usize::from(request.slice.0)];
        request.buffered = true;
        match buffers.take(now) {
            Some(at) if at == now => return true,
            Some(at) => queue.schedule(at, Event::Buffered(key)),
            None => buffers.wait_for_turn(usize::from(request.core().0), key),
        }
        false
    }

    /// Frees a buffer of the slice and gives free buffers to the next waiters.
    #[inline]
    pub(super) fn give_back_write_buffer<Q: Queue>(&mut self, now: Time, slice: SliceId, queue: &mut Q) {
        let Some(slices) = &mut self.write_buffers.slices else { return };
        let buffers = &mut slices[usize::from(slice.0)];
        buffers.give_back(now);
        while let Some((next, free)) = buffers.serve() {
            queue.schedule(free.max(now), Event::Buffered(next));
        }
    }
}
