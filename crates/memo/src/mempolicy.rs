//! mbind(2), get_mempolicy(2) and move_pages(2) by their raw calls: a static binary brings no libnuma.
//!
//! Source: include/uapi/linux/mempolicy.h (modes, flags); man 2 mbind, get_mempolicy, move_pages.

use crate::error::{Error, Result};
use std::io;

const MPOL_BIND: i32 = 2;
/// get_mempolicy: the policy of an address, not of the thread.
const MPOL_F_ADDR: libc::c_ulong = 2;
/// Words of a node mask: the kernel's MAX_NUMNODES is 1024 at most.
const WORDS: usize = 16;
/// The kernel reads one bit less than it is told.
const BITS: usize = WORDS * 64 + 1;

type Mask = [u64; WORDS];

fn mask(node: u32) -> Mask {
    let mut mask = [0; WORDS];
    if let Some(word) = mask.get_mut(node as usize / 64) {
        *word = 1 << (node % 64);
    }
    mask
}

/// Pages of the range that are touched from now on come from `node`, or the allocation fails.
pub fn bind(address: usize, length: usize, node: u32) -> Result<()> {
    let mask = mask(node);
    // SAFETY: the mask outlives the call and has the bits that it is told of; the range is only named, not accessed.
    let code = unsafe { libc::syscall(libc::SYS_mbind, address, length, MPOL_BIND, mask.as_ptr(), BITS, 0) };
    if code == 0 { Ok(()) } else { Err(Error::Bind { node, source: io::Error::last_os_error() }) }
}

/// Whether the kernel says that `address` is bound to `node` alone.
pub fn is_bound(address: usize, node: u32) -> Result<bool> {
    let mut mode: i32 = 0;
    let mut found: Mask = [0; WORDS];
    // SAFETY: `mode` and `found` outlive the call; `found` has the bits that the call is told of.
    let code = unsafe {
        libc::syscall(libc::SYS_get_mempolicy, &raw mut mode, found.as_mut_ptr(), BITS, address, MPOL_F_ADDR)
    };
    if code != 0 {
        return Err(Error::Bind { node, source: io::Error::last_os_error() });
    }
    Ok(mode == MPOL_BIND && found == mask(node))
}

/// Returns the node of each page, or an errno as a negative number (ENOENT: nothing resident).
pub fn locate(addresses: &[usize], node: u32) -> Result<Vec<i32>> {
    let mut status = vec![-libc::ENOENT; addresses.len()];
    let nowhere: *const i32 = std::ptr::null();
    // SAFETY: both arrays have `addresses.len()` elements and outlive the call; without target nodes it only looks.
    let code = unsafe {
        libc::syscall(libc::SYS_move_pages, 0, addresses.len(), addresses.as_ptr(), nowhere, status.as_mut_ptr(), 0)
    };
    if code < 0 {
        return Err(Error::Bind { node, source: io::Error::last_os_error() });
    }
    Ok(status)
}
