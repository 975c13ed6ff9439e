//! Files that the host gives the machine through its firmware's configuration device, read at the device's ports.
//!
//! ```text
//!   0x510 <-- key (u16)        key 0x19: the directory; its entries name the keys of files
//!   0x511 --> the next byte    of what the key names
//! ```
//!
//! Linux has a driver for it, which is a module. To load that, QEMU translates 10,000 blocks in each run. It also keeps the
//! sizes that it found, and a machine whose state was saved gets its files anew.
//! Source: QEMU, docs/specs/fw_cfg.rst.

use std::arch::asm;
use std::io;
use std::str;

use crate::error::{Doing, Result};

/// The selector, before the port of data.
const SELECTOR: u16 = 0x510;
const DATA: u16 = 0x511;
const DIRECTORY: u16 = 0x19;
/// Length of the number of entries, which the directory begins with `[bytes]`.
const COUNT: usize = 4;
/// Length of an entry: size (u32), key (u16), two reserved bytes, name. Numbers have their high byte first `[bytes]`.
const ENTRY: usize = 64;
/// Place of the name in it `[bytes]`.
const NAME: usize = 8;

/// A file as the directory has it.
#[derive(Debug, PartialEq, Eq)]
struct Place {
    key: u16,
    /// `[bytes]`
    size: usize,
}

/// The file of this name.
pub fn file(name: &str) -> Result<Vec<u8>> {
    let doing = || format!("reading {name} from the firmware's configuration device");
    let device = Device::open().doing(doing)?;
    device.select(DIRECTORY);
    let count = device.read(COUNT);
    let entries = device.read(be(&count) as usize * ENTRY);
    let place = place(&entries, name).ok_or(io::Error::from(io::ErrorKind::NotFound)).doing(doing)?;
    device.select(place.key);
    Ok(device.read(place.size))
}

/// Where the file of this name is.
fn place(entries: &[u8], name: &str) -> Option<Place> {
    let named = |entry: &&[u8]| str::from_utf8(&entry[NAME..]).is_ok_and(|text| text.trim_end_matches('\0') == name);
    let entry = entries.chunks_exact(ENTRY).find(named)?;
    Some(Place { key: u16::from_be_bytes([entry[4], entry[5]]), size: be(entry) as usize })
}

/// The number in the first four bytes.
fn be(bytes: &[u8]) -> u32 {
    u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])
}

/// The device's ports, which this thread may use until it is dropped.
struct Device;

impl Device {
    fn open() -> io::Result<Self> {
        Self::allow(true).map(|()| Device)
    }

    fn allow(allowed: bool) -> io::Result<()> {
        // SAFETY: it changes what this thread may do, and no memory.
        let result = unsafe { libc::ioperm(SELECTOR.into(), 2, allowed.into()) };
        if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    /// Begins at the first byte of what the key names.
    fn select(&self, key: u16) {
        // SAFETY: the thread may use the port, and the device writes no memory.
        unsafe { asm!("out dx, ax", in("dx") SELECTOR, in("ax") key, options(nostack, preserves_flags)) }
    }

    fn read(&self, count: usize) -> Vec<u8> {
        let mut bytes = vec![0; count];
        // SAFETY: the thread may use the port, and `count` bytes are written to as many. The direction flag is clear.
        unsafe {
            asm!("rep insb", inout("rcx") count => _, inout("rdi") bytes.as_mut_ptr() => _, in("dx") DATA,
                options(nostack, preserves_flags));
        }
        bytes
    }
}

impl Drop for Device {
    /// Gives the ports up: what this thread starts would have them too.
    fn drop(&mut self) {
        let _ = Device::allow(false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_found_by_its_name() {
        // Two entries as docs/specs/fw_cfg.rst lays them out: size, select, reserved, name[56].
        let mut entries = Vec::new();
        for (size, key, name) in [(0x0001_0203_u32, 0x20_u16, "etc/acpi/tables"), (77, 0x2b, "opt/cxlab/run")] {
            entries.extend(size.to_be_bytes());
            entries.extend(key.to_be_bytes());
            entries.extend([0, 0]);
            entries.extend(name.bytes());
            entries.resize(entries.len().next_multiple_of(ENTRY), 0);
        }
        assert_eq!(place(&entries, "opt/cxlab/run"), Some(Place { key: 0x2b, size: 77 }));
        assert_eq!(place(&entries, "etc/acpi/tables"), Some(Place { key: 0x20, size: 66_051 }));
        assert_eq!(place(&entries, "opt/cxlab"), None);
    }
}
