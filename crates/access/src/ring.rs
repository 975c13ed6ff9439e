//! The ring: one producer, one consumer, in memory that both processes map.
//!
//! ```text
//!   | header: magic, capacity | head | tail | replies | records ................................ |
//!                               ^producer     ^consumer answers sync points and clock reads
//! ```
//!
//! A side that waits looks again and again for some microseconds. Then it sleeps until the other side rings. It looks whether the
//! other process is still alive. If that process dies, the wait ends within a few milliseconds. Not modelled here: more than one
//! producer.

mod bell;
mod header;
mod peer;

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr::NonNull;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

pub use header::{Behind, Header, Reply, Told};
pub use peer::{Backoff, Crowd, Peer, PeerGone};

use crate::record::{Record, Vcpu};
use crate::words::{RECORD_BYTES, Words};

/// Records in a ring as CXLab makes it: 4 MiB.
pub const CAPACITY: usize = 1 << 18;

/// A ring mapped into this process; unmapped when dropped.
pub struct Ring {
    map: NonNull<u8>,
    capacity: usize,
}

// SAFETY: the mapping is shared memory. It is only reached through atomics and through the SPSC protocol of Producer
// and Consumer. So any thread can use it.
unsafe impl Send for Ring {}
// SAFETY: as above; a shared reference only gives the header's atomics.
unsafe impl Sync for Ring {}

impl Ring {
    /// Bytes of shared memory that a ring of `capacity` records takes `[B]`.
    #[must_use]
    pub const fn bytes(capacity: usize) -> usize {
        size_of::<Header>() + capacity * RECORD_BYTES
    }

    /// Map the shared memory behind `fd` and lay a fresh ring into it.
    pub fn create(fd: BorrowedFd<'_>, capacity: usize) -> io::Result<Ring> {
        assert!(capacity.is_power_of_two(), "a ring's capacity is a power of two");
        let ring = Self::map(fd, capacity)?;
        ring.header().initialise(capacity);
        Ok(ring)
    }

    /// Map a ring that the other side has made.
    pub fn open(fd: BorrowedFd<'_>) -> io::Result<Ring> {
        let probe = Self::map(fd, 0)?;
        let capacity = probe.header().checked_capacity().map_err(io::Error::other)?;
        drop(probe);
        Self::map(fd, capacity)
    }

    fn map(fd: BorrowedFd<'_>, capacity: usize) -> io::Result<Ring> {
        let length = Self::bytes(capacity);
        // SAFETY: fstat writes into a zeroed stat of the right type.
        let size = unsafe {
            let mut stat: libc::stat = std::mem::zeroed();
            if libc::fstat(fd.as_raw_fd(), &raw mut stat) != 0 {
                return Err(io::Error::last_os_error());
            }
            stat.st_size
        };
        if (size as u64) < length as u64 {
            return Err(io::Error::other(format!("the shared memory has {size} B, the ring needs {length} B")));
        }
        // SAFETY: a fresh mapping of at least `length` bytes of a file that is large enough.
        let map = unsafe {
            let protection = libc::PROT_READ | libc::PROT_WRITE;
            libc::mmap(std::ptr::null_mut(), length, protection, libc::MAP_SHARED, fd.as_raw_fd(), 0)
        };
        if map == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(Ring { map: NonNull::new(map.cast()).expect("mmap gives no null"), capacity })
    }

    /// Words that both sides share beside the records.
    #[must_use]
    pub fn header(&self) -> &Header {
        // SAFETY: the mapping holds a Header at its start, aligned to a page, for as long as self lives.
        unsafe { self.map.cast().as_ref() }
    }

    #[inline]
    fn slot(&self, position: u64) -> *mut Words {
        let index = position as usize & (self.capacity - 1);
        // SAFETY: index < capacity, and the mapping has capacity records after the header.
        unsafe { self.map.as_ptr().add(size_of::<Header>()).cast::<Words>().add(index) }
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: map and length are those of the mapping made in `map`.
        unsafe { libc::munmap(self.map.as_ptr().cast(), Self::bytes(self.capacity)) };
    }
}

/// The side that writes records.
pub struct Producer {
    ring: Ring,
    /// next position to write `[records]`
    head: u64,
    /// positions below this are visible to the consumer `[records]`
    published: u64,
    /// the consumer's position when last looked `[records]`
    tail: u64,
    crowd: Crowd,
}

/// Records written before they are shown to the consumer; sync points and waits show them at once.
const BATCH: u64 = 128;

impl Producer {
    #[must_use]
    pub fn new(ring: Ring) -> Producer {
        let head = ring.header().head.load(Acquire);
        Producer { ring, head, published: head, tail: 0, crowd: Crowd::default() }
    }

    #[must_use]
    pub fn header(&self) -> &Header {
        self.ring.header()
    }

    /// Write one record of a vCPU, waiting for room.
    #[inline]
    pub fn push(&mut self, vcpu: Vcpu, record: Record, peer: &Peer) -> Result<(), PeerGone> {
        self.push_words(record.encode(vcpu), peer)
    }

    /// Write a record and the bytes behind it.
    pub fn define(&mut self, vcpu: Vcpu, record: Record, payload: &[u8], peer: &Peer) -> Result<(), PeerGone> {
        self.push(vcpu, record, peer)?;
        for chunk in payload.chunks(RECORD_BYTES) {
            let mut bytes = [0u8; RECORD_BYTES];
            bytes[..chunk.len()].copy_from_slice(chunk);
            let [low, high] = [0, 8].map(|at| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("8 bytes")));
            self.push_words([low, high], peer)?;
        }
        Ok(())
    }

    #[inline]
    fn push_words(&mut self, words: Words, peer: &Peer) -> Result<(), PeerGone> {
        if self.head - self.tail >= self.ring.capacity as u64 {
            self.wait_for_room(peer)?;
        }
        // SAFETY: the slot is between the consumer's tail and our unpublished head: only we touch it.
        unsafe { self.ring.slot(self.head).write(words) };
        self.head += 1;
        if self.head - self.published >= BATCH {
            self.publish();
        }
        Ok(())
    }

    #[cold]
    fn wait_for_room(&mut self, peer: &Peer) -> Result<(), PeerGone> {
        self.publish();
        let mut backoff = Backoff::new(peer, self.crowd);
        loop {
            self.tail = self.ring.header().tail.load(Acquire);
            if self.head - self.tail < self.ring.capacity as u64 {
                self.crowd = backoff.crowd();
                return Ok(());
            }
            backoff.pause(&self.ring.header().producer)?;
        }
    }

    /// Show the consumer all that was written.
    #[inline]
    pub fn publish(&mut self) {
        self.published = self.head;
        let header = self.ring.header();
        header.head.store(self.head, Release);
        header.consumer.ring();
    }

    /// Wait until the consumer has answered question `sequence` (from 1): its answer.
    pub fn wait_for(&mut self, reply: Reply, sequence: u64, peer: &Peer) -> Result<Told, PeerGone> {
        self.publish();
        let mut backoff = Backoff::new(peer, self.crowd);
        loop {
            if let Some(told) = self.ring.header().reply(reply, sequence).read(sequence) {
                self.crowd = backoff.crowd();
                return Ok(told);
            }
            backoff.pause(&self.ring.header().producer)?;
        }
    }
}

/// The side that reads records.
pub struct Consumer {
    ring: Ring,
    /// next position to read `[records]`
    tail: u64,
    /// the producer's position when last looked `[records]`
    head: u64,
    /// requests that devices have done
    done: u64,
    crowd: Crowd,
}

impl Consumer {
    #[must_use]
    pub fn new(ring: Ring) -> Consumer {
        let tail = ring.header().tail.load(Acquire);
        Consumer { ring, tail, head: tail, done: 0, crowd: Crowd::default() }
    }

    #[must_use]
    pub fn header(&self) -> &Header {
        self.ring.header()
    }

    /// The next sixteen bytes, if the producer has shown them.
    #[inline]
    pub fn pop(&mut self) -> Option<Words> {
        if self.tail == self.head {
            // Nothing is left that was seen: give the room back and look again.
            self.give_back();
            self.head = self.ring.header().head.load(Acquire);
            if self.tail == self.head {
                return None;
            }
        }
        // SAFETY: tail < head, so the producer has published the slot and will not touch it before tail moves.
        let words = unsafe { self.ring.slot(self.tail).read() };
        self.tail += 1;
        if self.tail.is_multiple_of(BATCH) {
            self.give_back();
        }
        Some(words)
    }

    /// Gives the room of what was read back to the producer.
    fn give_back(&self) {
        let header = self.ring.header();
        header.tail.store(self.tail, Release);
        header.producer.ring();
    }

    /// The next sixteen bytes, waiting for them. `stop` is asked while waiting.
    pub fn pop_wait(&mut self, peer: &Peer, stop: impl Fn() -> bool) -> Result<Words, PeerGone> {
        let mut backoff = Backoff::new(peer, self.crowd);
        loop {
            if let Some(words) = self.pop() {
                self.crowd = backoff.crowd();
                return Ok(words);
            }
            if stop() {
                return Err(PeerGone);
            }
            if let Err(gone) = backoff.pause(&self.ring.header().consumer) {
                // It may have written its last words between our look and its death.
                return self.pop().ok_or(gone);
            }
        }
    }

    /// Answer the producer.
    pub fn answer(&self, reply: Reply, sequence: u64, ps: u64) {
        let header = self.ring.header();
        header.reply(reply, sequence).write(sequence, ps, self.done);
        header.producer.ring();
    }

    /// A device has done a request: the next answer says so.
    pub fn done(&mut self, number: u32) {
        self.ring.header().set_done(self.done, number);
        self.done += 1;
    }

    /// Until the next answer, a vCPU has slept for so long in all `[ps]`.
    pub fn slept(&self, vcpu: Vcpu, ps: u64) {
        self.ring.header().set_slept(vcpu, ps);
    }

    /// Tell the producer that the answer needs what another vCPU does before.
    pub fn put_off(&self, reply: Reply, sequence: u64, behind: Behind) {
        let header = self.ring.header();
        header.reply(reply, sequence).put_off(sequence, behind);
        header.producer.ring();
    }

    /// Records seen and not yet read.
    #[must_use]
    pub fn backlog(&self) -> u64 {
        self.ring.header().head.load(Relaxed) - self.tail
    }
}
