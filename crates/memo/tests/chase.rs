//! The chase visits every line once before it repeats, whatever size, order and seed.

mod common;

use common::buffer;
use cxlab_kernel::{Bytes, Stream};
use cxlab_memo::chase::{Chase, Order, make_cycle};
use proptest::prelude::*;
use std::collections::HashSet;

fn order() -> impl Strategy<Value = Order> {
    prop_oneof![Just(Order::Random), Just(Order::Sequential)]
}

proptest! {
    #[test]
    fn one_cycle_through_all_places(count in 1usize..3000, seed: u64, order in order()) {
        let mut next = vec![usize::MAX; count];
        make_cycle(&mut next, count, order, &mut Stream::new(seed, "test"));
        let mut visited = HashSet::new();
        let mut at = 0;
        while visited.insert(at) {
            at = next[at];
        }
        prop_assert_eq!(at, 0, "the first place that repeats is where the walk began");
        prop_assert_eq!(visited.len(), count);
    }

    /// A walk moves 16 places at a time: on a cycle of odd length these strides, too, visit every place once.
    #[test]
    fn in_memory_too(half in 1usize..200, spacing in 1usize..5, seed: u64, order in order()) {
        let places = 2 * half + 1;
        let mut buffer = buffer(Bytes::new((places * spacing * 64) as u64));
        let mut chase = Chase::over(&mut buffer, places, spacing, order, &mut Stream::new(seed, "test"));
        let visited: HashSet<usize> = (0..places).map(|_| { chase.walk(16); chase.line() }).collect();
        let every: HashSet<usize> = (0..places).map(|place| place * spacing).collect();
        prop_assert_eq!(visited, every);
        prop_assert_eq!(chase.line(), 0, "after a multiple of its length it is back at its start");
    }
}

/// Sequential order is address order: 16 loads further is 16 lines further.
#[test]
fn sequential_order_is_address_order() {
    let mut buffer = buffer(Bytes::kib(4));
    let mut chase = Chase::over(&mut buffer, 64, 1, Order::Sequential, &mut Stream::new(1, "test"));
    chase.walk(32);
    assert_eq!(chase.line(), 32);
}

/// Sattolo's cycles are uniform. Over the 6 cycles of 4 places, chi-squared is below its 99.9 % quantile for 5 degrees of
/// freedom (20.52; NIST handbook, table 1.3.6.7.4).
#[test]
fn random_cycles_are_uniform() {
    let mut random = Stream::new(7, "test");
    let mut seen = std::collections::HashMap::new();
    let draws = 6000;
    for _ in 0..draws {
        let mut next = vec![0; 4];
        make_cycle(&mut next, 4, Order::Random, &mut random);
        *seen.entry(next).or_insert(0u32) += 1;
    }
    assert_eq!(seen.len(), 6, "(4 - 1)! cycles");
    let expected = f64::from(draws) / 6.0;
    let chi_squared: f64 = seen.values().map(|&n| (f64::from(n) - expected).powi(2) / expected).sum();
    assert!(chi_squared < 20.52, "{chi_squared}");
}
