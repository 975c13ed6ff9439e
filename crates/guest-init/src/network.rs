//! The loopback interface: servers and clients inside one guest talk over it. There is no other network.

use std::io;
use std::net::UdpSocket;
use std::os::fd::AsRawFd;

use crate::error::{Doing, Result};

/// Bring `lo` up (netdevice(7)); the kernel gives it 127.0.0.1 and ::1 by itself.
pub fn loopback_up() -> Result<()> {
    let doing = || "bringing up the loopback interface".to_owned();
    // Any socket serves; binding needs no interface.
    let socket = UdpSocket::bind("0.0.0.0:0").doing(doing)?;
    // SAFETY: ifreq is plain data, for which zero is a value.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    request.ifr_name[0] = b'l' as libc::c_char;
    request.ifr_name[1] = b'o' as libc::c_char;
    request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as libc::c_short;
    // SAFETY: SIOCSIFFLAGS reads one ifreq.
    let result = unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS, &raw const request) };
    if result < 0 { Err(io::Error::last_os_error()).doing(doing) } else { Ok(()) }
}
