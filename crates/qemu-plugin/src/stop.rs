//! The end of a run at its bound: the guest stands still until it has the supervisor's request to stop the program.
//!
//! ```text
//!   plugin --End--> model ends --> supervisor --a line--> socket --> the control port's receive queue --> interrupt
//!      '------ the guest stands still here, until the queue shows that the line is in ---------'
//! ```

use std::sync::OnceLock;
use std::sync::atomic::Ordering::{Acquire, Release};
use std::sync::atomic::{AtomicBool, AtomicU32};
use std::time::{Duration, Instant};

use crate::arguments::Arguments;
use crate::qemu::{self, BigLock, Cpu};
use crate::{end, port, series, turns};

/// Between two looks at the queue.
const PAUSE: Duration = Duration::from_micros(200);
/// Longest time that model and supervisor may take. The model still writes its results.
const MOST_WAIT: Duration = Duration::from_secs(180);
/// No request is awaited.
const NOTHING: u32 = u32::MAX;

/// the program's end has been told: no marker means anything any more
static OVER: AtomicBool = AtomicBool::new(false);
/// number of the control port on its bus
static PORT: OnceLock<u16> = OnceLock::new();
/// what the port had received when the run came to its bound
static BEFORE: AtomicU32 = AtomicU32::new(NOTHING);

pub fn start(arguments: &Arguments) {
    if let Some(port) = arguments.bounds.control {
        let _ = PORT.set(port);
    }
}

fn received(lock: &BigLock) -> u32 {
    let port = PORT.get().copied();
    port.and_then(|port| port::received(port, lock)).map_or(NOTHING, u32::from)
}

/// The program's end is told.
pub fn end_program() {
    OVER.store(true, Release);
}

pub fn program_has_ended() -> bool {
    OVER.load(Acquire)
}

/// The run has come to its bound, told by the stream: the vCPU, whose thread this is, stands still until the guest has the
/// request. The program goes on from there without timing, at the same place in every run.
pub fn is_over(vcpu: usize) {
    end_program();
    qemu::run_exclusively(vcpu, flush);
    expect(&BigLock::take());
    wait();
}

/// Asks for the end of the run while all vCPUs are idle: the request wakes one of them.
pub fn is_over_idle(lock: &BigLock) {
    end_program();
    qemu::run_exclusively(turns::speaker(), flush);
    expect(lock);
}

/// Throw all translations away.
pub unsafe extern "C" fn flush(cpu: Cpu, _data: u64) {
    // SAFETY: all vCPUs are stopped.
    unsafe { series::flush_translations(cpu) };
}

/// From here on the request is awaited.
fn expect(lock: &BigLock) {
    BEFORE.store(received(lock), Release);
}

/// Whether it is awaited and has not come.
pub fn is_awaited(lock: &BigLock) -> bool {
    let before = BEFORE.load(Acquire);
    before != NOTHING && received(lock) == before
}

/// Stand still until it has come. The caller is the vCPU's thread and does not hold the big lock.
fn wait() {
    let since = Instant::now();
    loop {
        let lock = BigLock::take();
        if !is_awaited(&lock) || qemu::ends(&lock) {
            return;
        }
        drop(lock);
        if since.elapsed() > MOST_WAIT {
            end::give_up(&format!(
                "the run has come to its bound, and nobody has stopped its program within {MOST_WAIT:?}"
            ));
        }
        std::thread::sleep(PAUSE);
    }
}
