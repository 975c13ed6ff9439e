//! The ring of a virtio queue in the guest's memory: how much an answered request has moved.
//!
//! ```text
//!   used ring    index --> element: first descriptor, bytes that the device wrote
//!   descriptors  first --> address, length, flags, next --> ...     an indirect one is a table of others
//! ```
//!
//! Not modelled: packed rings, which QEMU does not offer unless it is asked to. A guest may have written anything there, so
//! a chain ends at the queue's size, and only memory is read.
//! Source: virtio 1.2, 2.7.5 (descriptors), 2.7.5.3 (indirect ones), 2.7.8 (used ring).

/// Bytes of a descriptor, of an element of the used ring, and of what the used ring has before its elements.
const DESCRIPTOR: u64 = 16;
const ELEMENT: u64 = 8;
const BEFORE_ELEMENTS: u64 = 4;
/// Place of the index in a used ring `[bytes]`.
const INDEX: u64 = 2;
/// Flags of a descriptor: another one follows; the device writes; it is a table of descriptors.
const NEXT: u16 = 1;
const WRITE: u16 = 2;
const INDIRECT: u16 = 4;

/// Where a queue is in the guest's physical memory.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ring {
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

impl Ring {
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
        Moved { to_guest: written.into(), from_guest: self.readable(first, &read) }
    }

    /// Bytes of a chain that the device has read.
    fn readable(&self, first: u32, read: &impl Fn(u64, &mut [u8]) -> bool) -> u64 {
        let (mut table, mut place, mut bytes) = (self.descriptors, first, 0);
        for _ in 0..=self.size {
            let mut descriptor = [0; DESCRIPTOR as usize];
            if !read(table.wrapping_add(u64::from(place) * DESCRIPTOR), &mut descriptor) {
                break;
            }
            let (length, last) = (word(&descriptor, 8), word(&descriptor, 12));
            let (flags, next) = (last as u16, last >> 16);
            if flags & INDIRECT != 0 {
                (table, place) = (u64::from(word(&descriptor, 0)) | u64::from(word(&descriptor, 4)) << 32, 0);
                continue;
            }
            if flags & WRITE == 0 {
                bytes += u64::from(length);
            }
            if flags & NEXT == 0 {
                break;
            }
            place = next;
        }
        bytes
    }
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const RING: Ring = Ring { size: 4, descriptors: 0x100, used: 0x200 };

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
