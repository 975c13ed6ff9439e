//! A terminal for an interactive program: a pseudo-terminal whose other end is the host's terminal, over the same ports.

use std::os::fd::{AsRawFd, OwnedFd};

use nix::pty::{Winsize, openpty};
use nix::unistd::{Uid, fchown};
use serde::Deserialize;

use crate::error::{Doing, Result};

/// Character that ends a line's input on a terminal (VEOF, termios(3)).
pub const END_OF_INPUT: &[u8] = b"\x04";

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Size {
    rows: u16,
    columns: u16,
}

impl From<Size> for Winsize {
    fn from(size: Size) -> Self {
        Winsize { ws_row: size.rows, ws_col: size.columns, ws_xpixel: 0, ws_ypixel: 0 }
    }
}

/// Both ends.
pub struct Terminal {
    pub program: OwnedFd,
    pub init: OwnedFd,
}

pub fn open(size: Size, user: u32) -> Result<Terminal> {
    let pair = openpty(&Winsize::from(size), None).doing(|| "making a terminal".to_owned())?;
    fchown(&pair.slave, Some(Uid::from_raw(user)), None).doing(|| "owning the terminal".to_owned())?;
    Ok(Terminal { program: pair.slave, init: pair.master })
}

/// Make the terminal behind descriptor 0 the controlling one of this session (tty_ioctl(4)).
pub fn control() -> nix::Result<()> {
    // SAFETY: the request takes a number.
    let result = unsafe { libc::ioctl(0, libc::TIOCSCTTY, 0) };
    nix::errno::Errno::result(result).map(drop)
}

/// The host's window has another size; its program hears SIGWINCH.
pub fn resize(terminal: &OwnedFd, size: Size) -> Result<()> {
    let size = Winsize::from(size);
    // SAFETY: TIOCSWINSZ reads one winsize.
    let result = unsafe { libc::ioctl(terminal.as_raw_fd(), libc::TIOCSWINSZ, &raw const size) };
    nix::errno::Errno::result(result).map(drop).doing(|| "resizing the terminal".to_owned())
}
