//! The counters of the simulated machine that this program runs on.
//!
//! ```text
//!   sleep an interval of simulated time --> marker instruction --> the machine puts a line into its serial port --> read it
//! ```
//! Linux lets a busy program run on for its slice, some milliseconds, before a sleeper that has woken gets the
//! processor. An interval may be shorter than that. So the sensor takes the lowest real-time priority (man 7 sched).
//!
//! The marker is a NOP everywhere else. The guest's time stands still from the marker until the line is in the port.
//! So a run gives the same samples again, however fast the host is. Source: crates/access/src/marker.rs (the marker's
//! bytes), crates/model/src/summary/counters.rs (the line).

use super::{Reading, Stream};
use crate::error::{Error, Result};
use crate::interrupt::{Interrupt, Woken};
use std::path::Path;
use std::time::Duration;

#[derive(Debug)]
pub struct Simulated {
    port: Stream,
    interval: Duration,
    /// The first interval begins with a reading that is no sample.
    begun: bool,
}

impl Simulated {
    /// `patience`: how long the port may be silent before nobody is taken to be there.
    pub fn open(port: &Path, interval: Duration, patience: Duration) -> Result<Simulated> {
        let port = Stream::open(port, patience)?;
        be_punctual().map_err(Error::io("take a real-time priority for", "this process"))?;
        Ok(Simulated { port, interval, begun: false })
    }

    pub fn name(&self) -> String {
        format!("the simulated machine's counters ({})", self.port.name())
    }

    pub fn next(&mut self, interrupt: &Interrupt) -> Result<Reading> {
        if !std::mem::replace(&mut self.begun, true) {
            match self.read(interrupt)? {
                Reading::Sample(_) => {}
                other => return Ok(other),
            }
        }
        if interrupt.sleep(self.interval)? == Woken::Interrupted {
            return Ok(Reading::Interrupted);
        }
        self.read(interrupt)
    }

    fn read(&mut self, interrupt: &Interrupt) -> Result<Reading> {
        ask();
        self.port.next(interrupt)
    }
}

/// Run as soon as the sleep is over; the programs that this process starts do not.
fn be_punctual() -> std::io::Result<()> {
    // SAFETY: a parameter structure of plain integers, of this process; the call reads it.
    let code = unsafe {
        let mut lowest: libc::sched_param = std::mem::zeroed();
        lowest.sched_priority = 1;
        libc::sched_setscheduler(0, libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK, &raw const lowest)
    };
    if code == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) }
}

/// Marker 0x102.
fn ask() {
    // SAFETY: a NOP of eight bytes: it changes no register and no memory that the compiler knows of.
    unsafe { std::arch::asm!(".byte 0x0f, 0x1f, 0x84, 0x00, 0x02, 0x01, 0xc5, 0x1a") }
}
