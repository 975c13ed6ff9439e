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

use std::collections::HashMap;

/// Locks of a vCPU that are looked for, at most: one that is taken within more than these is not learnt.
const KEPT: usize = 4;
/// Locks that an instruction has given back while others wanted them when it counts as learnt. Each one that is costs a tenth of a
/// second, because QEMU translates all anew. Of 16 sorts that share nothing, seven give back a lock of the kernel now and then.
const LEARNT_AFTER: u32 = 8;

/// Locks of a vCPU: the addresses that it touched last with locked instructions, and has not given back.
#[derive(Clone, Copy, Default)]
struct Taken {
    addresses: [u64; KEPT],
    /// the lines of these, of physical memory
    lines: [u64; KEPT],
    next: usize,
}

pub struct Releases {
    /// of each vCPU
    taken: Vec<Taken>,
    /// how often each instruction has given back a lock that others wanted, by its address without the upper 16 bits
    given_back: HashMap<u64, u32>,
}

impl Releases {
    pub fn new(vcpus: usize) -> Releases {
        Releases { taken: vec![Taken::default(); vcpus], given_back: HashMap::new() }
    }

    /// A locked instruction touches `address`, which is in `line`.
    pub fn take(&mut self, vcpu: usize, address: u64, line: u64) {
        let taken = &mut self.taken[vcpu];
        if !taken.addresses.contains(&address) {
            (taken.addresses[taken.next], taken.lines[taken.next]) = (address, line);
            taken.next = (taken.next + 1) % KEPT;
        }
    }

    /// A plain store touches `address`. Returns the line of what it gives back, if the vCPU has taken that.
    #[inline]
    pub fn give_back(&mut self, vcpu: usize, address: u64) -> Option<u64> {
        let taken = &mut self.taken[vcpu];
        let place = taken.addresses.iter().position(|taken| *taken == address)?;
        taken.addresses[place] = 0;
        Some(std::mem::take(&mut taken.lines[place]))
    }

    /// Lines that a vCPU has taken and not given back, the last one first: locks are given back in that order, if it holds several.
    pub fn held(&self, vcpu: usize) -> impl Iterator<Item = u64> {
        let Taken { lines, next, .. } = self.taken[vcpu];
        (1..=KEPT).map(move |back| lines[(next + KEPT - back) % KEPT]).filter(|line| *line != 0)
    }

    /// The instruction at `at` gives back a lock that others want. Returns whether it is learnt by that.
    pub fn learn(&mut self, at: u64) -> bool {
        let times = self.given_back.entry(at & LOW).or_default();
        *times = times.saturating_add(1);
        *times == LEARNT_AFTER
    }

    /// The instruction at `at` is one that gives back locks, whatever was seen of it.
    pub fn know(&mut self, at: u64) {
        self.given_back.insert(at & LOW, u32::MAX);
    }

    /// Whether the instruction at `at` is known to give back locks.
    pub fn knows(&self, at: u64) -> bool {
        self.given_back.get(&(at & LOW)).is_some_and(|times| *times >= LEARNT_AFTER)
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
        (1..=5).for_each(|lock| releases.take(1, 0x1000 * lock, lock));
        releases.take(1, 0x2000, 2);
        // The fifth one is kept in place of the first.
        assert_eq!(releases.held(1).collect::<Vec<_>>(), [5, 4, 3, 2]);
        let others = [(0, 0x2000), (1, 0x2008), (1, 0x1000)];
        assert!(others.into_iter().all(|(vcpu, address)| releases.give_back(vcpu, address).is_none()));
        assert_eq!((releases.give_back(1, 0x2000), releases.give_back(1, 0x2000)), (Some(2), None));
        assert_eq!(releases.held(1).collect::<Vec<_>>(), [5, 4, 3]);
    }

    #[test]
    fn an_instruction_is_learnt_once() {
        let mut releases = Releases::new(1);
        let kernel = 0xffff_ffff_8100_0000;
        let learnt: Vec<bool> = (0..10).map(|_| releases.learn(kernel)).collect();
        assert_eq!(learnt.iter().position(|learnt| *learnt), Some(7));
        assert_eq!(learnt.iter().filter(|learnt| **learnt).count(), 1);
        assert!(releases.knows(kernel & super::LOW) && !releases.knows(kernel + 1));
        releases.know(kernel + 1);
        assert!(releases.knows(kernel + 1) && !releases.learn(kernel + 1));
    }
}
