//! The process at the other end: is it alive, and how to wait for it without burning a core for long.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::time::{Duration, Instant};

/// The other process has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the process at the other end of the ring has ended")]
pub struct PeerGone;

/// A process, held by a descriptor so that its number cannot come to mean another.
#[derive(Debug)]
pub struct Peer(OwnedFd);

impl Peer {
    /// The process with number `pid`.
    pub fn open(pid: u32) -> io::Result<Peer> {
        // SAFETY: pidfd_open(2) takes a number and flags and gives a new descriptor or -1.
        let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, libc::c_long::from(pid), 0) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the descriptor is new and ours.
        Ok(Peer(unsafe { OwnedFd::from_raw_fd(fd as i32) }))
    }

    /// Whether it has not ended; a process that nobody has reaped yet has ended.
    #[must_use]
    pub fn is_alive(&self) -> bool {
        let mut poll = libc::pollfd { fd: self.0.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: one valid pollfd, no waiting.
        unsafe { libc::poll(&raw mut poll, 1, 0) == 0 }
    }
}

/// How a side waits: spin, then yield, then sleep, looking after the peer while it sleeps.
pub struct Backoff<'a> {
    peer: &'a Peer,
    turns: u32,
    since: Option<Instant>,
}

const SPINS: u32 = 2_000;
const YIELDS: u32 = SPINS + 50;
const SLEEP: Duration = Duration::from_micros(50);
const LOOK_EVERY: Duration = Duration::from_millis(20);

impl<'a> Backoff<'a> {
    #[must_use]
    pub fn new(peer: &'a Peer) -> Backoff<'a> {
        Backoff { peer, turns: 0, since: None }
    }

    pub fn pause(&mut self) -> Result<(), PeerGone> {
        self.turns = self.turns.saturating_add(1);
        if self.turns <= SPINS {
            std::hint::spin_loop();
        } else if self.turns <= YIELDS {
            std::thread::yield_now();
        } else {
            std::thread::sleep(SLEEP);
            let since = self.since.get_or_insert_with(Instant::now);
            if since.elapsed() >= LOOK_EVERY {
                *since = Instant::now();
                if !self.peer.is_alive() {
                    return Err(PeerGone);
                }
            }
        }
        Ok(())
    }
}
