//! A descriptor of a virtio queue, and the chain that descriptors make: what a request of the guest consists of.
//!
//! ```text
//!   first --> address, length, flags, next --> address, length, flags, next --> ...
//! ```
//!
//! The guest wrote them, so nothing about them is certain: a chain need not end.
//! Source: virtio 1.2, 2.7.5 (descriptors), 2.7.5.3 (indirect ones).

pub const DESCRIPTOR_BYTES: usize = 16;
/// Flags: another one follows; the device writes; it is a table of descriptors.
const NEXT: u16 = 1;
const WRITE: u16 = 2;
const INDIRECT: u16 = 4;

/// A part of the guest's memory that a request names.
#[derive(Clone, Copy, Debug, Default)]
pub struct Descriptor {
    /// guest-physical
    pub address: u64,
    /// `[bytes]`
    pub length: u32,
    flags: u16,
    next: u16,
}

impl Descriptor {
    pub fn from_bytes(bytes: [u8; DESCRIPTOR_BYTES]) -> Descriptor {
        let word = u128::from_le_bytes(bytes);
        let (length, flags, next) = ((word >> 64) as u32, (word >> 96) as u16, (word >> 112) as u16);
        Descriptor { address: word as u64, length, flags, next }
    }

    /// Whether the device writes to it.
    pub fn is_written(self) -> bool {
        self.flags & WRITE != 0
    }

    /// Whether it names a table of descriptors, and no data.
    pub fn is_table(self) -> bool {
        self.flags & INDIRECT != 0
    }

    pub fn is_last(self) -> bool {
        self.flags & NEXT == 0
    }
}

/// The descriptors from `first` on. The chain ends early where `read` finds none at a place.
pub fn chain(first: u16, read: impl Fn(u16) -> Option<Descriptor>) -> impl Iterator<Item = Descriptor> {
    std::iter::successors(read(first), move |before| if before.is_last() { None } else { read(before.next) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_descriptor_is_read_as_virtio_lays_it() {
        let mut bytes = [0; DESCRIPTOR_BYTES];
        bytes[..8].copy_from_slice(&0x1234_5678_9abc_def0u64.to_le_bytes());
        bytes[8..12].copy_from_slice(&4096u32.to_le_bytes());
        bytes[12..14].copy_from_slice(&(NEXT | WRITE).to_le_bytes());
        bytes[14..].copy_from_slice(&7u16.to_le_bytes());
        let Descriptor { address, length, flags, next } = Descriptor::from_bytes(bytes);
        assert_eq!((address, length, flags, next), (0x1234_5678_9abc_def0, 4096, 3, 7));
    }
}
