//! Hits of each policy against a reference with plain lists, access by access.

use std::collections::VecDeque;

use cxlab_kernel::Stream;
use cxlab_model::fabric::device_cache::{CachePolicy, Directory, Found, Index, Start};

use super::reference::{Cflru, Clock, Fifo, Lfru, Lru, Reference, S3Fifo, TwoQ};

fn reference(policy: CachePolicy, ways: usize) -> Box<dyn Reference> {
    let list = VecDeque::new;
    match policy {
        CachePolicy::Lru => Box::new(Lru(ways, list())),
        CachePolicy::Fifo => Box::new(Fifo(ways, list())),
        CachePolicy::Clock => Box::new(Clock(ways, list())),
        CachePolicy::Cflru => Box::new(Cflru(ways, list())),
        CachePolicy::Lfru => Box::new(Lfru { ways, privileged: list(), others: Vec::new(), time: 0 }),
        CachePolicy::TwoQ => Box::new(TwoQ { ways, fifo: list(), lru: list(), names: VecDeque::new() }),
        CachePolicy::S3Fifo => Box::new(S3Fifo { ways, small: list(), main: list(), names: VecDeque::new() }),
    }
}

/// Accesses of one of twenty kinds: pages at random, some hotter than others, with scans between.
fn trace(number: u64) -> Vec<(u32, bool)> {
    let mut random = Stream::new(number, "trace");
    let (pages, hot, scans) = (20 + 15 * number, 1 + number % 5, number % 3);
    let mut trace = Vec::new();
    while trace.len() < 20_000 {
        if random.below(200) < scans {
            let first = random.below(1_000) as u32 + 1_000;
            trace.extend((first..first + 40).map(|page| (page, false)));
        }
        let within = if random.below(10) < hot { pages / 4 } else { pages };
        trace.push((random.below(within) as u32, random.below(4) == 0));
    }
    trace
}

#[test]
fn each_policy_hits_where_its_reference_hits() {
    let mut hits = Vec::new();
    for policy in CachePolicy::ALL {
        let mut total = 0;
        for number in 0..20 {
            let ways = [1, 2, 4, 8, 16, 32, 64][number as usize % 7];
            let sets = 3;
            let mut directory = Directory::new(sets * ways as u64, ways, policy, Index::Modulo, Start::Empty);
            let mut references: Vec<_> = (0..sets).map(|_| reference(policy, ways)).collect();
            for (step, (page, changes)) in trace(number).into_iter().enumerate() {
                let hit = matches!(directory.touch(page, changes), Found::Hit { .. });
                if !hit {
                    directory.insert(page, changes, false);
                }
                let wanted = references[page as usize % sets as usize].access(page, changes);
                assert_eq!(hit, wanted, "{policy:?}, {ways} ways, trace {number}, access {step}: page {page}");
                total += u64::from(hit);
            }
        }
        hits.push(total);
    }
    // They are not all one policy.
    let mut different = hits.clone();
    different.sort_unstable();
    different.dedup();
    assert_eq!(different.len(), hits.len(), "{hits:?}");
}

#[test]
fn a_warm_directory_has_had_what_fits() {
    let mut directory = Directory::new(64, 8, CachePolicy::Lru, Index::Modulo, Start::Warm);
    assert!((0..64).all(|page| matches!(directory.touch(page, false), Found::Hit { .. })));
    assert_eq!(directory.touch(64, false), Found::Miss);
}

#[test]
fn a_hashed_index_fills_sets_as_chance_does() {
    // Pages in a row over sets of 8 ways, 5 for each: by chance some sets have more than 8.
    let sets = 1 << 14;
    let mut directory = Directory::new(sets * 8, 8, CachePolicy::Lru, Index::Hashed, Start::Empty);
    let pages = 5 * sets as u32;
    let mut evicted = 0;
    for page in 0..pages {
        evicted += u64::from(directory.insert(page, false, false).evicted);
    }
    let poisson: f64 = (9..40).map(|k| (k - 8) as f64 * mass(5.0, k)).sum::<f64>() / 5.0;
    let found = evicted as f64 / f64::from(pages);
    assert!((found / poisson - 1.0).abs() < 0.1, "{found:.4}, by chance {poisson:.4}");
}

/// The probability of so many (Poisson).
fn mass(mean: f64, count: i32) -> f64 {
    (-mean).exp() * mean.powi(count) / (1..=count).map(f64::from).product::<f64>()
}
