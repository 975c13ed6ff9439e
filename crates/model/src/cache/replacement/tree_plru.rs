//! Tree-PLRU: a binary tree over the ways, a bit a node that points to the half which was not used last.
//!
//! ```text
//!            [0]           a use of way 2 makes the nodes on its way point away from it:
//!         0 /   \ 1        [0] to the left half, [2] to way 3; a victim is found by following the bits
//!        [1]     [2]
//!       0/ \1   0/ \1      node n has the children 2n + 1 and 2n + 2
//!       0   1   2   3
//! ```
//!
//! If the number of ways is no power of two (12, 15), the tree is that of the next power. A half without ways is
//! never taken. Source: Handy, The Cache Memory Book, 2nd edition, 1998; Al-Zoubi, Milenkovic, Milenkovic, ACM-SE
//! 2004, DOI 10.1145/986537.986601.

/// Walk from the root to a leaf; `right` says the direction at (node, first way of the right half).
#[inline]
fn walk(ways: usize, mut right: impl FnMut(usize, usize) -> bool) -> usize {
    let (mut node, mut first, mut width) = (0, 0, ways.next_power_of_two());
    while width > 1 {
        width /= 2;
        let turn = right(node, first + width);
        first += if turn { width } else { 0 };
        node = 2 * node + 1 + usize::from(turn);
    }
    first
}

/// The nodes on the way to `way` point away from it.
#[inline]
pub fn used(tree: &mut u64, ways: usize, way: usize) {
    walk(ways, |node, middle| {
        let right = way >= middle;
        *tree = *tree & !(1 << node) | u64::from(!right) << node;
        right
    });
}

/// The way that the bits lead to.
#[inline]
pub fn victim(tree: u64, ways: usize) -> usize {
    walk(ways, |node, middle| middle < ways && tree >> node & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_ways_by_hand() {
        // Used 0 1 2 3 in turn: the root points left, the left node to 0. Then 0 is used: right half, way 2.
        let mut tree = 0;
        (0..4).for_each(|way| used(&mut tree, 4, way));
        assert_eq!(victim(tree, 4), 0);
        used(&mut tree, 4, 0);
        assert_eq!(victim(tree, 4), 2);
        // LRU would name 1 after 0 2; the tree has forgotten that 3 is younger than 1: it names 1 too.
        used(&mut tree, 4, 2);
        assert_eq!(victim(tree, 4), 1);
    }

    #[test]
    fn the_line_used_last_never_leaves_and_every_way_exists() {
        for ways in [1, 2, 3, 8, 11, 12, 15, 16, 64] {
            let mut tree = 0;
            for turn in 0..1000 {
                let way = turn * 7 % ways;
                used(&mut tree, ways, way);
                let leaves = victim(tree, ways);
                assert!(leaves < ways && (ways == 1 || leaves != way), "{ways} ways: {leaves} after {way}");
            }
        }
    }

    #[test]
    fn filling_goes_round_all_ways_of_a_power_of_two() {
        // Each victim is used next: a full tree visits all its leaves before it comes back.
        for ways in [2, 4, 8, 16] {
            let mut tree = 0;
            let mut seen = 0u64;
            for _ in 0..ways {
                let way = victim(tree, ways);
                used(&mut tree, ways, way);
                seen |= 1 << way;
            }
            assert_eq!(seen.count_ones() as usize, ways);
        }
    }
}
