//! Orders in which a bench goes through an array: line by line, by random blocks as in Intel MLC, or at random all
//! over it.
//!
//! ```text
//!   sequential   0 1 2 3 4 ...
//!   blocks       | 17 3 2088 ... | 4096+17 4096+3 4096+2088 ... |     a block of 4096 at a time, each of its lines once,
//!                                                                      one order for all blocks and threads
//!   whole        810117 93 6620041 ...                                 each place of the array once, then again
//! ```
//!
//! Source of the blocks: the usage text of Intel MLC 3.11, `-D` ("random access range", 4096 by default), `-U` and `-r`. The
//! usage text does not describe the blocks of a load thread; they follow a public modified copy of MLC. In a block a line's
//! neighbours are wanted soon, and pages are few at a time.
//!
//! Source of the whole: lat_mem_rd of LMbench (`-t`) and the pointer chase of Mess link all lines of their buffer into one
//! random cycle. Here a Feistel network of four rounds stands for it, which needs no table (Luby and Rackoff, SIAM J. Comput.
//! 17, 1988). A place beyond the array is mapped again (Black and Rogaway, CT-RSA 2002, cycle walking).

use std::sync::Arc;

use cxlab_kernel::Stream;

use super::job::Pattern;

/// Places of a block.
const BLOCK: u64 = 4096;

/// An order of the lines of an array.
#[derive(Clone, Debug)]
pub enum Order {
    Sequential,
    /// the order within each block
    Blocks(Arc<[u16]>),
    Whole(Permutation),
}

impl Order {
    /// An order within blocks, drawn from `random`.
    pub fn random(random: &mut Stream) -> Order {
        let mut places: Vec<u16> = (0..BLOCK as u16).collect();
        // Fisher and Yates (Knuth vol. 2, 3.4.2 P).
        for last in (1..places.len()).rev() {
            places.swap(last, random.below(last as u64 + 1) as usize);
        }
        Order::Blocks(places.into())
    }

    /// An order of `places` places, drawn from `random`.
    pub fn whole(places: u64, random: &mut Stream) -> Order {
        Order::Whole(Permutation::new(places, random))
    }

    pub fn of(pattern: Pattern, random: &Order) -> Order {
        match pattern {
            Pattern::Sequential => Order::Sequential,
            Pattern::Random => random.clone(),
        }
    }

    /// A line that comes at about this turn: pages of a block of 256 KiB come together.
    pub fn near(&self, turn: u64) -> u64 {
        match self {
            Order::Sequential | Order::Blocks(_) => turn,
            Order::Whole(permutation) => permutation.place(turn),
        }
    }

    /// The line that comes at this turn.
    #[inline]
    pub fn line(&self, turn: u64) -> u64 {
        match self {
            Order::Sequential => turn,
            Order::Blocks(places) => turn / BLOCK * BLOCK + u64::from(places[(turn % BLOCK) as usize]),
            Order::Whole(permutation) => permutation.place(turn),
        }
    }
}

/// A random permutation of so many places.
#[derive(Clone, Copy, Debug)]
pub struct Permutation {
    places: u64,
    /// half of the bits of the least square of a power of two that holds all places
    half: u32,
    keys: [u64; Self::ROUNDS],
}

impl Permutation {
    const ROUNDS: usize = 4;

    fn new(places: u64, random: &mut Stream) -> Permutation {
        let half = (u64::BITS - (places - 1).leading_zeros()).div_ceil(2).max(1);
        Permutation { places, half, keys: [(); Self::ROUNDS].map(|()| random.below(u64::MAX)) }
    }

    /// The place that comes at this turn; it goes round.
    #[inline]
    fn place(&self, turn: u64) -> u64 {
        let mut place = turn % self.places;
        loop {
            place = self.network(place);
            if place < self.places {
                return place;
            }
        }
    }

    #[inline]
    fn network(&self, place: u64) -> u64 {
        let mask = (1 << self.half) - 1;
        let (mut left, mut right) = (place >> self.half, place & mask);
        for key in self.keys {
            // The upper bits of a product depend on all bits of its factors (Knuth vol. 3, 6.4).
            let mixed = (right ^ key).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (u64::BITS - self.half);
            (left, right) = (right, left ^ mixed);
        }
        left << self.half | right
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_has_each_of_its_lines_once_and_all_blocks_have_one_order() {
        let order = Order::random(&mut Stream::new(1, "order"));
        let block = |number: u64| (0..BLOCK).map(|turn| order.line(number * BLOCK + turn) - number * BLOCK).collect();
        let (mut first, eighth): (Vec<u64>, Vec<u64>) = (block(0), block(7));
        assert_eq!(first, eighth);
        // A random order follows itself by one line in one of 4096 places in the mean; 20 are never seen.
        assert!(first.windows(2).filter(|pair| pair[1] == pair[0] + 1).count() < 20);
        first.sort_unstable();
        assert!(first.into_iter().eq(0..BLOCK));
        assert!((0..9).map(|turn| Order::Sequential.line(turn)).eq(0..9));
    }

    #[test]
    fn a_whole_array_is_gone_through_once_before_any_line_comes_again_and_far_from_line_to_line() {
        for places in [2, 3, 4096, 100_003] {
            let order = Order::whole(places, &mut Stream::new(1, "order"));
            let mut round: Vec<u64> = (0..places).map(|turn| order.line(turn)).collect();
            assert_eq!(order.line(places), round[0]);
            // Two random places of n are n / 3 apart in the mean, with a deviation of n / sqrt(18) for each pair.
            let apart = round.windows(2).map(|pair| pair[0].abs_diff(pair[1])).sum::<u64>() / (places - 1);
            assert!(places < 4096 || apart.abs_diff(places / 3) < places / 50, "{places}: {apart}");
            round.sort_unstable();
            assert!(round.into_iter().eq(0..places), "{places}");
        }
    }
}
