//! Which resident pages move, and that move_pages(2) is called as the kernel wants it.

mod common;

use common::share;
use cxlab_caption::actuator::{Range, anonymous_ranges, plan_moves};
use cxlab_caption::mempolicy::{PageStatus, locate, relocate};
use proptest::prelude::*;

const CXL: Option<bool> = Some(true);
const DDR: Option<bool> = Some(false);

/// By hand: 8 pages on DDR, a quarter wanted: 2 move, evenly spaced. Half of 2 + 2 already there: none.
#[test]
fn only_the_difference_moves() {
    assert_eq!(plan_moves(&[DDR; 8], share(0.25), 0.0), (vec![0, 4], 0.0));
    assert_eq!(plan_moves(&[CXL, DDR, DDR, CXL], share(0.5), 0.0), (vec![], 0.0));
    assert_eq!(plan_moves(&[CXL, None, CXL, CXL], share(0.0), 0.0), (vec![0, 2, 3], 0.0));
}

/// Batches too small for the share owe the rest to the next: three of one page at a third make one.
#[test]
fn rounding_is_carried_on() {
    let mut carry = 0.0;
    let moved: usize = (0..300)
        .map(|_| {
            let (moves, next) = plan_moves(&[DDR], share(1.0 / 3.0), carry);
            carry = next;
            moves.len()
        })
        .sum();
    assert_eq!(moved, 100);
}

proptest! {
    /// After the moves the batch holds the share to half a page, no page moves twice, and none that cannot move is named.
    #[test]
    fn a_batch_ends_at_the_share(sides in proptest::collection::vec(prop_oneof![Just(CXL), Just(DDR), Just(None)], 0..600), s in 0.0..=1.0f64) {
        let (moves, _) = plan_moves(&sides, share(s), 0.0);
        let mut after = sides.clone();
        for index in &moves {
            after[*index] = after[*index].map(|cxl| !cxl);
        }
        let resident = sides.iter().flatten().count() as f64;
        let on_cxl = after.iter().flatten().filter(|cxl| **cxl).count() as f64;
        prop_assert!((on_cxl - resident * s).abs() <= 0.5 + 1e-9);
        prop_assert!(moves.windows(2).all(|w| w[0] < w[1]), "{moves:?}");
        prop_assert!(moves.iter().all(|index| sides[*index].is_some()));
    }
}

/// The real system call on our own memory: a page that was written is on a node, moving it there again leaves it there.
#[test]
fn the_kernel_locates_our_pages() {
    let pages = vec![1u8; 3 * 4096];
    let first = (pages.as_ptr() as u64).next_multiple_of(4096);
    let found = locate(0, &[first]).unwrap();
    let PageStatus::Node(node) = found[0] else { panic!("a written page is on no node: {found:?}") };
    assert_eq!(relocate(0, &[first], &[node as i32]).unwrap(), [PageStatus::Node(node)]);
    assert!(matches!(locate(0, &[0]).unwrap()[0], PageStatus::Refused(_)), "nothing is at address 0");
    assert!(locate(u32::MAX / 2, &[first]).unwrap_err().to_string().contains("CAP060"));
}

/// Lines as man 5 proc_pid_smaps has them: only private, writable memory without a file; the kernel's own ranges are not ours.
#[test]
fn smaps_gives_the_anonymous_ranges() {
    let smaps = "\
00400000-00401000 r-xp 00000000 08:01 12 /bin/program
AnonHugePages:         0 kB
10000000-10400000 rw-p 00000000 00:00 0 [heap]
Size:               4096 kB
AnonHugePages:      2048 kB
VmFlags: rd wr mr mw me ac sd
7f0000000000-7f0000002000 rw-p 00000000 00:00 0
AnonHugePages:         0 kB
7f0000004000-7f0000005000 rw-p 00001000 08:01 13 /lib/libc.so.6
AnonHugePages:         0 kB
7f0000006000-7f0000007000 rw-s 00000000 00:00 0
AnonHugePages:         0 kB
7ffe00000000-7ffe00001000 rw-p 00000000 00:00 0 [vvar]
AnonHugePages:         0 kB
";
    let heap = Range { start: 0x1000_0000, end: 0x1040_0000, has_huge_pages: true };
    let mapping = Range { start: 0x7f00_0000_0000, end: 0x7f00_0000_2000, has_huge_pages: false };
    assert_eq!(anonymous_ranges(smaps), [heap, mapping]);
}
