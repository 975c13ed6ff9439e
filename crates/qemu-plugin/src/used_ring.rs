//! The used ring of a virtio queue, in the guest's memory: how much an answered request has moved.
//!
//! ```text
//!   used ring    index --> element: first descriptor, bytes that the device wrote
//! ```
//!
//! Not modelled: packed rings, which QEMU does not offer unless it is asked to. A guest may have written anything there, so
//! a chain ends at the queue's size, and only memory is read.
//! Source: virtio 1.2, 2.7.8.

use crate::descriptor::{DESCRIPTOR_BYTES, Descriptor, chain};

/// Bytes of an element, and of what is before the elements.
const ELEMENT: u64 = 8;
const BEFORE_ELEMENTS: u64 = 4;
/// Place of the index `[bytes]`.
const INDEX: u64 = 2;

/// Where a queue is in the guest's physical memory.
#[derive(Clone, Copy, Debug, Default)]
pub struct UsedRing {
    /// elements that it has room for, a power of two
    pub size: u32,
    pub descriptors: u64,
    pub used: u64,
}

/// Bytes that a request has moved `[bytes]`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moved {
    pub to_guest: u64,
    pub from_guest: u64,
}

impl UsedRing {
    /// Address of the used ring's index.
    pub fn index(&self) -> u64 {
        self.used.wrapping_add(INDEX)
    }

    /// Bytes that the request has moved whose answer is at this index of the used ring, modulo 2^16. `read` fills the bytes from a
    /// guest-physical address, if there is memory.
    pub fn moved(&self, index: u16, read: impl Fn(u64, &mut [u8]) -> bool) -> Moved {
        let slot = u64::from(index) % u64::from(self.size.max(1));
        let mut element = [0; ELEMENT as usize];
        if !read(self.used.wrapping_add(BEFORE_ELEMENTS + slot * ELEMENT), &mut element) {
            return Moved::default();
        }
        let (first, written) = (word(&element, 0), word(&element, 4));
        let from_guest = u16::try_from(first).map_or(0, |first| self.readable(first, &read));
        Moved { to_guest: written.into(), from_guest }
    }

    /// Bytes of a chain that the device has read. The last of the ring's descriptors may be a table of others.
    fn readable(&self, first: u16, read: &impl Fn(u64, &mut [u8]) -> bool) -> u64 {
        let of_table = |table: u64, first| {
            let descriptor = move |place: u16| {
                let mut bytes = [0; DESCRIPTOR_BYTES];
                let address = table.wrapping_add(u64::from(place) * DESCRIPTOR_BYTES as u64);
                read(address, &mut bytes).then(|| Descriptor::from_bytes(bytes))
            };
            chain(first, descriptor).take(self.size as usize + 1)
        };
        let in_ring: Vec<_> = of_table(self.descriptors, first).collect();
        let table = in_ring.last().filter(|last| last.is_table());
        let in_table = table.into_iter().flat_map(|table| of_table(table.address, 0));
        let data = in_ring.iter().copied().chain(in_table).filter(|one| !one.is_table() && !one.is_written());
        data.map(|one| u64::from(one.length)).sum()
    }
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Flags of virtio 1.2, 2.7.5.
    const NEXT: u16 = 1;
    const WRITE: u16 = 2;
    const INDIRECT: u16 = 4;
    const RING: UsedRing = UsedRing { size: 4, descriptors: 0x100, used: 0x200 };

    /// Memory of a kilobyte, as virtio 1.2 lays it out.
    struct Memory([u8; 1024]);

    impl Memory {
        fn write(&mut self, at: usize, bytes: &[u8]) {
            self.0[at..at + bytes.len()].copy_from_slice(bytes);
        }

        fn descriptor(&mut self, at: usize, address: u64, length: u32, flags: u16, next: u16) {
            self.write(at, &address.to_le_bytes());
            self.write(at + 8, &length.to_le_bytes());
            self.write(at + 12, &flags.to_le_bytes());
            self.write(at + 14, &next.to_le_bytes());
        }

        fn moved(&self, index: u16) -> Moved {
            RING.moved(index, |at, to| {
                let end = (at as usize).saturating_add(to.len());
                let Some(from) = self.0.get(at as usize..end) else { return false };
                to.copy_from_slice(from);
                true
            })
        }
    }

    /// The answer at index 5, which is slot 1 of four: the chain begins at descriptor 2, and the device wrote 4107 bytes.
    fn answered() -> Memory {
        let mut memory = Memory([0; 1024]);
        memory.write(0x200 + 4 + 8, &2_u32.to_le_bytes());
        memory.write(0x200 + 4 + 8 + 4, &4107_u32.to_le_bytes());
        memory
    }

    #[test]
    fn a_chain_has_what_the_device_reads_and_the_ring_what_it_wrote() {
        let mut memory = answered();
        memory.descriptor(0x100 + 2 * 16, 0x8000, 23, NEXT, 0);
        memory.descriptor(0x100, 0x9000, 8192, NEXT, 3);
        memory.descriptor(0x100 + 3 * 16, 0xa000, 11, WRITE, 0);
        assert_eq!(memory.moved(5), Moved { to_guest: 4107, from_guest: 23 + 8192 });
    }

    #[test]
    fn an_indirect_descriptor_is_a_table() {
        let mut memory = answered();
        memory.descriptor(0x100 + 2 * 16, 0x300, 32, INDIRECT, 0);
        memory.descriptor(0x300, 0x8000, 23, NEXT, 1);
        memory.descriptor(0x310, 0x9000, 4107, WRITE, 0);
        assert_eq!(memory.moved(5), Moved { to_guest: 4107, from_guest: 23 });
    }

    #[test]
    fn a_chain_that_never_ends_and_one_outside_of_memory_end() {
        let mut memory = answered();
        memory.descriptor(0x100 + 2 * 16, 0x8000, 1, NEXT, 2);
        assert_eq!(memory.moved(5).from_guest, 1 + 4);
        memory.descriptor(0x100 + 2 * 16, u64::MAX - 7, 1, INDIRECT, 0);
        assert_eq!(memory.moved(5).from_guest, 0);
    }
}
