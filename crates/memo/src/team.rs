//! Load threads at work: each pinned, on memory of its own, counting lines until they are told to stop.

use crate::buffer::Buffer;
use crate::cpu;
use crate::error::{Error, Result};
use crate::list;
use crate::session::Session;
use crate::traffic::{Counter, Traffic};
use crate::with_vector;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

/// MEM003 unless there is a CPU for each thread, `reserved` of them being for others.
pub fn require_cpus(session: &Session, asked: usize, reserved: usize) -> Result<()> {
    let available = session.cpus.len();
    if (1..=available.saturating_sub(reserved)).contains(&asked) {
        return Ok(());
    }
    let extra = if reserved > 0 { ", one of which the latency thread has" } else { "" };
    let most = available.saturating_sub(reserved);
    Err(Error::Threads { asked, available, cpus: list::write(&session.cpus), extra, most })
}

/// Runs `measured` while a thread on each of `cpus` makes `traffic` in its buffer; returns what `measured` returns.
/// `measured` gets the counters once every thread has been at work for `warm_up`.
pub fn under_load<T>(
    session: &Session,
    traffic: &Traffic,
    cpus: &[usize],
    buffers: &[Buffer],
    warm_up: Duration,
    measured: impl FnOnce(&[Counter]) -> T,
) -> Result<T> {
    assert_eq!(cpus.len(), buffers.len(), "a buffer for each thread");
    let counters: Vec<Counter> = cpus.iter().map(|_| Counter::default()).collect();
    let (stop, ready) = (AtomicBool::new(false), AtomicUsize::new(0));
    let work = |index: usize| -> Result<()> {
        let pinned = cpu::pin(cpus[index]);
        ready.fetch_add(1, SeqCst);
        pinned?;
        let seed = session.seed.wrapping_add(index as u64);
        // SAFETY: the session's instruction set was detected; the buffer is this thread's alone.
        with_vector!(session.isa, V => unsafe { traffic.run::<V>(&buffers[index], seed, &counters[index], &stop) });
        Ok(())
    };
    let work = &work;
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..cpus.len()).map(|index| scope.spawn(move || work(index))).collect();
        while ready.load(SeqCst) < cpus.len() && !session.interrupt.has_come() {
            std::thread::sleep(Duration::from_micros(100));
        }
        session.interrupt.sleep(warm_up);
        let result = measured(&counters);
        stop.store(true, SeqCst);
        for thread in threads {
            thread.join().expect("a load thread does not panic")?;
        }
        Ok(result)
    })
}

/// Lines that all threads have moved so far.
#[must_use]
pub fn lines(counters: &[Counter]) -> u64 {
    counters.iter().map(Counter::lines).sum()
}
