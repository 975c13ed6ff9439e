//! Addresses: what a host calls a place (`Hpa`), what a device calls it (`Dpa`), and what an application calls it
//! (`VirtualLine`).
//!
//! There is no arithmetic between the kinds: an HDM decoder or a channel map is what turns one into another.
//! Not modelled: address tags and encryption bits above the physical address.

use std::fmt;

/// Bytes in a cache line; CXL.mem, DDR5 and every cache here move whole lines (CXL 3.0, 3.3: 64 B data).
pub const LINE_BYTES: u64 = 64;

/// Bytes in a base page of x86-64 (Intel SDM vol. 3, 4.5).
pub const PAGE_BYTES: u64 = 4096;

/// Lines in a base page.
pub const LINES_PER_PAGE: u64 = PAGE_BYTES / LINE_BYTES;

/// Between the first bytes of two nodes where no guest lays them out: more than any node has.
pub const NODE_STRIDE: u64 = 1 << 44;

macro_rules! address {
    ($(#[$meta:meta])* $name:ident) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(u64);

        impl $name {
            #[must_use]
            pub const fn new(byte: u64) -> Self {
                $name(byte)
            }

            /// The address as a number of bytes.
            #[must_use]
            pub const fn get(self) -> u64 {
                self.0
            }

            /// The address of the line that this byte is in.
            #[must_use]
            pub const fn line(self) -> Self {
                $name(self.0 & !(LINE_BYTES - 1))
            }

            /// Lines below this one; what caches and channel maps index with.
            #[must_use]
            pub const fn line_number(self) -> u64 {
                self.0 / LINE_BYTES
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({:#x})"), self.0)
            }
        }
    };
}

address! {
    /// Host physical address: what the cores, caches and home agent see.
    Hpa
}
address! {
    /// Device physical address: what the media behind a home agent or an HDM decoder sees, from 0.
    Dpa
}

/// A page of an address space.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PageNumber(pub u32);

/// A line of an address space, since the first line of page 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VirtualLine(pub u64);

impl VirtualLine {
    #[inline]
    #[must_use]
    pub fn page(self) -> PageNumber {
        PageNumber((self.0 / LINES_PER_PAGE) as u32)
    }

    /// Number of the line within its page.
    #[inline]
    #[must_use]
    pub fn in_page(self) -> u64 {
        self.0 % LINES_PER_PAGE
    }
}

impl PageNumber {
    /// The first line of the page.
    #[must_use]
    pub fn line(self) -> VirtualLine {
        VirtualLine(u64::from(self.0) * LINES_PER_PAGE)
    }
}
