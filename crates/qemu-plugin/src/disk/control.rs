//! Reads what QEMU says to the disk's other end: vhost-user, as far as a block device of one queue needs it.
//!
//! ```text
//!   QEMU --request (12 B: number, flags, size), payload, descriptors--> thread `cxlab-disk` --reply, to some-->
//! ```
//!
//! Source: docs/interop/vhost-user.rst of QEMU 10.0; virtio 1.2, 5.2.4 (a block device's configuration).

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::Mutex;

use super::request::{Request, SECTOR};
use super::ring::Ring;
use crate::end::give_up;

/// Requests of vhost-user.
mod message {
    pub const GET_FEATURES: u32 = 1;
    pub const SET_VRING_NUM: u32 = 8;
    pub const SET_VRING_ADDR: u32 = 9;
    pub const SET_VRING_BASE: u32 = 10;
    pub const GET_VRING_BASE: u32 = 11;
    pub const SET_VRING_KICK: u32 = 12;
    pub const GET_PROTOCOL_FEATURES: u32 = 15;
    pub const GET_CONFIG: u32 = 24;
}

/// VIRTIO_F_VERSION_1, VIRTIO_RING_F_INDIRECT_DESC, VIRTIO_BLK_F_SEG_MAX, VIRTIO_BLK_F_BLK_SIZE (virtio 1.2, 5.2.3 and 6), and
/// VHOST_USER_F_PROTOCOL_FEATURES.
const FEATURES: u64 = 1 << 32 | 1 << 30 | 1 << 28 | 1 << 6 | 1 << 2;
/// VHOST_USER_PROTOCOL_F_CONFIG
const PROTOCOL_FEATURES: u64 = 1 << 9;
/// Version 1, and whether it is a reply.
const REPLY: u32 = 1 | 1 << 2;
/// No descriptor comes with a kick: the ring would have to be polled.
const NO_DESCRIPTOR: u64 = 1 << 8;
/// Segments of a request at most: what Linux takes of a queue of 256.
const MOST_SEGMENTS: u32 = 254;
/// More than any message that a block device is sent `[bytes]`.
const LONGEST: usize = 4096;
/// Descriptors of a message at most: VHOST_MEMORY_BASELINE_NREGIONS.
const MOST_DESCRIPTORS: usize = 8;

/// The connection, and what it has told.
pub struct Control {
    socket: UnixStream,
    file: File,
    /// of the file `[bytes]`
    capacity: u64,
    ring: Ring,
}

/// A message of QEMU.
struct Message {
    number: u32,
    payload: Vec<u8>,
    descriptors: Vec<OwnedFd>,
}

impl Message {
    fn word(&self, at: usize) -> u64 {
        self.payload.get(at..at + 8).map_or(0, |bytes| u64::from_le_bytes(bytes.try_into().expect("8 bytes")))
    }

    /// The number in a `vhost_vring_state`, behind the ring's.
    fn state(&self) -> u32 {
        (self.word(0) >> 32) as u32
    }
}

/// Hear what QEMU says, until it ends.
pub fn serve(control: &Mutex<Control>) {
    let socket = control.lock().expect("nobody panics with it").socket.as_raw_fd();
    loop {
        let mut waits = libc::pollfd { fd: socket, events: libc::POLLIN, revents: 0 };
        // SAFETY: one descriptor that lives as long as the process.
        unsafe { libc::poll(&raw mut waits, 1, -1) };
        let mut control = control.lock().expect("nobody panics with it");
        if let Err(cause) = control.hear() {
            if cause.kind() != io::ErrorKind::UnexpectedEof {
                eprintln!("cxlab plugin: the disk's connection to QEMU has failed: {cause}");
            }
            return;
        }
    }
}

impl Control {
    pub fn new(socket: UnixStream, file: File) -> io::Result<Control> {
        socket.set_nonblocking(false)?;
        let capacity = file.metadata()?.len() / SECTOR * SECTOR;
        Ok(Control { socket, file, capacity, ring: Ring::default() })
    }

    /// Whether QEMU has said something that was not heard yet.
    pub fn has_message(&self) -> bool {
        let mut bytes: libc::c_int = 0;
        // SAFETY: writes one number.
        unsafe { libc::ioctl(self.socket.as_raw_fd(), libc::FIONREAD, &raw mut bytes) };
        bytes > 0
    }

    pub fn was_kicked(&self) -> bool {
        self.ring.was_kicked()
    }

    /// Next request of the guest, if there is one.
    pub fn next_request(&mut self) -> Option<Request> {
        self.ring.next().map(Request::read)
    }

    /// Move the data of a request. If the host cannot, the run ends: Linux would try to swap pages out for ever.
    pub fn execute(&self, request: &mut Request) {
        if let Err(cause) = request.execute(&self.file, self.capacity) {
            give_up(&format!(
                "the guest's disk, a file without a name in the run's folder, cannot be read or written: {cause}. Free \
                 some space there, or give --out a folder on another disk"
            ));
        }
    }

    /// Put the answer to a request where the guest looks for it.
    pub fn answer(&mut self, request: &Request) {
        request.report();
        self.ring.answer(request.head, request.written);
    }

    fn hear(&mut self) -> io::Result<()> {
        let message = self.receive()?;
        match message.number {
            message::GET_FEATURES => self.reply(&message, &FEATURES.to_le_bytes()),
            message::GET_PROTOCOL_FEATURES => self.reply(&message, &PROTOCOL_FEATURES.to_le_bytes()),
            message::GET_CONFIG => self.reply_config(&message),
            message::SET_VRING_NUM => {
                self.ring.size = message.state() as u16;
                Ok(())
            }
            message::SET_VRING_BASE => {
                self.ring.taken = message.state() as u16;
                Ok(())
            }
            message::SET_VRING_ADDR => {
                // descriptors, used, available: places in this process, which is QEMU's
                let [descriptors, used, available] = [8, 16, 24].map(|at| message.word(at) as usize);
                self.ring.lay(descriptors, available, used);
                Ok(())
            }
            message::SET_VRING_KICK if message.word(0) & NO_DESCRIPTOR == 0 => {
                self.ring.kick = message.descriptors.into_iter().next();
                Ok(())
            }
            message::GET_VRING_BASE => {
                self.ring.stop();
                let state = u64::from(self.ring.taken) << 32;
                self.reply(&message, &state.to_le_bytes())
            }
            // Memory is QEMU's own, interrupts are raised by QEMU's function, and no other message changes anything.
            _ => Ok(()),
        }
    }

    fn reply_config(&mut self, message: &Message) -> io::Result<()> {
        // offset, size, flags, and room for as many bytes
        let mut payload = message.payload.clone();
        let mut config = [0u8; 64];
        config[0..8].copy_from_slice(&(self.capacity / SECTOR).to_le_bytes());
        config[12..16].copy_from_slice(&MOST_SEGMENTS.to_le_bytes());
        config[20..24].copy_from_slice(&(SECTOR as u32).to_le_bytes());
        // one queue
        config[34..36].copy_from_slice(&1u16.to_le_bytes());
        let from = message.word(0) as u32 as usize;
        for (to, byte) in payload.iter_mut().skip(12).zip(config.iter().skip(from)) {
            *to = *byte;
        }
        self.reply(message, &payload)
    }

    fn reply(&mut self, message: &Message, payload: &[u8]) -> io::Result<()> {
        let mut bytes = Vec::with_capacity(12 + payload.len());
        for word in [message.number, REPLY, payload.len() as u32] {
            bytes.extend(word.to_le_bytes());
        }
        bytes.extend(payload);
        self.socket.write_all(&bytes)
    }

    fn receive(&mut self) -> io::Result<Message> {
        let (head, descriptors) = self.receive_head()?;
        let word = |at: usize| u32::from_le_bytes(head[at..at + 4].try_into().expect("4 bytes"));
        let size = word(8) as usize;
        if size > LONGEST {
            return Err(io::Error::other(format!("message {} has {size} bytes", word(0))));
        }
        let mut payload = vec![0; size];
        self.socket.read_exact(&mut payload)?;
        Ok(Message { number: word(0), payload, descriptors })
    }

    /// The first twelve bytes of a message, and the descriptors that come with them.
    fn receive_head(&self) -> io::Result<([u8; 12], Vec<OwnedFd>)> {
        let mut head = [0u8; 12];
        let mut room = [0u64; 16];
        let mut part = libc::iovec { iov_base: head.as_mut_ptr().cast(), iov_len: head.len() };
        // SAFETY: a message header without addresses; what it points to lives through the call; a control message holds
        // as many descriptors as its length says.
        unsafe {
            let mut header: libc::msghdr = std::mem::zeroed();
            (header.msg_iov, header.msg_iovlen) = (&raw mut part, 1);
            (header.msg_control, header.msg_controllen) = (room.as_mut_ptr().cast(), size_of_val(&room) as _);
            let flags = libc::MSG_CMSG_CLOEXEC | libc::MSG_WAITALL;
            let count = libc::recvmsg(self.socket.as_raw_fd(), &raw mut header, flags);
            if count < 0 {
                return Err(io::Error::last_os_error());
            }
            if count as usize != head.len() {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            let mut descriptors = Vec::new();
            let control = libc::CMSG_FIRSTHDR(&raw const header);
            if !control.is_null() && (*control).cmsg_type == libc::SCM_RIGHTS {
                let bytes = (*control).cmsg_len as usize - libc::CMSG_LEN(0) as usize;
                let data = libc::CMSG_DATA(control).cast::<libc::c_int>();
                for index in 0..(bytes / size_of::<libc::c_int>()).min(MOST_DESCRIPTORS) {
                    descriptors.push(OwnedFd::from_raw_fd(data.add(index).read_unaligned()));
                }
            }
            Ok((head, descriptors))
        }
    }
}
