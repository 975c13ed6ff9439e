//! The counters' port: a program asks for the machine's counters, and its vCPU stands still until they are in its port.
//!
//! ```text
//!   marker --> ring --> model --a line--> socket --> QEMU --> the port's receive queue --> interrupt
//!     '------ the vCPU waits here, until the queue shows that the line is in -------------'
//! ```
//! The interrupt is raised before the vCPU goes on, and taken at its next block. That is the same place in every run.
//! It costs what a message in memory costs. Of several vCPUs, one asks when none is behind it. Outside of detail the model sees nothing, and nobody answers.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

use crate::arguments::Arguments;
use crate::qemu::{self, BigLock};
use crate::{clock, end, port};

/// Between two looks at the queue.
const PAUSE: Duration = Duration::from_micros(20);
/// Longest time that the model may take. The records in the ring take it seconds at most.
const MOST_WAIT: Duration = Duration::from_secs(60);

/// number of the port on its bus
static PORT: OnceLock<u16> = OnceLock::new();

pub fn start(arguments: &Arguments) {
    if let Some(port) = arguments.counters {
        let _ = PORT.set(port);
    }
}

/// `tell` the model of the question, and stand still until the answer is in the port; nothing where there is no port.
/// The caller is the vCPU's thread and does not hold the big lock.
pub fn ask(tell: impl FnOnce()) {
    let Some(&port) = PORT.get() else { return };
    // What one of several vCPUs has been told by now is no time-stamp of the guest's.
    clock::take_clock_read();
    let before = port::received(port, &BigLock::take());
    tell();
    let since = Instant::now();
    loop {
        let lock = BigLock::take();
        if port::received(port, &lock) != before || qemu::ends(&lock) {
            return;
        }
        drop(lock);
        if since.elapsed() > MOST_WAIT {
            end::give_up(&format!("the model has put no counters into port {port} within {MOST_WAIT:?}"));
        }
        std::thread::sleep(PAUSE);
    }
}
