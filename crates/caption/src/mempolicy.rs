//! set_mempolicy(2) and move_pages(2) by their raw calls: no released libnuma knows weighted interleave.
//!
//! Source: include/uapi/linux/mempolicy.h (modes), man 2 set_mempolicy, man 2 move_pages.

use crate::error::{Error, Result};
use crate::topology::NodeSet;
use std::io;

/// Placement of the calling thread's new pages. Children inherit it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// Only these nodes.
    Bind,
    /// These nodes by the weights in sysfs (Linux 6.9).
    WeightedInterleave,
}

impl Policy {
    fn mode(self) -> libc::c_long {
        match self {
            Policy::Bind => 2,
            Policy::WeightedInterleave => 6,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Policy::Bind => "MPOL_BIND",
            Policy::WeightedInterleave => "MPOL_WEIGHTED_INTERLEAVE",
        }
    }

    /// CAP034 where the kernel does not have the mode, or a node.
    pub fn set(self, nodes: &NodeSet) -> Result<()> {
        let mask = nodes.mask();
        // The kernel reads one bit less than it is told.
        let bits = mask.len() * 64 + 1;
        // SAFETY: the mask outlives the call and has the bits that it is told of.
        let code = unsafe { libc::syscall(libc::SYS_set_mempolicy, self.mode(), mask.as_ptr(), bits) };
        if code == 0 {
            return Ok(());
        }
        Err(Error::Policy {
            policy: self.name(),
            nodes: nodes.to_string(),
            next: "It needs Linux 6.9 or later, and nodes with memory that this process may use (cpuset)",
            source: io::Error::last_os_error(),
        })
    }
}

/// Node of a page, or the reason why it could not be told or moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageStatus {
    Node(u32),
    /// An errno: ENOENT where nothing is resident.
    Refused(i32),
}

impl PageStatus {
    fn of(status: i32) -> PageStatus {
        u32::try_from(status).map_or(PageStatus::Refused(-status), PageStatus::Node)
    }
}

/// Asks where pages are. `addresses` in process `pid` (0: this process).
pub fn locate(pid: u32, addresses: &[u64]) -> Result<Vec<PageStatus>> {
    call_move_pages(pid, addresses, None)
}

/// Moves each page to its node; returns where each is then.
pub fn relocate(pid: u32, addresses: &[u64], nodes: &[i32]) -> Result<Vec<PageStatus>> {
    assert_eq!(addresses.len(), nodes.len(), "one node for each page");
    call_move_pages(pid, addresses, Some(nodes))
}

fn call_move_pages(pid: u32, addresses: &[u64], nodes: Option<&[i32]>) -> Result<Vec<PageStatus>> {
    const MPOL_MF_MOVE: libc::c_long = 2;
    let mut status = vec![-libc::ENOENT; addresses.len()];
    // SAFETY: the three arrays have `addresses.len()` elements and outlive the call; addresses are only looked up.
    let code = unsafe {
        libc::syscall(
            libc::SYS_move_pages,
            pid as libc::c_long,
            addresses.len(),
            addresses.as_ptr(),
            nodes.map_or(std::ptr::null(), <[i32]>::as_ptr),
            status.as_mut_ptr(),
            MPOL_MF_MOVE,
        )
    };
    // A positive code counts pages that stayed; their status says why.
    if code < 0 {
        return Err(Error::MovePages { pid, source: io::Error::last_os_error() });
    }
    Ok(status.into_iter().map(PageStatus::of).collect())
}
