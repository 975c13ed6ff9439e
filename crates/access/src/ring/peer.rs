//! The process at the other end of the ring: whether it is alive, and how to wait for it without burning a core for
//! long.

use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::time::{Duration, Instant};

/// The other process has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the process at the other end of the ring has ended")]
pub struct PeerGone;

/// The other process, by the reading end of a pipe that only it has the writing end of.
///
/// A process's number would mean nothing here: each process sits in a PID namespace of its own.
#[derive(Debug)]
pub struct Peer(OwnedFd);

impl Peer {
    /// The process behind the pipe.
    #[must_use]
    pub fn new(pipe: OwnedFd) -> Peer {
        Peer(pipe)
    }

    /// The process behind the pipe `fd`, inherited.
    ///
    /// # Safety
    /// The descriptor is open, and nobody else in this process uses it.
    #[must_use]
    pub unsafe fn inherited(fd: RawFd) -> Peer {
        // SAFETY: the caller says so.
        Peer(unsafe { OwnedFd::from_raw_fd(fd) })
    }

    /// Whether it has not ended: the kernel closes the writing end with the process.
    #[must_use]
    pub fn is_alive(&self) -> bool {
        let mut poll = libc::pollfd { fd: self.0.as_raw_fd(), events: 0, revents: 0 };
        // Nobody writes: the only event is POLLHUP, which needs no asking for.
        // SAFETY: one valid pollfd, no waiting.
        unsafe { libc::poll(&raw mut poll, 1, 0) == 0 }
    }
}

/// A wait of one side. It spins and yields in turn, then sleeps, and looks after the peer while it sleeps.
///
/// Whether the peer runs meanwhile is not known: on a busy host it may stand in line behind this very wait. So a wait
/// offers its processor early. Where nobody takes it, a yield costs a system call.
pub struct Backoff<'a> {
    peer: &'a Peer,
    turns: u32,
    since: Option<Instant>,
}

/// Every so many looks end with a yield: half a microsecond, about what a yield costs `[looks]`.
const YIELD_EVERY: u32 = 16;
/// Looks before it sleeps: about a tenth of a millisecond.
const LOOKS: u32 = 2_000;
const SLEEP: Duration = Duration::from_micros(50);
const LOOK_EVERY: Duration = Duration::from_millis(20);

impl<'a> Backoff<'a> {
    #[must_use]
    pub fn new(peer: &'a Peer) -> Backoff<'a> {
        Backoff { peer, turns: 0, since: None }
    }

    pub fn pause(&mut self) -> Result<(), PeerGone> {
        self.turns = self.turns.saturating_add(1);
        if self.turns > LOOKS {
            std::thread::sleep(SLEEP);
            let since = self.since.get_or_insert_with(Instant::now);
            if since.elapsed() >= LOOK_EVERY {
                *since = Instant::now();
                if !self.peer.is_alive() {
                    return Err(PeerGone);
                }
            }
        } else if self.turns.is_multiple_of(YIELD_EVERY) {
            std::thread::yield_now();
        } else {
            std::hint::spin_loop();
        }
        Ok(())
    }
}
