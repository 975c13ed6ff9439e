//! A file system that is mounted without a place in the tree: reached by its descriptor, gone when that is closed.
//!
//! fsopen(2), fsconfig(2) and fsmount(2), Linux 5.2 and later; numbers from include/uapi/linux/mount.h.

use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::path::PathBuf;

use crate::error::{Doing, Result};

const FSOPEN_CLOEXEC: libc::c_uint = 1;
const FSMOUNT_CLOEXEC: libc::c_uint = 1;
const FSCONFIG_SET_STRING: libc::c_uint = 1;
const FSCONFIG_CMD_CREATE: libc::c_uint = 6;

/// The root of the file system.
pub struct Detached(OwnedFd);

impl Detached {
    /// A file system of this kind with these settings.
    pub fn mount(kind: &'static CStr, settings: &[(&CStr, &CStr)]) -> Result<Detached> {
        let doing = || format!("mounting {}", kind.to_string_lossy());
        // SAFETY: each call gets strings that end with a zero, or null where the call takes none.
        let root = unsafe {
            let context = owned(libc::syscall(libc::SYS_fsopen, kind.as_ptr(), FSOPEN_CLOEXEC)).doing(doing)?;
            for (key, value) in settings {
                configure(&context, FSCONFIG_SET_STRING, Some((*key, *value))).doing(doing)?;
            }
            configure(&context, FSCONFIG_CMD_CREATE, None).doing(doing)?;
            owned(libc::syscall(libc::SYS_fsmount, context.as_raw_fd(), FSMOUNT_CLOEXEC, 0)).doing(doing)?
        };
        Ok(Detached(root))
    }

    pub fn root(&self) -> BorrowedFd<'_> {
        std::os::fd::AsFd::as_fd(&self.0)
    }

    /// A name for `inside`, as long as the file system is mounted.
    pub fn path(&self, inside: &str) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}/{inside}", self.0.as_raw_fd()))
    }
}

/// # Safety
/// The command takes a string for a key, or neither.
unsafe fn configure(context: &OwnedFd, command: libc::c_uint, setting: Option<(&CStr, &CStr)>) -> io::Result<()> {
    let (key, value) =
        setting.map_or((std::ptr::null(), std::ptr::null()), |(key, value)| (key.as_ptr(), value.as_ptr()));
    // SAFETY: as the caller promises.
    let done = unsafe { libc::syscall(libc::SYS_fsconfig, context.as_raw_fd(), command, key, value, 0) };
    if done < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// # Safety
/// The number is a new descriptor of ours, or an error.
unsafe fn owned(result: libc::c_long) -> io::Result<OwnedFd> {
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: as the caller promises.
    Ok(unsafe { OwnedFd::from_raw_fd(result as i32) })
}

/// For paths of the host.
pub fn c_path(path: &[u8]) -> io::Result<CString> {
    CString::new(path).map_err(|_| io::Error::from_raw_os_error(libc::EINVAL))
}
