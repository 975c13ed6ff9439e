//! Waiting that a signal ends: SIGINT, SIGTERM and SIGHUP become bytes in a pipe, and every wait polls that pipe too.

use crate::error::{Error, Result};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

#[derive(Debug)]
pub struct Interrupt {
    pipe: UnixStream,
}

/// Why a wait ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Woken {
    /// A signal asks for the end; every later wait says so too.
    Interrupted,
    Readable,
    TimedOut,
}

impl Interrupt {
    /// From now on the three signals end waits, not the process.
    pub fn install() -> Result<Interrupt> {
        let failed = || Error::io("handle", "signals");
        let (pipe, write) = UnixStream::pair().map_err(failed())?;
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            let end = write.try_clone().map_err(failed())?;
            signal_hook::low_level::pipe::register(signal, end).map_err(failed())?;
        }
        Ok(Interrupt { pipe })
    }

    pub fn sleep(&self, duration: Duration) -> Result<Woken> {
        self.wait(None, Some(duration))
    }

    /// Whether a signal has come; does not wait.
    pub fn has_come(&self) -> Result<bool> {
        Ok(self.sleep(Duration::ZERO)? == Woken::Interrupted)
    }

    /// Waits for input, for a signal, or for the time.
    pub fn wait(&self, input: Option<BorrowedFd<'_>>, timeout: Option<Duration>) -> Result<Woken> {
        let deadline = timeout.map(|t| Instant::now() + t);
        loop {
            let mut polled = vec![PollFd::new(&self.pipe, PollFlags::IN)];
            if let Some(input) = &input {
                polled.push(PollFd::from_borrowed_fd(input.as_fd(), PollFlags::IN));
            }
            let left = deadline.map(|d| d.saturating_duration_since(Instant::now()));
            let left = left.map(|l| Timespec { tv_sec: l.as_secs() as i64, tv_nsec: i64::from(l.subsec_nanos()) });
            match poll(&mut polled, left.as_ref()) {
                Err(rustix::io::Errno::INTR) => continue,
                Err(e) => return Err(Error::io("wait for", "input")(e.into())),
                Ok(0) => return Ok(Woken::TimedOut),
                Ok(_) if !polled[0].revents().is_empty() => return Ok(Woken::Interrupted),
                Ok(_) => return Ok(Woken::Readable),
            }
        }
    }
}
