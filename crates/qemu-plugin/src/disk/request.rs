//! A request to the disk: sixteen bytes that say what is wanted, the data, a byte for how it went (virtio 1.2, 5.2.6).

use std::fs::File;
use std::os::unix::fs::FileExt;

use cxlab_access::Segment;

use super::ring::Chain;
use crate::descriptor::Descriptor;
use crate::series;

/// Unit that requests count in `[bytes]`.
pub const SECTOR: u64 = 512;
/// VIRTIO_BLK_T_IN, VIRTIO_BLK_T_OUT
const IN: u32 = 0;
const OUT: u32 = 1;
/// VIRTIO_BLK_S_OK, VIRTIO_BLK_S_IOERR, VIRTIO_BLK_S_UNSUPP
const OK: u8 = 0;
const FAILED: u8 = 1;
const UNSUPPORTED: u8 = 2;
const HEADER_BYTES: u32 = 16;
/// Bytes that are moved at once.
const CHUNK: usize = 1 << 16;
const PAGE: u64 = 4096;

/// Direction of the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// from the disk to memory
    Read,
    /// from memory to the disk
    Write,
}

/// A request, and how it went.
pub struct Request {
    /// the number that its answer names
    pub head: u16,
    pub direction: Direction,
    /// where on the disk `[bytes]`
    pub from: u64,
    pub segments: Vec<Segment>,
    /// bytes written to the guest's memory
    pub written: u32,
    /// where the byte goes that says how it went, if the guest has said so
    status: Option<u64>,
    outcome: u8,
}

impl Request {
    /// Reads a request of the guest. What is no request is answered as one that has failed.
    pub fn read(chain: Chain) -> Request {
        let Chain { head, descriptors } = chain;
        let segment = |part: &Descriptor| Segment { physical: part.address, length: part.length.into() };
        let mut request = Request {
            head,
            direction: Direction::Read,
            from: 0,
            segments: Vec::new(),
            written: 0,
            status: None,
            outcome: FAILED,
        };
        let [header, data @ .., status] = &descriptors[..] else { return request };
        if status.is_written() && status.length > 0 {
            request.status = Some(status.address);
        }
        if header.is_written() || header.length != HEADER_BYTES {
            return request;
        }
        let mut bytes = [0; HEADER_BYTES as usize];
        series::read_memory(header.address, &mut bytes);
        let word = u128::from_le_bytes(bytes);
        request.direction = match word as u32 {
            IN => Direction::Read,
            OUT => Direction::Write,
            _ => {
                request.outcome = UNSUPPORTED;
                return request;
            }
        };
        let Some(from) = ((word >> 64) as u64).checked_mul(SECTOR) else { return request };
        if data.iter().all(|part| part.is_written() == (request.direction == Direction::Read)) {
            (request.from, request.outcome) = (from, OK);
            request.segments = data.iter().filter(|part| part.length > 0).map(segment).collect();
        }
        request
    }

    fn bytes(&self) -> u64 {
        self.segments.iter().map(|segment| segment.length).sum()
    }

    /// Move the data between the guest's memory and a file that holds `capacity` bytes.
    ///
    /// # Errors
    /// Returned if the host cannot read or write the file. A request that is wrong is answered as one that has failed.
    pub fn execute(&mut self, file: &File, capacity: u64) -> std::io::Result<()> {
        let bytes = self.bytes();
        let fits = bytes.is_multiple_of(SECTOR) && self.from.checked_add(bytes).is_some_and(|end| end <= capacity);
        if self.outcome != OK || !fits || !self.segments.iter().copied().all(is_memory) {
            self.outcome = self.outcome.max(FAILED);
            self.segments.clear();
            return Ok(());
        }
        let mut at = self.from;
        for segment in self.segments.clone() {
            self.move_segment(file, at, segment)?;
            at += segment.length;
        }
        Ok(())
    }

    fn move_segment(&mut self, file: &File, from: u64, segment: Segment) -> std::io::Result<()> {
        let mut buffer = [0; CHUNK];
        let length = segment.length as usize;
        for at in (0..length).step_by(CHUNK) {
            let part = &mut buffer[..CHUNK.min(length - at)];
            let (place, address) = (from + at as u64, segment.physical + at as u64);
            match self.direction {
                Direction::Read => {
                    file.read_exact_at(part, place)?;
                    series::write_memory(address, part);
                    self.written += part.len() as u32;
                }
                Direction::Write => {
                    series::read_memory(address, part);
                    file.write_all_at(part, place)?;
                }
            }
        }
        Ok(())
    }

    /// Tell the guest how it went.
    pub fn report(&self) {
        if let Some(status) = self.status
            && is_memory(Segment { physical: status, length: 1 })
        {
            series::write_memory(status, &[self.outcome]);
        }
    }
}

/// Whether all of it is memory: what a device does with an access is nobody's business here.
fn is_memory(segment: Segment) -> bool {
    let Some(end) = segment.physical.checked_add(segment.length) else { return false };
    (segment.physical / PAGE..end.div_ceil(PAGE)).all(|page| series::is_memory(page * PAGE))
}
