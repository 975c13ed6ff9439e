//! The process at the other end of the ring: whether it is alive, and how to wait for it without burning a core for
//! long.

use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::time::{Duration, Instant};

use super::bell::Bell;

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

/// Whether other processes want the processor that this side waits on, as far as its last waits have shown.
#[derive(Clone, Copy, Debug, Default)]
pub struct Crowd {
    /// waits for which that is taken as known, also those that end at the first look
    waits: u8,
}

/// A wait of one side: it looks again and again, then sleeps at its bell, and looks after the peer.
///
/// ```text
///   alone     looks and yields in turn for a tenth of a millisecond, then naps between two looks
///   crowded   looks for some microseconds, then sleeps
/// ```
///
/// To wake a processor that sleeps takes longer than most waits. So a side that is alone looks on. Where others want the
/// processor, a yield lasts until they have had theirs, for milliseconds, while a side that is rung comes before them.
/// A yield that lasted long shows that.
pub struct Backoff<'a> {
    peer: &'a Peer,
    crowd: Crowd,
    looks: u32,
    is_set: bool,
    since: Option<Instant>,
}

/// Looks between two yields: half a microsecond, about what a yield costs.
const YIELD_EVERY: u32 = 16;
/// Looks before it sleeps, alone and in a crowd.
const LOOKS: u32 = 2_000;
const LOOKS_IN_A_CROWD: u32 = 100;
/// A yield that lasts longer let another process run.
const LONG: Duration = Duration::from_millis(1);
/// Waits before it is tried again whether others are there.
const CROWDED: u8 = 100;
/// Sleep between two looks of a side that is alone.
const NAP: Duration = Duration::from_micros(50);
const LOOK_EVERY: Duration = Duration::from_millis(20);

impl<'a> Backoff<'a> {
    #[must_use]
    pub fn new(peer: &'a Peer, crowd: Crowd) -> Backoff<'a> {
        let crowd = Crowd { waits: crowd.waits.saturating_sub(1) };
        Backoff { peer, crowd, looks: 0, is_set: false, since: None }
    }

    /// The state of the crowd that this wait has shown, for the next one.
    #[must_use]
    pub fn crowd(&self) -> Crowd {
        self.crowd
    }

    /// Waits a little, because nothing was there yet. The waiter has to look once more behind this call. One that finds it then may
    /// leave its bell set: the peer rings it once for nobody.
    pub fn pause(&mut self, bell: &Bell) -> Result<(), PeerGone> {
        let crowded = self.crowd.waits > 0;
        if self.looks < if crowded { LOOKS_IN_A_CROWD } else { LOOKS } {
            self.look_again(crowded);
            return Ok(());
        }
        if !crowded {
            std::thread::sleep(NAP);
        } else {
            self.is_set = !self.is_set;
            if self.is_set {
                bell.set();
                return Ok(());
            }
            bell.sleep(LOOK_EVERY);
        }
        let since = self.since.get_or_insert_with(Instant::now);
        if since.elapsed() >= LOOK_EVERY {
            *since = Instant::now();
            if !self.peer.is_alive() {
                return Err(PeerGone);
            }
        }
        Ok(())
    }

    fn look_again(&mut self, crowded: bool) {
        self.looks += 1;
        if crowded || !self.looks.is_multiple_of(YIELD_EVERY) {
            std::hint::spin_loop();
            return;
        }
        let begun = Instant::now();
        std::thread::yield_now();
        if begun.elapsed() >= LONG {
            self.crowd.waits = CROWDED;
        }
    }
}
