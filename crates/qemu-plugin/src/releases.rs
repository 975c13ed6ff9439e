//! Releases: plain stores with which a program gives back what a locked instruction has taken.
//!
//! ```text
//!   LOCK CMPXCHG x    load a    store b    MOV x, 0        taken here, given back there, hundreds of nanoseconds later
//!        |------------ one turn ------------|
//! ```
//!
//! QEMU executes a turn at once. Told so, others would see the lock given back before the model has come to what it guards.
//! A plain store to an address that the same vCPU has lately touched with a locked instruction gives a lock back. Which
//! instructions do that is learnt while threads wait for each other, and their translations get a callback. Before such a
//! store, all that comes before it has to commit.
//!
//! Not modelled: locks that are given back by another vCPU, or by a store of another size at another address.

use std::collections::HashSet;

/// Locks that a vCPU holds and that are looked for, at most: one that is taken within more than these is not learnt.
const KEPT: usize = 4;

/// Addresses that a vCPU touched last with locked instructions.
#[derive(Clone, Copy, Default)]
struct Taken {
    addresses: [u64; KEPT],
    next: usize,
}

pub struct Releases {
    /// of each vCPU
    taken: Vec<Taken>,
    /// addresses of instructions, without their upper 16 bits
    learnt: HashSet<u64>,
}

impl Releases {
    pub fn new(vcpus: usize) -> Releases {
        Releases { taken: vec![Taken::default(); vcpus], learnt: HashSet::new() }
    }

    /// A locked instruction touches `address`.
    pub fn take(&mut self, vcpu: usize, address: u64) {
        let taken = &mut self.taken[vcpu];
        if !taken.addresses.contains(&address) {
            taken.addresses[taken.next] = address;
            taken.next = (taken.next + 1) % KEPT;
        }
    }

    /// Whether a plain store to `address` gives back what the vCPU has taken.
    #[inline]
    pub fn gives_back(&self, vcpu: usize, address: u64) -> bool {
        self.taken[vcpu].addresses.contains(&address)
    }

    /// The instruction at `at` gives back a lock. Returns whether that is news.
    pub fn learn(&mut self, at: u64) -> bool {
        self.learnt.insert(at & LOW)
    }

    /// Whether the instruction at `at` is known to give back locks.
    pub fn knows(&self, at: u64) -> bool {
        self.learnt.contains(&(at & LOW))
    }
}

/// Bits of an address that are no copies of another one (Intel SDM vol. 1, 3.3.7.1).
const LOW: u64 = (1 << 48) - 1;

#[cfg(test)]
mod tests {
    use super::Releases;

    #[test]
    fn a_plain_store_to_what_the_same_vcpu_took_gives_it_back() {
        let mut releases = Releases::new(2);
        (0..4).for_each(|lock| releases.take(1, 0x1000 + 64 * lock));
        releases.take(1, 0x1000);
        assert!(releases.gives_back(1, 0x1000) && releases.gives_back(1, 0x10c0));
        assert!(!releases.gives_back(0, 0x1000) && !releases.gives_back(1, 0x1008));
        // A fifth one is kept in place of the first.
        releases.take(1, 0x2000);
        assert!(!releases.gives_back(1, 0x1000) && releases.gives_back(1, 0x2000));
    }

    #[test]
    fn an_instruction_is_learnt_once() {
        let mut releases = Releases::new(1);
        let kernel = 0xffff_ffff_8100_0000;
        assert!(!releases.knows(kernel));
        assert!(releases.learn(kernel) && !releases.learn(kernel & super::LOW));
        assert!(releases.knows(kernel));
    }
}
