//! The ring of a queue: what the guest asks for, and what is answered (virtio 1.2, 2.7, split virtqueues).

use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::atomic::Ordering::{Acquire, Release};
use std::sync::atomic::{AtomicU16, fence};

use crate::descriptor::{DESCRIPTOR_BYTES, Descriptor, chain};
use crate::series;

/// Descriptors of one request at most, in the ring or in a table of its own.
const LONGEST: usize = cxlab_access::Segment::MOST;

/// A request's descriptors, and the number that its answer names.
pub struct Chain {
    pub head: u16,
    pub descriptors: Vec<Descriptor>,
}

/// A queue, where QEMU has it in this process.
#[derive(Default)]
pub struct Ring {
    /// requests that it holds
    pub size: u16,
    /// requests taken so far, modulo 2^16
    pub taken: u16,
    /// the guest has stored to the queue's bell
    pub kick: Option<OwnedFd>,
    /// answered so far, modulo 2^16
    answered: u16,
    /// addresses of the three parts; 0: the queue does not run
    descriptors: usize,
    available: usize,
    used: usize,
}

impl Ring {
    /// Its parts are here. What was answered so far stands in the ring.
    pub fn lay(&mut self, descriptors: usize, available: usize, used: usize) {
        (self.descriptors, self.available, self.used) = (descriptors, available, used);
        self.answered = self.index(used);
    }

    /// The device is stopped.
    pub fn stop(&mut self) {
        (self.descriptors, self.available, self.used, self.kick) = (0, 0, 0, None);
    }

    /// Whether the guest has rung since this was last asked.
    pub fn was_kicked(&self) -> bool {
        let Some(kick) = &self.kick else { return false };
        let mut rung = 0u64;
        // SAFETY: reads eight bytes; QEMU makes its eventfds non-blocking.
        unsafe { libc::read(kick.as_raw_fd(), (&raw mut rung).cast(), 8) == 8 }
    }

    /// The index of the ring of requests or of answers, behind its flags.
    fn index(&self, ring: usize) -> u16 {
        // SAFETY: QEMU keeps the ring mapped while the device runs; the guest changes the index meanwhile.
        unsafe { AtomicU16::from_ptr((ring + 2) as *mut u16) }.load(Acquire)
    }

    /// The next request that was not taken yet.
    pub fn next(&mut self) -> Option<Chain> {
        if self.descriptors == 0 || self.size == 0 || self.index(self.available) == self.taken {
            return None;
        }
        let place = usize::from(self.taken % self.size);
        // SAFETY: the place is within the ring, which QEMU keeps mapped.
        let head = unsafe { ((self.available + 4) as *const u16).add(place).read_volatile() };
        self.taken = self.taken.wrapping_add(1);
        Some(Chain { head, descriptors: self.descriptors(head) })
    }

    /// The descriptors from `head` on; the guest wrote them, so nothing about them is certain.
    fn descriptors(&self, head: u16) -> Vec<Descriptor> {
        let in_ring = |place: u16| {
            // SAFETY: the place is within the table, which QEMU keeps mapped.
            let bytes =
                unsafe { (self.descriptors as *const [u8; DESCRIPTOR_BYTES]).add(place.into()).read_volatile() };
            Descriptor::from_bytes(bytes)
        };
        if head >= self.size {
            return Vec::new();
        }
        let first = in_ring(head);
        if !first.is_table() {
            return follow(head, self.size, in_ring);
        }
        let places = (first.length as usize / DESCRIPTOR_BYTES).min(LONGEST) as u16;
        follow(0, places, |place| {
            let mut bytes = [0; DESCRIPTOR_BYTES];
            series::read_memory(first.address + u64::from(place) * DESCRIPTOR_BYTES as u64, &mut bytes);
            Descriptor::from_bytes(bytes)
        })
    }

    /// Answer the request with this number; so many bytes were written for it.
    pub fn answer(&mut self, head: u16, written: u32) {
        if self.used == 0 {
            return;
        }
        let place = usize::from(self.answered % self.size);
        // SAFETY: the place is within the ring, which QEMU keeps mapped.
        unsafe {
            let element = ((self.used + 4) as *mut [u32; 2]).add(place);
            element.write_volatile([head.into(), written]);
            fence(Release);
            self.answered = self.answered.wrapping_add(1);
            AtomicU16::from_ptr((self.used + 2) as *mut u16).store(self.answered, Release);
        }
    }
}

/// Descriptors of a table with `places`, from `first` on. None if the chain goes round in circles, or out of its table.
fn follow(first: u16, places: u16, read: impl Fn(u16) -> Descriptor) -> Vec<Descriptor> {
    let in_table = |place| (place < places).then(|| read(place));
    let found: Vec<_> = chain(first, in_table).take(LONGEST).collect();
    let ends = found.last().is_some_and(|last| last.is_last());
    if ends { found } else { Vec::new() }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Flags of virtio 1.2, 2.7.5.
    const NEXT: u16 = 1;
    const WRITE: u16 = 2;

    fn descriptor(flags: u16, next: u16) -> Descriptor {
        let mut bytes = [0; DESCRIPTOR_BYTES];
        bytes[8] = 1;
        bytes[12..14].copy_from_slice(&flags.to_le_bytes());
        bytes[14..].copy_from_slice(&next.to_le_bytes());
        Descriptor::from_bytes(bytes)
    }

    #[test]
    fn a_chain_ends_where_it_says_and_a_circle_is_no_chain() {
        let table = [descriptor(NEXT, 2), descriptor(0, 0), descriptor(NEXT | WRITE, 1)];
        let chain = follow(0, 3, |place| table[usize::from(place)]);
        assert_eq!(chain.iter().map(|part| part.is_written()).collect::<Vec<_>>(), [false, true, false]);
        assert!(follow(0, 3, |_| descriptor(NEXT, 0)).is_empty());
        assert!(follow(0, 3, |_| descriptor(NEXT, 3)).is_empty());
    }
}
