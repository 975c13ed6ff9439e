//! Tells Linux where to place the program's pages, by set_mempolicy(2) and the weights of weighted interleave.
//!
//! Raw system calls: Debian 12's libnuma knows no weighted interleave. A policy survives execve, so init's child sets it for the
//! program. Source: Linux 6.12 include/uapi/linux/mempolicy.h; weights since 6.9,
//! Documentation/ABI/testing/sysfs-kernel-mm-mempolicy-weighted-interleave.

use std::fs;

use nix::errno::Errno;
use serde::Deserialize;

use crate::error::{Doing, Error, Result};

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Placement {
    /// the kernel's default: local node first
    Default,
    Bind(Vec<u32>),
    Preferred(u32),
    Interleave(Vec<u32>),
    /// (node, weight 1..=255)
    WeightedInterleave(Vec<(u32, u8)>),
}

/// Mode numbers of include/uapi/linux/mempolicy.h.
const MPOL_DEFAULT: i32 = 0;
const MPOL_PREFERRED: i32 = 1;
const MPOL_BIND: i32 = 2;
const MPOL_INTERLEAVE: i32 = 3;
const MPOL_WEIGHTED_INTERLEAVE: i32 = 6;

/// The arguments of set_mempolicy(2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryPolicy {
    mode: i32,
    /// bit n is node n
    nodes: u64,
}

impl Placement {
    pub fn policy(&self) -> Result<MemoryPolicy> {
        let (mode, nodes) = match self {
            Placement::Default => (MPOL_DEFAULT, 0),
            Placement::Bind(nodes) => (MPOL_BIND, mask(nodes)?),
            Placement::Preferred(node) => (MPOL_PREFERRED, mask(&[*node])?),
            Placement::Interleave(nodes) => (MPOL_INTERLEAVE, mask(nodes)?),
            Placement::WeightedInterleave(weights) => {
                let nodes: Vec<u32> = weights.iter().map(|&(node, _)| node).collect();
                (MPOL_WEIGHTED_INTERLEAVE, mask(&nodes)?)
            }
        };
        Ok(MemoryPolicy { mode, nodes })
    }

    /// The weights are the system's, not the program's: init writes them before the program starts.
    pub fn write_weights(&self) -> Result<()> {
        if let Placement::WeightedInterleave(weights) = self {
            for (node, weight) in weights {
                let path = format!("/sys/kernel/mm/mempolicy/weighted_interleave/node{node}");
                fs::write(&path, weight.to_string()).doing(|| format!("writing weight {weight} to {path}"))?;
            }
        }
        Ok(())
    }
}

fn mask(nodes: &[u32]) -> Result<u64> {
    nodes.iter().try_fold(0u64, |mask, &node| {
        let bit = 1u64.checked_shl(node).ok_or(Error::NodeNumber { node })?;
        Ok(mask | bit)
    })
}

impl MemoryPolicy {
    /// For the calling thread and what it executes or forks.
    pub fn apply(self) -> nix::Result<()> {
        // The kernel reads maxnode - 1 bits.
        const MAX_NODE: usize = u64::BITS as usize + 1;
        let mask: *const u64 = if self.nodes == 0 { std::ptr::null() } else { &raw const self.nodes };
        // SAFETY: the mask points to 64 readable bits (or is null), as MAX_NODE says.
        let result = unsafe { libc::syscall(libc::SYS_set_mempolicy, self.mode, mask, MAX_NODE) };
        Errno::result(result).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy(placement: &Placement) -> (i32, u64) {
        let MemoryPolicy { mode, nodes } = placement.policy().unwrap();
        (mode, nodes)
    }

    /// The numbers are those of set_mempolicy(2)'s manual page and of linux/mempolicy.h.
    #[test]
    fn placements_are_encoded_as_the_kernel_reads_them() {
        assert_eq!(policy(&Placement::Default), (0, 0));
        assert_eq!(policy(&Placement::Preferred(1)), (1, 0b10));
        assert_eq!(policy(&Placement::Bind(vec![1])), (2, 0b10));
        assert_eq!(policy(&Placement::Interleave(vec![0, 1])), (3, 0b11));
        assert_eq!(policy(&Placement::WeightedInterleave(vec![(0, 3), (2, 1)])), (6, 0b101));
    }

    #[test]
    fn a_node_beyond_the_mask_is_an_error() {
        assert!(matches!(Placement::Bind(vec![64]).policy(), Err(Error::NodeNumber { node: 64 })));
        assert_eq!(policy(&Placement::Bind(vec![63])), (2, 1 << 63));
    }
}
