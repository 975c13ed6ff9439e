//! The cache as a station of a device: what requests cost, and that each of them comes back.

use cxlab_kernel::{Bytes, Stream, Time};
use cxlab_model::fabric::DeviceCacheSpec;
use cxlab_model::fabric::device_cache::{CachePolicy, CachePrefetch};
use cxlab_model::mem::AccessKind;

use crate::harness::{Bench, DRAM, FLASH, LOOK_UP, PAGE, spec};

#[test]
fn a_miss_costs_the_flash_and_a_hit_the_look_up_and_the_dram() {
    let mut bench = Bench::new(&spec(|_| {}));
    let miss = bench.alone(0, AccessKind::Read);
    let hit = bench.alone(64, AccessKind::Read);
    // Both take the same way to the look-up and back. A miss has its line with its page, a hit from the DRAM.
    assert_eq!(miss - hit, FLASH - DRAM);
    let plain = Bench::without_cache().alone(0, AccessKind::Read);
    assert_eq!(hit - plain, LOOK_UP);
    let stats = bench.stats();
    assert_eq!((stats.hits.get(), stats.misses.get(), stats.fills.get()), (1, 1, 1));
}

#[test]
fn requests_of_a_page_share_its_fetch() {
    let mut bench = Bench::new(&spec(|_| {}));
    (0..64).for_each(|line| bench.ask(u64::from(line) * 64, AccessKind::Read, line));
    assert_eq!(bench.run().len(), 64);
    let stats = bench.stats();
    assert_eq!((stats.misses.get(), stats.merged.get(), stats.fills.get()), (1, 63, 1));
}

#[test]
fn as_many_pages_are_fetched_at_once_as_there_are_entries() {
    for mshrs in [1, 4, 16] {
        let mut bench = Bench::new(&spec(|spec| spec.mshrs.value = mshrs));
        (0..64).for_each(|page| bench.ask(u64::from(page) * PAGE, AccessKind::Read, page));
        let end = bench.run().iter().map(|(_, at)| *at).max().unwrap();
        let rounds = 64 / u64::from(mshrs);
        let (least, most) = (FLASH * rounds, FLASH * rounds + Time::from_ns(2_000));
        assert!((least..most).contains(&end), "{mshrs}: {end}");
    }
}

#[test]
fn a_changed_page_is_written_back_once_and_an_unchanged_one_never() {
    let mut bench = Bench::new(&spec(|_| {}));
    // A set has 8 ways, and every 32nd page is of one set.
    let page = |number: u64| number * 32 * PAGE;
    bench.alone(page(0), AccessKind::Write);
    for number in 1..=8 {
        bench.alone(page(number), AccessKind::Read);
    }
    assert_eq!((bench.stats().write_backs.get(), bench.stats().evictions.get()), (1, 1));
    for number in 9..30 {
        bench.alone(page(number), AccessKind::Read);
    }
    assert_eq!((bench.stats().write_backs.get(), bench.stats().evictions.get()), (1, 22));
}

#[test]
fn no_request_is_lost_under_any_policy_and_prefetcher() {
    for policy in CachePolicy::ALL {
        for prefetch in [CachePrefetch::None, CachePrefetch::Next(4), CachePrefetch::BestOffset] {
            let mut bench = Bench::new(&spec(|spec| {
                (spec.policy.value, spec.prefetch.value) = (policy, prefetch);
            }));
            let mut random = Stream::new(4, "requests");
            let mut done = 0;
            for round in 0..100 {
                for tag in 0..100 {
                    let page = if random.below(2) == 0 { round * 3 + random.below(8) } else { random.below(600) };
                    let kind = if random.below(3) == 0 { AccessKind::Write } else { AccessKind::Read };
                    bench.ask(page * PAGE + random.below(64) * 64, kind, tag);
                }
                done += bench.run().len();
            }
            let stats = bench.stats();
            assert_eq!(done, 10_000, "{policy:?}, {prefetch}");
            assert_eq!(stats.hits.get() + stats.misses.get() + stats.merged.get(), 10_000);
            // Best-offset is not sure of anything here.
            assert_eq!(stats.prefetches.get() > 0, prefetch == CachePrefetch::Next(4), "{policy:?}, {prefetch}");
        }
    }
}

#[test]
fn pages_in_a_row_are_fetched_ahead_by_their_offset() {
    for (prefetch, least) in [(CachePrefetch::Next(2), 0.6), (CachePrefetch::BestOffset, 0.4)] {
        let mut bench = Bench::new(&spec(|spec| {
            (spec.prefetch.value, spec.mshrs.value) = (prefetch, 16);
        }));
        for page in 0..4_000 {
            bench.alone(page * PAGE, AccessKind::Read);
        }
        let stats = bench.stats();
        let covered = stats.prefetches_used.get() as f64 / 4_000.0;
        assert!(covered > least, "{prefetch}: {covered:.2} of the pages were there");
    }
}

#[test]
fn without_a_log_a_write_of_a_line_fetches_its_page() {
    let mut bench = Bench::new(&spec(|_| {}));
    assert!(bench.alone(0, AccessKind::Write) > FLASH);
}

#[test]
fn a_read_waits_for_the_whole_page() {
    // FLA-4 of DEVIATIONS.md: its own line could come first.
    let mut bench = Bench::new(&spec(|_| {}));
    let (first, last) = (bench.alone(0, AccessKind::Read), bench.alone(PAGE + 63 * 64, AccessKind::Read));
    assert_eq!(first, last);
}

#[test]
fn a_cache_that_cannot_be_is_named_by_its_key() {
    let device = Bytes::mib(1024);
    for (change, key) in [
        ((|spec| spec.line.value = Bytes::new(5_000)) as fn(&mut DeviceCacheSpec), "cache.line"),
        (|spec| spec.capacity.value = Bytes::new(PAGE * 9), "cache.capacity"),
        (|spec| spec.capacity.value = Bytes::mib(1024), "cache.capacity"),
        (|spec| spec.mshrs.value = 0, "cache.mshrs"),
    ] {
        let error = spec(change).check(device).unwrap_err().to_string();
        assert!(error.contains(key), "{error}");
    }
}
